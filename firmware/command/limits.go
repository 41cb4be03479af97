package command

import "fmt"

// What a call may have at the most (decompiled).
const (
	MaxSignalEvents  = 16
	MaxWireBars      = 32  // custom bars of a call
	MaxProgramBars   = 128 // custom bars of a program
	MaxExecuteOrder  = 128
	MaxTriggerInputs = 16
	MaxSharedEvents  = 1 // active: fewer than two
	OutputSets       = 1
	Partitions       = 1
	RequestsPerList  = 1
)

// A LimitError is a command beyond a documented limit.
type LimitError struct {
	ID    ID
	What  string
	Have  uint64
	Limit uint64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %d %s, the limit is %d", e.ID, e.Have, e.What, e.Limit)
}

// within makes an error of a count that exceeds its limit.
func within(id ID, what string, have, limit int) error {
	if have > limit {
		return &LimitError{id, what, uint64(have), uint64(limit)}
	}
	return nil
}

// one makes an error of a count that has to be one.
func one(id ID, what string, have uint32) error {
	if have != 1 {
		return &LimitError{id, what, uint64(have), 1}
	}
	return nil
}
