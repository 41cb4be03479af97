package queue_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/firmware/queue"
	"anesim/hw/clock"
)

// chain is work of some runs that each take a time.
type chain struct {
	runs    []clock.Nanoseconds
	done    int
	aborted bool
	order   *[]string
	name    string
}

func (c *chain) Run() (clock.Nanoseconds, bool) {
	if c.order != nil {
		*c.order = append(*c.order, c.name)
	}
	c.done++
	return c.runs[c.done-1], c.done < len(c.runs)
}

func (c *chain) Abort() { c.aborted = true }

func started(t *testing.T) *queue.Scheduler {
	t.Helper()
	s := queue.New()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func submit(t *testing.T, s *queue.Scheduler, p queue.Priority, w queue.Work) queue.ID {
	t.Helper()
	id, err := s.Submit(queue.Request{Priority: p, Network: 1, Work: w})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestHardwarePriorities(t *testing.T) {
	last := uint8(0)
	for q := range queue.Queues {
		if p := queue.HardwarePriority(q); p <= last {
			t.Errorf("queue %d: priority %d is not above %d", q, p, last)
		} else {
			last = p
		}
	}
	if q := queue.Priority(0).Queue(); queue.HardwarePriority(q) != 31 {
		t.Errorf("priority 0 goes to hardware priority %d", queue.HardwarePriority(q))
	}
	for p := range queue.Priority(queue.Queues) {
		if p.Realtime() != (p <= 1) {
			t.Errorf("priority %d: realtime %t", p, p.Realtime())
		}
	}
}

// A request of higher priority goes next, but only where a run ends.
func TestPreemptionAtRunEnds(t *testing.T) {
	s := started(t)
	var order []string
	var events []queue.EventKind
	s.Observe = func(e queue.Event) { events = append(events, e.Kind) }
	submit(t, s, 5, &chain{runs: []clock.Nanoseconds{10, 20, 30}, order: &order, name: "low"})
	if _, err := s.Step(); err != nil {
		t.Fatal(err)
	}
	submit(t, s, 1, &chain{runs: []clock.Nanoseconds{5, 5}, order: &order, name: "high"})
	if err := s.Drain(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"low", "high", "high", "low", "low"}, order); diff != "" {
		t.Error(diff)
	}
	want := []queue.EventKind{queue.Started, queue.Started, queue.Finished, queue.SwitchedIn, queue.Finished}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if s.Now() != 70 {
		t.Errorf("now %v", s.Now())
	}
	if got := s.Stats(); got.Busy != 70 || got.Finished != 2 || got.Runs != 5 || got.Switches != 3 {
		t.Errorf("%+v", got)
	}
}

// TestStrictPriority checks for random arrivals that a request waits at most for the longest
// run of lower priority, for requests of higher priority, and for earlier requests of its own
// priority. Every request is finished or aborted exactly once.
func TestStrictPriority(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := started(t)
		type asked struct {
			at   clock.Nanoseconds
			prio queue.Priority
		}
		reqs := map[queue.ID]asked{}
		longest := clock.Nanoseconds(0)
		var top queue.ID // a lone request of priority 0
		ended := map[queue.ID]int{}
		s.Observe = func(e queue.Event) {
			switch e.Kind {
			case queue.Started:
				if wait := e.At - reqs[e.ID].at; e.ID == top && wait > longest {
					t.Errorf("the most urgent request waited %v, the longest run takes %v", wait, longest)
				}
			case queue.Finished, queue.Aborted:
				ended[e.ID]++
			}
		}
		n := 0
		for range 60 {
			if r.IntN(3) > 0 {
				c := &chain{}
				for range 1 + r.IntN(4) {
					run := clock.Nanoseconds(1 + r.IntN(50))
					c.runs = append(c.runs, run)
					longest = max(longest, run)
				}
				p := queue.Priority(1 + r.IntN(7))
				reqs[submit(t, s, p, c)] = asked{at: s.Now(), prio: p}
				n++
			}
			if top == 0 && r.IntN(20) == 0 {
				top = submit(t, s, 0, &chain{runs: []clock.Nanoseconds{3}})
				reqs[top] = asked{at: s.Now()}
				n++
			}
			if _, err := s.Step(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Drain(); err != nil {
			t.Fatal(err)
		}
		if len(ended) != n || s.Waiting() != 0 {
			t.Fatalf("%d of %d requests ended, %d wait", len(ended), n, s.Waiting())
		}
		for id, times := range ended {
			if times != 1 {
				t.Errorf("request %d ended %d times", id, times)
			}
		}
	}
}

func TestAbort(t *testing.T) {
	s := started(t)
	c := &chain{runs: []clock.Nanoseconds{1, 1}}
	id := submit(t, s, 3, c)
	if _, err := s.Step(); err != nil {
		t.Fatal(err)
	}
	if !s.Abort(id) || !c.aborted || s.Abort(id) {
		t.Error("abort in mid-flight")
	}
	if more, _ := s.Step(); more || c.done != 1 {
		t.Error("the aborted request ran on")
	}
}

// A queue that does not run empty in two seconds of engine time is aborted.
func TestQuiesceLimit(t *testing.T) {
	s := started(t)
	long := &chain{runs: []clock.Nanoseconds{1.5e9, 1.5e9, 1.5e9}}
	short := &chain{runs: []clock.Nanoseconds{1e6}}
	submit(t, s, 2, short)
	submit(t, s, 2, long)
	n, err := s.Quiesce(queue.Priority(2).Queue())
	if err != nil || n != 1 || !long.aborted || short.aborted {
		t.Errorf("%d aborted (%v)", n, err)
	}
	if long.done != 2 {
		t.Errorf("%d runs before the limit was reached", long.done)
	}
}

func TestStates(t *testing.T) {
	s := queue.New()
	var state *queue.StateError
	if _, err := s.Submit(queue.Request{Network: 1, Work: &chain{}}); !errors.As(err, &state) || state.State != queue.Init {
		t.Errorf("submit before start: %v", err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	seen := queue.State(0)
	submit(t, s, 2, &watching{s, &seen})
	if _, err := s.Step(); err != nil || seen != queue.Exec || s.State() != queue.Run {
		t.Errorf("a run in state %v, then %v", seen, s.State())
	}
	cycled := 0
	if _, err := s.SecureBoundary(true, func() { cycled++ }); err != nil || cycled != 1 {
		t.Errorf("secure boundary: %v, %d power cycles", err, cycled)
	}
	submit(t, s, 2, &watching{s, &seen})
	if _, err := s.Step(); err != nil || seen != queue.ExecSecure {
		t.Errorf("a secure run in state %v", seen)
	}
	submit(t, s, 2, &watching{s, &seen})
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(); !errors.As(err, &state) || state.State != queue.Pause {
		t.Errorf("a run in PAUSE: %v", err)
	}
}

// watching sees the state its run is in.
type watching struct {
	s    *queue.Scheduler
	seen *queue.State
}

func (w *watching) Run() (clock.Nanoseconds, bool) { *w.seen = w.s.State(); return 1, false }
func (w *watching) Abort()                         {}

// waiter is work that waits for another to end.
type waiter struct {
	chain
	other *chain
}

func (w *waiter) Waiting() bool { return w.other.done < len(w.other.runs) }

// TestWaitersArePassedBy checks that other requests of any priority overtake a request that
// has to wait, and that it runs next once it need not wait. A later request of its own queue
// stays after it. It is an error if no request can run.
func TestWaitersArePassedBy(t *testing.T) {
	s := started(t)
	var order []string
	writer := &chain{runs: []clock.Nanoseconds{10, 10}, order: &order, name: "writer"}
	reader := &waiter{chain{runs: []clock.Nanoseconds{5}, order: &order, name: "reader"}, writer}
	submit(t, s, 0, reader)
	submit(t, s, 0, &chain{runs: []clock.Nanoseconds{1}, order: &order, name: "behind"})
	submit(t, s, 6, writer)
	submit(t, s, 7, &chain{runs: []clock.Nanoseconds{1}, order: &order, name: "last"})
	if err := s.Drain(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"writer", "writer", "reader", "behind", "last"}, order); diff != "" {
		t.Error(diff)
	}
	never := &waiter{chain{runs: []clock.Nanoseconds{5}}, &chain{runs: []clock.Nanoseconds{1}}}
	submit(t, s, 0, never)
	if _, err := s.Step(); err != queue.ErrDeadlock {
		t.Errorf("%v", err)
	}
	if n, err := s.Quiesce(queue.Priority(0).Queue()); err != nil || n != 1 || !never.aborted {
		t.Errorf("%d aborted: %v", n, err)
	}
}

// Every run has its events, with ids, queue and the time of the free-running timebase.
func TestEventsOfARequest(t *testing.T) {
	s := started(t)
	s.Wait(100)
	var events []queue.Event
	s.Observe = func(e queue.Event) { events = append(events, e) }
	id, err := s.Submit(queue.Request{Priority: 5, Network: 9, Program: 3, Process: 4, Work: &chain{runs: []clock.Nanoseconds{10, 20}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(); err != nil {
		t.Fatal(err)
	}
	urgent := submit(t, s, 0, &chain{runs: []clock.Nanoseconds{5}})
	if err := s.Drain(); err != nil {
		t.Fatal(err)
	}
	low, high := queue.Priority(5).Queue(), queue.Priority(0).Queue()
	want := []queue.Event{
		{Kind: queue.Started, ID: id, Queue: low, Network: 9, Program: 3, Process: 4, At: 100},
		{Kind: queue.Started, ID: urgent, Queue: high, Network: 1, At: 110},
		{Kind: queue.Finished, ID: urgent, Queue: high, Network: 1, At: 115},
		{Kind: queue.SwitchedIn, ID: id, Queue: low, Network: 9, Program: 3, Process: 4, At: 115},
		{Kind: queue.Finished, ID: id, Queue: low, Network: 9, Program: 3, Process: 4, At: 135},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	s := started(t)
	for _, r := range []queue.Request{
		{Priority: 8, Network: 1, Work: &chain{}},
		{Priority: 1, Network: 0, Work: &chain{}},
		{Priority: 1, Network: 1},
	} {
		var e *queue.SubmitError
		if _, err := s.Submit(r); !errors.As(err, &e) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	q := queue.Priority(4).Queue()
	for s.Vacancy(q) > 0 {
		submit(t, s, 4, &chain{runs: []clock.Nanoseconds{1}})
	}
	var e *queue.SubmitError
	if _, err := s.Submit(queue.Request{Priority: 4, Network: 1, Work: &chain{}}); !errors.As(err, &e) {
		t.Errorf("a full queue took a request: %v", err)
	}
}

// BenchmarkScheduler is the cost of a dispatch without the engine.
func BenchmarkScheduler(b *testing.B) {
	s := queue.New()
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	w := &endless{}
	b.ReportAllocs()
	for range b.N {
		if _, err := s.Submit(queue.Request{Priority: 3, Network: 1, Work: w}); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Step(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "dispatches/s")
}

type endless struct{}

func (*endless) Run() (clock.Nanoseconds, bool) { return 1, false }
func (*endless) Abort()                         {}
