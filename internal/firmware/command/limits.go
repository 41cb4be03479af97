package command

import "fmt"

// Limits of a call (decompiled).
const (
	MaxSignalEvents  = 16
	MaxWireBars      = 32  // custom bars of a call
	MaxProgramBars   = 128 // custom bars of a program
	MaxLiveIns       = 32  // live-ins of a call (assumed, as many as bars)
	MaxExecuteOrder  = 128
	MaxTriggerInputs = 16
	MaxSharedEvents  = 1 // active: fewer than two
	OutputSets       = 1
	Partitions       = 1
	RequestsPerList  = 1
)

// A LimitError reports a number in a command that exceeds its limit, such as the length of a list,
// or a number that must be 1 but is not.
type LimitError struct {
	ID    ID
	What  string
	Have  uint64
	Limit uint64
}

func (e *LimitError) Error() string {
	switch {
	case e.Limit == 0:
		return fmt.Sprintf("%v: too many %s: %d; want none", e.ID, e.What, e.Have)
	case e.Have < e.Limit: // requireOne
		return fmt.Sprintf("%v: too few %s: %d; want %d", e.ID, e.What, e.Have, e.Limit)
	}
	return fmt.Sprintf("%v: too many %s: %d; want at most %d", e.ID, e.What, e.Have, e.Limit)
}

// checkLimit returns a *[LimitError] if the number have exceeds limit. what names the things that
// are counted.
func checkLimit(id ID, what string, have, limit int) error {
	if have > limit {
		return &LimitError{id, what, uint64(have), uint64(limit)}
	}
	return nil
}

// requireOne returns a *[LimitError] unless have, the number of the things that what describes, is
// 1.
func requireOne(id ID, what string, have uint32) error {
	if have != 1 {
		return &LimitError{id, what, uint64(have), 1}
	}
	return nil
}
