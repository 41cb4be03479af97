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
	TaskStarted  // a descriptor, where Scheduler.Descriptors asks for them
	TaskFinished // the same
)

// String names the kind.
func (k EventKind) String() string {
	if names := [...]string{"start", "finish", "context switch in", "abort", "descriptor start", "descriptor finish"}; int(k) < len(names) {
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

	// TID and NID are the task and network ids of a descriptor: that of the event, and of
	// SwitchedIn the one that goes next. Both are 0 for work that does not tell.
	TID, NID uint32
}

// A TaskEvent is the start or the finish of a descriptor, At behind where its run began.
type TaskEvent struct {
	Finish   bool
	TID, NID uint32
	At       clock.Nanoseconds
}

// A Tasked is work that tells of its descriptors.
type Tasked interface {
	Work
	// Next is the descriptor that goes next; ok is false where that is not known yet.
	Next() (tid, nid uint32, ok bool)
	// Tell makes the work's next runs tell of their descriptors, nil for nobody.
	Tell(func(TaskEvent))
}

func (s *Scheduler) event(k EventKind, q int, p *pending) {
	if s.Observe == nil {
		return
	}
	e := Event{Kind: k, ID: p.id, Queue: q, Network: p.Network, Program: p.Program, Process: p.Process, At: s.now}
	if w, ok := p.Work.(Tasked); ok && k == SwitchedIn {
		e.TID, e.NID, _ = w.Next()
	}
	s.Observe(e)
}

// tell passes on what the run of a request that begins now tells of its descriptors.
func (s *Scheduler) tell(q int, p *pending) {
	w, ok := p.Work.(Tasked)
	if !ok {
		return
	}
	if s.Observe == nil || !s.Descriptors {
		w.Tell(nil)
		return
	}
	begun := s.now
	e := Event{ID: p.id, Queue: q, Network: p.Network, Program: p.Program, Process: p.Process}
	w.Tell(func(t TaskEvent) {
		e.Kind = TaskStarted
		if t.Finish {
			e.Kind = TaskFinished
		}
		e.At, e.TID, e.NID = begun+t.At, t.TID, t.NID
		s.Observe(e)
	})
}
