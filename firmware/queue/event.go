package queue

import (
	"fmt"

	"anesim/hw/clock"
)

// An EventKind says what happened to a request or a descriptor.
type EventKind uint8

// Kinds of events.
const (
	Started EventKind = iota
	Finished
	SwitchedIn
	Aborted
	TaskStarted  // a descriptor starts; reported if Scheduler.Descriptors is set
	TaskFinished // a descriptor finishes; reported likewise
	Stopped      // a more urgent request stops the run in progress; see PreemptAbort
)

// String returns the name of the kind.
func (k EventKind) String() string {
	if names := [...]string{"start", "finish", "context switch in", "abort", "descriptor start", "descriptor finish", "run stopped"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// An Event reports what happened to a request or to one of its descriptors, and when.
type Event struct {
	Kind    EventKind
	ID      ID
	Queue   int
	Network uint8
	Program int32
	Process int32
	At      clock.Nanoseconds

	// TID and NID are the task id and the network id of a descriptor: the one that starts
	// or finishes or, for SwitchedIn, the next one. Both are 0 if the work is not tasked.
	TID, NID uint32
}

// A TaskEvent reports that a descriptor started or finished. The field At is relative to the start
// of its run.
type TaskEvent struct {
	Finish   bool
	TID, NID uint32
	At       clock.Nanoseconds
}

// A tasked is a [Work] that reports when its descriptors start and finish.
type tasked interface {
	Work
	// Next returns the task id and the network id of the next descriptor. It returns false
	// if they are not known yet.
	Next() (tid, nid uint32, ok bool)
	// Tell sets the function to call when a descriptor of the following runs starts or
	// finishes. It may be nil.
	Tell(func(TaskEvent))
}

func (s *Scheduler) emitEvent(k EventKind, q int, p *entry) {
	if s.Observe == nil {
		return
	}
	e := Event{Kind: k, ID: p.id, Queue: q, Network: p.Network, Program: p.Program, Process: p.Process, At: s.now}
	if w, ok := p.Work.(tasked); ok && k == SwitchedIn {
		e.TID, e.NID, _ = w.Next()
	}
	s.Observe(e)
}

// observeTasks makes the next run of p, which is in queue q, note its descriptors for
// [Scheduler.endTasks].
func (s *Scheduler) observeTasks(q int, p *entry) {
	w, ok := p.Work.(tasked)
	if !ok {
		return
	}
	if s.Observe == nil || !s.Descriptors {
		w.Tell(nil)
		return
	}
	begun := s.now
	s.run.tasks = s.run.tasks[:0]
	e := Event{ID: p.id, Queue: q, Network: p.Network, Program: p.Program, Process: p.Process}
	w.Tell(func(t TaskEvent) {
		e.Kind = TaskStarted
		if t.Finish {
			e.Kind = TaskFinished
		}
		e.At, e.TID, e.NID = begun+t.At, t.TID, t.NID
		s.run.tasks = append(s.run.tasks, e)
	})
}

// endTasks reports the descriptors of the run that ends now. If the run is stopped, it reports them
// only up to now.
func (s *Scheduler) endTasks(stopped bool) {
	for _, e := range s.run.tasks {
		if (!stopped || e.At <= s.now) && s.Observe != nil {
			s.Observe(e)
		}
	}
	s.run.tasks = s.run.tasks[:0]
}
