package queue

import (
	"fmt"

	"anesim/hw/clock"
)

// An EventKind is what happened to a request.
type EventKind uint8

// The kinds of events.
const (
	Started EventKind = iota
	Finished
	SwitchedIn
	Aborted
)

// String names the kind.
func (k EventKind) String() string {
	if names := [...]string{"start", "finish", "context switch in", "abort"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// An Event is what the firmware logs of a request, at a time of the free-running timebase.
type Event struct {
	Kind    EventKind
	ID      ID
	Queue   int
	Network uint8
	Program int32
	Process int32
	At      clock.Nanoseconds
}

func (s *Scheduler) event(k EventKind, q int, p *pending) {
	if s.Observe != nil {
		s.Observe(Event{k, p.id, q, p.Network, p.Program, p.Process, s.now})
	}
}
