package queue

import (
	"fmt"

	"anesim/hw/clock"
)

// An EventKind is the kind of an event.
type EventKind uint8

// Kinds of events.
const (
	Started EventKind = iota
	Finished
	SwitchedIn
	Aborted
	TaskStarted  // a descriptor starts; reported if Scheduler.Descriptors is set
	TaskFinished // a descriptor finishes; reported likewise
)

// String returns the name of the kind.
func (k EventKind) String() string {
	if names := [...]string{"start", "finish", "context switch in", "abort", "descriptor start", "descriptor finish"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// An Event is a log entry of the firmware about a request, at a time of the free-running
// timebase.
type Event struct {
	Kind    EventKind
	ID      ID
	Queue   int
	Network uint8
	Program int32
	Process int32
	At      clock.Nanoseconds

	// TID and NID are the task and network ids of a descriptor: the one that starts or
	// finishes, or for SwitchedIn the next one. Both are 0 for work that is not Tasked.
	TID, NID uint32
}

// A TaskEvent is the start or the finish of a descriptor. At is the time since the start of
// its run.
type TaskEvent struct {
	Finish   bool
	TID, NID uint32
	At       clock.Nanoseconds
}

// A Tasked is a Work that reports its descriptors.
type Tasked interface {
	Work
	// Next returns the ids of the next descriptor. ok is false if it is not known yet.
	Next() (tid, nid uint32, ok bool)
	// Tell sets the function that is called for the descriptors of the next runs, nil for
	// none.
	Tell(func(TaskEvent))
}

func (s *Scheduler) emit(k EventKind, q int, p *pending) {
	if s.Observe == nil {
		return
	}
	e := Event{Kind: k, ID: p.id, Queue: q, Network: p.Network, Program: p.Program, Process: p.Process, At: s.now}
	if w, ok := p.Work.(Tasked); ok && k == SwitchedIn {
		e.TID, e.NID, _ = w.Next()
	}
	s.Observe(e)
}

// observeTasks forwards the descriptor events of the run that begins now to Observe.
func (s *Scheduler) observeTasks(q int, p *pending) {
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
