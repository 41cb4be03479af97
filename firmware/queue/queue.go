package queue

import (
	"errors"
	"fmt"

	"anesim/hw/clock"
)

// Properties of the task queues.
const (
	Queues       = 8
	Stride       = 0x148 // bytes between the register blocks of two queues (decompiled)
	MaxNetworkID = 255   // network ids are from 1 to 255
)

// hardwarePriority holds the value of each queue's priority register (decompiled).
var hardwarePriority = [Queues]uint8{1, 2, 3, 4, 5, 6, 30, 31}

// HardwarePriority returns the priority that the hardware gives to the task queue with the given
// index, from 1 to 31. Queues with larger numbers are served first.
func HardwarePriority(queue int) uint8 { return hardwarePriority[queue] }

// A Priority is the priority of a program, from 0 (most urgent) to 7. Priorities 0 and 1
// are reserved for privileged realtime programs.
type Priority uint8

// Realtime reports whether p is 0 or 1, the priorities of realtime programs.
func (p Priority) Realtime() bool { return p < 2 }

// Queue returns the index of the task queue for programs of priority p. Priority 0 is assumed to
// use the queue with the highest hardware priority.
func (p Priority) Queue() int { return Queues - 1 - int(p) }

// QuiesceLimit is the engine time after which [Scheduler.Quiesce] aborts the remaining
// requests of a queue. The value was read from the vendor's code.
const QuiesceLimit clock.Nanoseconds = 2e9

// A Work is a call that a [Scheduler] executes, one run of descriptors at a time.
type Work interface {
	// Run executes the next run of descriptors. It returns the engine time used, and
	// whether runs remain. It is not called again after it has returned false or after
	// Abort.
	Run() (took clock.Nanoseconds, more bool)
	// Abort ends the work without executing the remaining runs.
	Abort()
}

// A Waiter is a [Work] that may have to wait for a call with which it shares buffers. While Waiting
// returns true, the scheduler skips the queue that has this work at its front.
type Waiter interface {
	Work
	Waiting() bool
}

// ErrDeadlock is returned when queues hold requests but the first request of each queue waits.
var ErrDeadlock = errors.New("deadlock: the first request in every nonempty queue is waiting")

// An ID identifies a request to a [Scheduler].
type ID uint64

// A Request asks a [Scheduler] to execute a program's chain of descriptors once.
type Request struct {
	Priority Priority
	Network  uint8 // network id, 1 to 255
	Program  int32
	Process  int32
	Work     Work
}

// A SubmitError reports a request that the scheduler cannot put in a queue, and why.
type SubmitError struct{ What string }

func (e *SubmitError) Error() string { return "submit: " + e.What }

// A pending is a request in a queue.
type pending struct {
	Request
	id      ID
	at      clock.Nanoseconds // when it was submitted
	started bool
}

// depth is the capacity of a queue. The documents give none, so the number of network ids
// is used (assumed).
const depth = MaxNetworkID

// A Scheduler holds the task queues and chooses the request that uses the engine next.
type Scheduler struct {
	// Observe is called for every event, if it is not nil.
	Observe func(Event)
	// Descriptors enables events for the start and finish of each descriptor.
	Descriptors bool

	now     clock.Nanoseconds
	next    ID
	queues  [Queues][]pending
	state   State
	current int // queue that ran last, -1 at first
	secure  bool
	stats   Stats
}

// Stats counts requests and runs. Submitted equals the sum of Finished, Aborted and the
// requests that are still in a queue.
type Stats struct {
	Submitted, Finished, Aborted uint64
	Runs, Switches               uint64
	Busy                         clock.Nanoseconds
}

// New returns a scheduler in state Init with empty queues.
func New() *Scheduler { return &Scheduler{current: -1} }

// Now returns the current time, which starts at 0 and advances with the engine's work.
func (s *Scheduler) Now() clock.Nanoseconds { return s.now }

// State returns the state of the firmware.
func (s *Scheduler) State() State { return s.state }

// Stats returns the counts of requests and runs so far.
func (s *Scheduler) Stats() Stats { return s.stats }

// Vacancy returns how many more requests fit in the queue with the given index.
func (s *Scheduler) Vacancy(queue int) int { return depth - len(s.queues[queue]) }

// Waiting returns the number of requests in all queues together.
func (s *Scheduler) Waiting() (n int) {
	for i := range s.queues {
		n += len(s.queues[i])
	}
	return n
}

// Submit appends a request to the queue of its priority and returns its ID. It returns a
// *[SubmitError] if the queue is full or the request is invalid, or a *[StateError] in
// states Init and Pause.
func (s *Scheduler) Submit(r Request) (ID, error) {
	switch {
	case s.state == Pause || s.state == Init:
		return 0, &StateError{s.state, "submit"}
	case r.Priority >= Queues:
		return 0, &SubmitError{fmt.Sprintf("priority %d is out of range; want 0 to %d", r.Priority, Queues-1)}
	case r.Network == 0:
		return 0, &SubmitError{"network ID is 0; want 1 to 255"}
	case r.Work == nil:
		return 0, &SubmitError{"request has a nil Work"}
	}
	q := r.Priority.Queue()
	if s.Vacancy(q) == 0 {
		return 0, &SubmitError{fmt.Sprintf("queue %d is full (%d requests)", q, depth)}
	}
	s.next++
	s.queues[q] = append(s.queues[q], pending{Request: r, id: s.next, at: s.now})
	s.stats.Submitted++
	return s.next, nil
}

// chooseQueue returns the index of the queue to serve next, or -1 if all queues are empty or
// waiting. A queue with a higher index has a higher hardware priority.
func (s *Scheduler) chooseQueue() int {
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

// Step executes one run of the most urgent request that is not waiting. It returns false if all
// queues are empty. It returns a *[StateError] if the state does not allow work, or [ErrDeadlock]
// if the first request in every nonempty queue is waiting.
func (s *Scheduler) Step() (bool, error) {
	q := s.chooseQueue()
	switch {
	case q < 0 && s.Waiting() > 0:
		return false, ErrDeadlock
	case q < 0:
		return false, nil
	}
	if err := s.beginRun(); err != nil {
		return false, err
	}
	p := &s.queues[q][0]
	switch {
	case !p.started:
		p.started = true
		s.emitEvent(Started, q, p)
		if s.current != q {
			s.current = q
			s.stats.Switches++
		}
	case s.current != q:
		s.current = q
		s.stats.Switches++
		s.emitEvent(SwitchedIn, q, p)
	}
	s.observeTasks(q, p)
	took, more := p.Work.Run()
	s.now += took
	s.stats.Busy += took
	s.stats.Runs++
	if !more {
		s.emitEvent(Finished, q, p)
		s.stats.Finished++
		s.removeRequest(q, 0)
	}
	s.endRun()
	return true, nil
}

// Drain executes runs until all queues are empty. It returns any error from [Scheduler.Step].
func (s *Scheduler) Drain() error {
	for {
		if more, err := s.Step(); !more || err != nil {
			return err
		}
	}
}

// Wait advances the current time to end. It does nothing if the current time is later.
func (s *Scheduler) Wait(end clock.Nanoseconds) { s.now = max(s.now, end) }

func (s *Scheduler) removeRequest(q, i int) {
	list := s.queues[q]
	copy(list[i:], list[i+1:])
	list[len(list)-1] = pending{} // release the work of the removed request
	s.queues[q] = list[:len(list)-1]
}

// Abort removes the request with the given ID from its queue, even if some of its runs have been
// executed. It returns false if there is no such request.
func (s *Scheduler) Abort(id ID) bool {
	for q := range s.queues {
		for i := range s.queues[q] {
			if p := &s.queues[q][i]; p.id == id {
				s.abortRequestAt(q, i)
				return true
			}
		}
	}
	return false
}

func (s *Scheduler) abortRequestAt(q, i int) {
	p := &s.queues[q][i]
	p.Work.Abort()
	s.emitEvent(Aborted, q, p)
	s.stats.Aborted++
	s.removeRequest(q, i)
}

// Quiesce executes runs, as [Scheduler.Step] does, until the queue with the given index is empty.
// More urgent queues may be served first. After [QuiesceLimit] of engine time, or in a deadlock,
// Quiesce aborts the requests that remain in the queue. It returns the number of aborted requests.
func (s *Scheduler) Quiesce(queue int) (aborted int, err error) {
	limit := s.now + QuiesceLimit
	for len(s.queues[queue]) > 0 && s.now < limit {
		if _, err := s.Step(); errors.Is(err, ErrDeadlock) {
			break // the remaining requests wait forever
		} else if err != nil {
			return 0, err
		}
	}
	for len(s.queues[queue]) > 0 {
		s.abortRequestAt(queue, 0)
		aborted++
	}
	return aborted, nil
}
