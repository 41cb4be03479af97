package queue

import (
	"errors"
	"fmt"

	"anesim/hw/clock"
)

// The task queues.
const (
	Queues       = 8
	Stride       = 0x148 // bytes between the register blocks of two queues (decompiled)
	MaxNetworkID = 255   // network ids are 1 to 255
)

// hardwarePriority is what each queue's priority register holds (decompiled).
var hardwarePriority = [Queues]uint8{1, 2, 3, 4, 5, 6, 30, 31}

// HardwarePriority is a queue's priority in the engine, higher first.
func HardwarePriority(queue int) uint8 { return hardwarePriority[queue] }

// A Priority is a program's: 0 and 1 are the realtime band, 2 to 7 the normal one.
type Priority uint8

// Realtime reports whether the priority is in the privileged band.
func (p Priority) Realtime() bool { return p < 2 }

// Queue is the task queue that serves a priority: the documents give eight of each and
// not which is whose, so 0, the most urgent, is taken to be the queue of the highest
// hardware priority (assumed).
func (p Priority) Queue() int { return Queues - 1 - int(p) }

// QuiesceLimit is how long a queue that is told to quiesce may go on before it is aborted
// (decompiled).
const QuiesceLimit clock.Nanoseconds = 2e9

// A Work is a request's descriptors, cut into runs.
type Work interface {
	// Run executes the next run of descriptors, lets it take its time and says whether
	// another follows. It is not called again once it says no, or after Abort.
	Run() (took clock.Nanoseconds, more bool)
	// Abort drops what is left.
	Abort()
}

// A Waiter is work that may have to wait for another's, whose buffers it shares. It is
// passed by until it need not; requests behind it in its queue stay behind it.
type Waiter interface {
	Work
	Waiting() bool
}

// ErrDeadlock is a step that cannot be made: every queue's first request waits for another.
var ErrDeadlock = errors.New("every request waits for another")

// An ID names a request.
type ID uint64

// A Request asks for one pass through a program's chain.
type Request struct {
	Priority Priority
	Network  uint8 // network id, 1 to 255
	Program  int32
	Process  int32
	Work     Work
}

// A SubmitError is a request no queue takes.
type SubmitError struct{ What string }

func (e *SubmitError) Error() string { return "submit: " + e.What }

// pending is a request in a queue.
type pending struct {
	Request
	id      ID
	at      clock.Nanoseconds // when it was submitted
	started bool
}

// depth is how many requests a queue holds: the documents give no number, so the whole
// of the network ids is taken (assumed).
const depth = MaxNetworkID

// Scheduler holds the queues and the one that runs.
type Scheduler struct {
	// Observe, where it is not nil, is told every event as it happens.
	Observe func(Event)
	// Descriptors makes Observe be told of every descriptor too.
	Descriptors bool

	now     clock.Nanoseconds
	next    ID
	queues  [Queues][]pending
	state   State
	current int // queue that ran last, -1 before any
	secure  bool
	stats   Stats
}

// Stats counts what became of requests. Submitted is always Finished, Aborted and those
// that still wait together.
type Stats struct {
	Submitted, Finished, Aborted uint64
	Runs, Switches               uint64
	Busy                         clock.Nanoseconds
}

// New returns a scheduler in state Init with every queue vacant.
func New() *Scheduler { return &Scheduler{current: -1} }

// Now is the time of the scheduler's timebase, which runs freely from its start.
func (s *Scheduler) Now() clock.Nanoseconds { return s.now }

// State is the firmware's state.
func (s *Scheduler) State() State { return s.state }

// Stats returns the counts so far.
func (s *Scheduler) Stats() Stats { return s.stats }

// Vacancy is how many more requests a queue takes.
func (s *Scheduler) Vacancy(queue int) int { return depth - len(s.queues[queue]) }

// Waiting is how many requests are in all queues.
func (s *Scheduler) Waiting() (n int) {
	for i := range s.queues {
		n += len(s.queues[i])
	}
	return n
}

// Submit puts a request into the queue of its priority. Errors are a *SubmitError, or a
// *StateError where the firmware takes no work.
func (s *Scheduler) Submit(r Request) (ID, error) {
	switch {
	case s.state == Pause || s.state == Init:
		return 0, &StateError{s.state, "submit"}
	case r.Priority >= Queues:
		return 0, &SubmitError{fmt.Sprintf("priority %d exceeds %d", r.Priority, Queues-1)}
	case r.Network == 0:
		return 0, &SubmitError{"network id 0: ids are 1 to 255"}
	case r.Work == nil:
		return 0, &SubmitError{"a request without work"}
	}
	q := r.Priority.Queue()
	if s.Vacancy(q) == 0 {
		return 0, &SubmitError{fmt.Sprintf("queue %d is full: it holds %d requests", q, depth)}
	}
	s.next++
	s.queues[q] = append(s.queues[q], pending{Request: r, id: s.next, at: s.now})
	s.stats.Submitted++
	return s.next, nil
}

// highest is the queue that goes next, -1 when all are vacant or wait. Higher queues have
// higher hardware priorities.
func (s *Scheduler) highest() int {
	for q := Queues - 1; q >= 0; q-- {
		if len(s.queues[q]) == 0 {
			continue
		}
		if w, ok := s.queues[q][0].Work.(Waiter); ok && w.Waiting() {
			continue
		}
		return q
	}
	return -1
}

// Step executes one run of the most urgent request that does not wait, and reports whether
// there was one. The error is a *StateError, or ErrDeadlock.
func (s *Scheduler) Step() (bool, error) {
	q := s.highest()
	switch {
	case q < 0 && s.Waiting() > 0:
		return false, ErrDeadlock
	case q < 0:
		return false, nil
	}
	if err := s.enter(); err != nil {
		return false, err
	}
	p := &s.queues[q][0]
	switch {
	case !p.started:
		p.started = true
		s.event(Started, q, p)
		if s.current != q {
			s.current = q
			s.stats.Switches++
		}
	case s.current != q:
		s.current = q
		s.stats.Switches++
		s.event(SwitchedIn, q, p)
	}
	s.tell(q, p)
	took, more := p.Work.Run()
	s.now += took
	s.stats.Busy += took
	s.stats.Runs++
	if !more {
		s.event(Finished, q, p)
		s.stats.Finished++
		s.pop(q, 0)
	}
	s.leave()
	return true, nil
}

// Drain executes runs until every queue is vacant.
func (s *Scheduler) Drain() error {
	for {
		if more, err := s.Step(); !more || err != nil {
			return err
		}
	}
}

// Wait lets time pass to at, as far as it has not passed.
func (s *Scheduler) Wait(at clock.Nanoseconds) { s.now = max(s.now, at) }

func (s *Scheduler) pop(q, i int) {
	list := s.queues[q]
	copy(list[i:], list[i+1:])
	list[len(list)-1] = pending{} // the work of a request that is gone is not held
	s.queues[q] = list[:len(list)-1]
}

// Abort drops a request, whatever it has run so far, and reports whether it was there.
func (s *Scheduler) Abort(id ID) bool {
	for q := range s.queues {
		for i := range s.queues[q] {
			if p := &s.queues[q][i]; p.id == id {
				s.abort(q, i)
				return true
			}
		}
	}
	return false
}

func (s *Scheduler) abort(q, i int) {
	p := &s.queues[q][i]
	p.Work.Abort()
	s.event(Aborted, q, p)
	s.stats.Aborted++
	s.pop(q, i)
}

// Quiesce runs a queue empty. What is left in it after QuiesceLimit of engine time, or waits
// for what will not end, is aborted; it returns how many requests were.
func (s *Scheduler) Quiesce(queue int) (aborted int, err error) {
	limit := s.now + QuiesceLimit
	for len(s.queues[queue]) > 0 && s.now < limit {
		if _, err := s.Step(); errors.Is(err, ErrDeadlock) {
			break // nothing that it waits for will end
		} else if err != nil {
			return 0, err
		}
	}
	for len(s.queues[queue]) > 0 {
		s.abort(queue, 0)
		aborted++
	}
	return aborted, nil
}
