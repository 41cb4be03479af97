package queue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/firmware/queue"
	"anesim/hw/clock"
)

// stoppable is a chain whose runs can be stopped within a time of their start.
type stoppable struct {
	chain
	within clock.Nanoseconds
}

func (s *stoppable) Rewind(after clock.Nanoseconds) bool {
	if after >= s.within {
		return false
	}
	s.done--
	return true
}

// TestAbortStopsTheRun checks that a more urgent request gets the engine at once, that the run starts
// again from its beginning, and that a run that cannot be stopped ends first.
func TestAbortStopsTheRun(t *testing.T) {
	for _, tc := range []struct {
		preemption queue.Preemption
		within     clock.Nanoseconds
		urgent     queue.Priority
		starts     clock.Nanoseconds // of the urgent request
		ends       clock.Nanoseconds // of the other one
		lost       clock.Nanoseconds
	}{
		{queue.PreemptAbort, 100, 0, 30, 30 + 5 + 150, 30},
		{queue.PreemptAbort, 30, 0, 100, 155, 0},  // it cannot be stopped any more
		{queue.PreemptAbort, 100, 5, 150, 150, 0}, // of the same priority
		{queue.PreemptAbort, 100, 7, 150, 150, 0}, // less urgent
		{queue.PreemptRuns, 100, 0, 100, 155, 0},  // at the end of a run
		{queue.PreemptNever, 100, 0, 150, 150, 0}, // at the end of a request
	} {
		s := started(t)
		s.Preemption = tc.preemption
		var starts, ends clock.Nanoseconds
		low := submit(t, s, 5, &stoppable{chain{runs: []clock.Nanoseconds{100, 50}}, tc.within})
		s.Observe = func(e queue.Event) {
			switch {
			case e.Kind == queue.Started && e.ID != low:
				starts = e.At
			case e.Kind == queue.Finished && e.ID == low:
				ends = e.At
			}
		}
		if began, err := s.Begin(); !began || err != nil {
			t.Fatal(began, err)
		}
		s.Wait(30)
		submit(t, s, tc.urgent, &chain{runs: []clock.Nanoseconds{5}})
		if _, busy := s.Running(); busy == (tc.lost > 0) {
			t.Errorf("%+v: a run is in progress: %t", tc, busy)
		}
		s.End()
		if err := s.Drain(); err != nil {
			t.Fatal(err)
		}
		if starts != tc.starts || ends != tc.ends {
			t.Errorf("%+v: it starts at %v, and the other ends at %v", tc, starts, ends)
		}
		if got := s.Stats(); got.Lost != tc.lost || got.Busy != 155+tc.lost || got.Finished != 2 {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// A request that must wait stops nothing.
func TestWaitersStopNothing(t *testing.T) {
	s := started(t)
	s.Preemption = queue.PreemptAbort
	low := &stoppable{chain{runs: []clock.Nanoseconds{100, 20}}, 1000}
	submit(t, s, 5, low)
	if _, err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	s.Wait(30)
	submit(t, s, 0, &waiter{chain{runs: []clock.Nanoseconds{5}}, &low.chain})
	if end, busy := s.Running(); !busy || end != 100 {
		t.Errorf("a run until %v: %t", end, busy)
	}
	s.End()
	if err := s.Drain(); err != nil || s.Stats().Lost != 0 || s.Now() != 125 {
		t.Errorf("%+v at %v: %v", s.Stats(), s.Now(), err)
	}
}

// An abort of the request on the engine takes effect when its run ends, and not before.
func TestAbortOfARunInProgress(t *testing.T) {
	s := started(t)
	var events []queue.EventKind
	s.Observe = func(e queue.Event) { events = append(events, e.Kind) }
	w := &chain{runs: []clock.Nanoseconds{100, 50}}
	id := submit(t, s, 5, w)
	if _, err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	s.Wait(200)
	if now := s.Now(); now != 100 {
		t.Errorf("the time passes the end of the run: %v", now)
	}
	if !s.Abort(id) || w.aborted {
		t.Error("the run in progress is aborted")
	}
	s.End()
	if diff := cmp.Diff([]queue.EventKind{queue.Started, queue.Aborted}, events); diff != "" || !w.aborted || s.Waiting() != 0 {
		t.Error(diff)
	}
}

// The names of scripts are those of the kinds.
func TestPreemptionNames(t *testing.T) {
	for _, name := range queue.Preemptions() {
		if p, ok := queue.ParsePreemption(name); !ok || p.String() != name {
			t.Errorf("%s is %v", name, p)
		}
	}
	if _, ok := queue.ParsePreemption("abrt"); ok {
		t.Error("abrt is a kind")
	}
	// A value that is no kind must not have the name of one.
	if got := queue.Preemption(7).String(); got != "Preemption(7)" {
		t.Errorf("Preemption(7) is %q", got)
	}
}
