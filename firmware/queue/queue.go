package queue

import (
	"errors"
	"fmt"

	"anesim/hw/clock"
)

// Properties of the task queues.
const (
	Queues       = 8
	stride       = 0x148 // bytes between the register blocks of two queues (decompiled)
	maxNetworkID = 255   // network ids are from 1 to 255
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
// requests of a queue. The value was read from the vendor's code. That time which the engine spends
// on other queues counts too is assumed.
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

// A waiter is a [Work] that may have to wait for a call with which it shares buffers. While Waiting
// returns true, the scheduler skips the queue that has this work at its front.
type waiter interface {
	Work
	Waiting() bool
}

// An interruptible is a [Work] whose runs can be stopped in the middle and executed again.
type interruptible interface {
	Work
	// Rewind is called when the run that the last Run executed is to be stopped at the given time
	// after its start. If it returns true, the run did not happen, and the next Run executes it
	// again from its first descriptor. If it returns false, the run cannot be stopped.
	Rewind(after clock.Nanoseconds) bool
}

// A Preemption says where a more urgent request takes the engine from a less urgent one.
type Preemption uint8

// Kinds of preemption.
const (
	PreemptRuns  Preemption = iota // at the end of a run of descriptors
	PreemptNever                   // at the end of a request
	// PreemptAbort stops the run in progress at once, if it can be stopped. What it did is lost,
	// because L2 does not keep it, and the run starts again later. Stopping takes no time (assumed:
	// the documents mention an abort in mid-flight, but no figure).
	PreemptAbort
)

var preemptionNames = [...]string{PreemptRuns: "run", PreemptNever: "none", PreemptAbort: "abort"}

// String returns the name of the kind as in scripts: "run", "none" or "abort".
func (p Preemption) String() string {
	if int(p) >= len(preemptionNames) {
		return fmt.Sprintf("Preemption(%d)", uint8(p))
	}
	return preemptionNames[p]
}

// Preemptions returns the names of all kinds of preemption. The first lets a more urgent request
// wait longest, and the last not at all.
func Preemptions() []string {
	return []string{PreemptNever.String(), PreemptRuns.String(), PreemptAbort.String()}
}

// ParsePreemption returns the kind of preemption with the given name, and whether there is one.
func ParsePreemption(name string) (Preemption, bool) {
	for p, n := range preemptionNames {
		if n == name {
			return Preemption(p), true
		}
	}
	return 0, false
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

// An entry is a request in a queue.
type entry struct {
	Request
	id      ID
	started bool
}

// DefaultDepth is the default capacity of a queue. The documents give none, so the number of
// network ids is used (assumed).
const DefaultDepth = maxNetworkID

// compactAbove is the number of free places at the front of a fifo up to which they stay. Any number
// gives the same behavior.
const compactAbove = 1024

// A fifo holds the requests in one queue. It advances head instead of moving the remaining
// requests whenever the first one is removed.
type fifo struct {
	list []entry
	head int
}

func (f *fifo) waiting() []entry { return f.list[f.head:] }

func (f *fifo) push(p entry) { f.list = append(f.list, p) }

// remove removes the request at index i of f.waiting().
func (f *fifo) remove(i int) {
	if i > 0 {
		list := f.waiting()
		copy(list[i:], list[i+1:])
		list[len(list)-1] = entry{} // release the work of the removed request
		f.list = f.list[:len(f.list)-1]
		return
	}
	f.list[f.head] = entry{}
	f.head++
	switch {
	case f.head == len(f.list):
		f.list, f.head = f.list[:0], 0
	// The copy moves fewer requests than were removed since the last one, so the cost of a removal
	// stays constant. Below compactAbove, the free places at the front are not worth a copy.
	case f.head > compactAbove && f.head > len(f.list)/2:
		n := copy(f.list, f.list[f.head:])
		clear(f.list[n:])
		f.list, f.head = f.list[:n], 0
	}
}

// An activeRun is the run of descriptors in progress.
type activeRun struct {
	queue      int // -1 if there is none
	began, end clock.Nanoseconds
	more       bool    // further runs follow
	dying      bool    // the request is aborted when the run ends
	tasks      []Event // starts and ends of descriptors
}

// A Scheduler holds the task queues and chooses the request that uses the engine next.
type Scheduler struct {
	// Observe is called for every event, if it is not nil.
	Observe func(Event)
	// Descriptors enables events for the start and finish of each descriptor.
	Descriptors bool
	// Preemption says where a more urgent request takes the engine.
	Preemption Preemption
	// Depth is the capacity of each queue; 0 means DefaultDepth.
	Depth int

	now     clock.Nanoseconds
	next    ID
	queues  [Queues]fifo
	run     activeRun
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
	// Stops counts the runs that a more urgent request stopped, and Lost is the part of Busy that
	// they took in vain.
	Stops uint64
	Lost  clock.Nanoseconds
}

// New returns a scheduler in state Init with empty queues.
func New() *Scheduler { return &Scheduler{current: -1, run: activeRun{queue: -1}} }

// Now returns the current time, which starts at 0 and advances with the engine's work.
func (s *Scheduler) Now() clock.Nanoseconds { return s.now }

// State returns the state of the firmware.
func (s *Scheduler) State() State { return s.state }

// Stats returns the counts of requests and runs so far.
func (s *Scheduler) Stats() Stats { return s.stats }

// Vacancy returns how many more requests fit in the queue with the given index.
func (s *Scheduler) Vacancy(queue int) int { return s.depth() - len(s.queues[queue].waiting()) }

func (s *Scheduler) depth() int {
	if s.Depth > 0 {
		return s.Depth
	}
	return DefaultDepth
}

// Waiting returns the number of requests in all queues together.
func (s *Scheduler) Waiting() (n int) {
	for i := range s.queues {
		n += len(s.queues[i].waiting())
	}
	return n
}

// Submit appends a request to the queue of its priority and returns its ID. It returns a
// *[SubmitError] if the queue is full or the request is invalid, or a *[StateError] in
// states Init and Pause. With [PreemptAbort], it stops the run in progress if the request is more
// urgent and need not wait.
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
		return 0, &SubmitError{fmt.Sprintf("queue %d is full (%d requests)", q, s.depth())}
	}
	s.next++
	s.queues[q].push(entry{Request: r, id: s.next})
	s.stats.Submitted++
	if s.Preemption == PreemptAbort && s.run.queue >= 0 && q > s.run.queue && s.chooseQueue() > s.run.queue {
		if w, ok := s.queues[s.run.queue].waiting()[0].Work.(interruptible); ok && w.Rewind(s.now-s.run.began) {
			s.stopRun()
		}
	}
	return s.next, nil
}

// chooseQueue returns the index of the queue to serve next, or -1 if all queues are empty or
// waiting. A queue with a higher index has a higher hardware priority.
func (s *Scheduler) chooseQueue() int {
	if q := s.current; s.Preemption == PreemptNever && q >= 0 {
		if list := s.queues[q].waiting(); len(list) > 0 && list[0].started && !isWaiting(list[0].Work) {
			return q
		}
	}
	for q := Queues - 1; q >= 0; q-- {
		if list := s.queues[q].waiting(); len(list) > 0 && !isWaiting(list[0].Work) {
			return q
		}
	}
	return -1
}

func isWaiting(w Work) bool {
	x, ok := w.(waiter)
	return ok && x.Waiting()
}

// Step executes one run of the most urgent request that is not waiting, and advances the time to
// its end. It returns false if all queues are empty. It returns a *[StateError] if the state does
// not allow work, or [ErrDeadlock] if the first request in every nonempty queue is waiting.
func (s *Scheduler) Step() (bool, error) {
	began, err := s.Begin()
	if began {
		s.End()
	}
	return began, err
}

// Begin starts the run that [Scheduler.Step] would execute, and returns like Step. Until
// [Scheduler.End], requests may be submitted and the time may advance up to the end of the run.
func (s *Scheduler) Begin() (began bool, err error) {
	q := s.chooseQueue()
	switch {
	case q < 0 && s.Waiting() > 0:
		return false, ErrDeadlock
	case q < 0:
		return false, nil
	}
	// The state is checked only if there is work: an idle queue in Pause is no fault.
	if err := s.beginRun(); err != nil {
		return false, err
	}
	p := &s.queues[q].waiting()[0]
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
	s.run = activeRun{queue: q, began: s.now, end: s.now + took, more: more, tasks: s.run.tasks}
	return true, nil
}

// Running returns the end of the run in progress, and whether there is one.
func (s *Scheduler) Running() (end clock.Nanoseconds, ok bool) { return s.run.end, s.run.queue >= 0 }

// End advances the time to the end of the run in progress and ends the run. It does nothing if
// there is none.
func (s *Scheduler) End() {
	r := s.run
	if r.queue < 0 {
		return
	}
	s.now = r.end
	p := &s.queues[r.queue].waiting()[0]
	s.stats.Busy += r.end - r.began
	s.stats.Runs++
	s.endTasks(false)
	switch {
	case r.dying:
		s.abortRequestAt(r.queue, 0)
	case !r.more:
		s.emitEvent(Finished, r.queue, p)
		s.stats.Finished++
		s.queues[r.queue].remove(0)
	}
	s.endRun()
}

// stopRun ends the run in progress now, in vain.
func (s *Scheduler) stopRun() {
	r := s.run
	lost := s.now - r.began
	s.stats.Busy += lost
	s.stats.Lost += lost
	s.stats.Stops++
	s.endTasks(true)
	s.emitEvent(Stopped, r.queue, &s.queues[r.queue].waiting()[0])
	s.current = -1 // the request is switched in again, whichever runs next
	s.endRun()
}

// Drain executes runs until all queues are empty. It returns any error from [Scheduler.Step].
func (s *Scheduler) Drain() error {
	for {
		if more, err := s.Step(); !more || err != nil {
			return err
		}
	}
}

// Wait advances the current time to end. It does nothing if the current time is later. While a run
// is in progress, the time advances at most to the end of that run.
func (s *Scheduler) Wait(end clock.Nanoseconds) {
	if s.run.queue >= 0 {
		end = min(end, s.run.end)
	}
	s.now = max(s.now, end)
}

// Abort removes the request with the given ID from its queue, even if some of its runs have been
// executed. A run of the request that is in progress ends first. Abort returns false if there is no
// such request.
func (s *Scheduler) Abort(id ID) bool {
	for q := range s.queues {
		for i, p := range s.queues[q].waiting() {
			switch {
			case p.id != id:
			case i == 0 && q == s.run.queue:
				s.run.dying = true
				return true
			default:
				s.abortRequestAt(q, i)
				return true
			}
		}
	}
	return false
}

func (s *Scheduler) abortRequestAt(q, i int) {
	p := &s.queues[q].waiting()[i]
	p.Work.Abort()
	s.emitEvent(Aborted, q, p)
	s.stats.Aborted++
	s.queues[q].remove(i)
}

// Quiesce executes runs, as [Scheduler.Step] does, until the queue with the given index is empty.
// More urgent queues may be served first. After [QuiesceLimit] of engine time, whichever queues it
// served, or in a deadlock, Quiesce aborts the requests that remain in the queue. It returns the
// number of aborted requests.
func (s *Scheduler) Quiesce(queue int) (aborted int, err error) {
	limit := s.now + QuiesceLimit
	for len(s.queues[queue].waiting()) > 0 && s.now < limit {
		if _, err := s.Step(); errors.Is(err, ErrDeadlock) {
			break // the remaining requests wait forever
		} else if err != nil {
			return 0, err
		}
	}
	for len(s.queues[queue].waiting()) > 0 {
		s.abortRequestAt(queue, 0)
		aborted++
	}
	return aborted, nil
}
