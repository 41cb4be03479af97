package queue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/firmware/queue"
	"anesim/hw/clock"
)

// Requests are numbered from 1 on; each takes a place of its queue until it ends.
func TestNumbersAndPlaces(t *testing.T) {
	s := started(t)
	q := queue.Priority(3).Queue()
	free := s.Vacancy(q)
	var ids []queue.ID
	for range 3 {
		ids = append(ids, submit(t, s, 3, &chain{runs: []clock.Nanoseconds{1}}))
	}
	if diff := cmp.Diff([]queue.ID{1, 2, 3}, ids); diff != "" {
		t.Error(diff)
	}
	if got := s.Vacancy(q); got != free-3 || s.Waiting() != 3 {
		t.Errorf("%d places of %d are left, %d wait", got, free, s.Waiting())
	}
	if !s.Abort(ids[1]) {
		t.Error("no such request")
	}
	if err := s.Drain(); err != nil {
		t.Fatal(err)
	}
	want := queue.Stats{Submitted: 3, Finished: 2, Aborted: 1, Runs: 2, Switches: 1, Busy: 2}
	if diff := cmp.Diff(want, s.Stats()); diff != "" || s.Vacancy(q) != free {
		t.Errorf("%s; %d places of %d are left", diff, s.Vacancy(q), free)
	}
}

// TestFirstRequestSwitches checks that the very first request is a switch, for any queue.
func TestFirstRequestSwitches(t *testing.T) {
	for p := range queue.Priority(queue.Queues) {
		s := started(t)
		submit(t, s, p, &chain{runs: []clock.Nanoseconds{1}})
		if err := s.Drain(); err != nil || s.Stats().Switches != 1 {
			t.Errorf("priority %d: %d switches (%v)", p, s.Stats().Switches, err)
		}
	}
}

func TestPriorityBeyondTheLast(t *testing.T) {
	_, err := started(t).Submit(queue.Request{Priority: 8, Network: 1, Work: &chain{}})
	if err == nil || !strings.HasSuffix(err.Error(), "priority 8 is out of range; want 0 to 7") {
		t.Errorf("%v", err)
	}
}

// A queue that has run for the whole limit does not run again.
func TestQuiesceAtTheLimit(t *testing.T) {
	s := started(t)
	w := &chain{runs: []clock.Nanoseconds{queue.QuiesceLimit, 1}}
	submit(t, s, 2, w)
	if n, err := s.Quiesce(queue.Priority(2).Queue()); n != 1 || w.done != 1 || err != nil {
		t.Errorf("%d aborted after %d runs (%v)", n, w.done, err)
	}
}

// The secure boundary empties every queue.
func TestSecureBoundaryQuiescesAll(t *testing.T) {
	s := started(t)
	for p := range queue.Priority(queue.Queues) {
		submit(t, s, p, &chain{runs: []clock.Nanoseconds{1}})
	}
	if n, err := s.SecureBoundary(true, nil); n != 0 || err != nil || s.Waiting() != 0 || s.Stats().Finished != queue.Queues {
		t.Errorf("%d aborted, %d wait, %+v (%v)", n, s.Waiting(), s.Stats(), err)
	}
}

// TestStartAfterPause checks that a start ends a pause, and that a start without a pause is
// refused.
func TestStartAfterPause(t *testing.T) {
	s := started(t)
	if err := s.Start(); err == nil {
		t.Error("started twice")
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil || s.State() != queue.Run {
		t.Errorf("%v, %v", s.State(), err)
	}
}

// tasked is a chain that knows its next descriptor.
type tasked struct{ chain }

func (w *tasked) Next() (tid, nid uint32, ok bool) { return uint32(w.done), 7, true }
func (w *tasked) Tell(func(queue.TaskEvent))       {}

// TestSwitchedInNamesTheDescriptor checks that a request which is switched back in names the
// descriptor with which it continues.
func TestSwitchedInNamesTheDescriptor(t *testing.T) {
	s := started(t)
	var got []queue.Event
	s.Observe = func(e queue.Event) {
		if e.ID == 1 {
			got = append(got, queue.Event{Kind: e.Kind, TID: e.TID, NID: e.NID})
		}
	}
	submit(t, s, 5, &tasked{chain{runs: []clock.Nanoseconds{1, 1}}})
	if _, err := s.Step(); err != nil {
		t.Fatal(err)
	}
	submit(t, s, 1, &chain{runs: []clock.Nanoseconds{1}})
	if err := s.Drain(); err != nil {
		t.Fatal(err)
	}
	want := []queue.Event{{Kind: queue.Started}, {Kind: queue.SwitchedIn, TID: 1, NID: 7}, {Kind: queue.Finished}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
