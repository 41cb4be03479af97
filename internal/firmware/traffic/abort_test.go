package traffic_test

import (
	"testing"

	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
)

// TestAbortByHand checks when an urgent call of 144.8 ns that reaches its queue at 100 us gets the
// engine from a run of 576.845 us, and when that one ends.
func TestAbortByHand(t *testing.T) {
	for _, tc := range []struct {
		preemption       queue.Preemption
		within           clock.Nanoseconds
		start, end, lost clock.Nanoseconds
	}{
		{queue.PreemptAbort, 576_845, 100_000, 100_000 + 147.5 + 576_845, 100_000},
		{queue.PreemptAbort, 100_000, 576_845, 576_845, 0}, // not stoppable from 100 us on
		{queue.PreemptRuns, 576_845, 576_845, 576_845, 0},
		{queue.PreemptNever, 576_845, 576_845, 576_845, 0},
	} {
		c := traffic.Config{Duration: 1, InFlight: 2, Preemption: tc.preemption, Clients: []traffic.Client{
			{Name: "bulk", Priority: 7, Arrival: traffic.BackToBack, Runs: []clock.Nanoseconds{576_845}, Stoppable: []clock.Nanoseconds{tc.within}, Energy: 576_845},
			{Name: "urgent", Priority: 0, Arrival: traffic.BackToBack, Runs: []clock.Nanoseconds{147.5}, Host: traffic.Host{Outside: 100_000}},
		}}
		var start, end clock.Nanoseconds
		c.Observe = func(e traffic.Event) {
			switch {
			case e.Client == 1 && e.What == traffic.Began:
				start = e.At
			case e.Client == 0 && e.What == traffic.Ran:
				end = e.At
			}
		}
		r := run(t, &c)
		if start != tc.start || end != tc.end || r.Lost != tc.lost || float64(r.LostEnergy) != float64(tc.lost) || r.Busy != 576_845+147.5+tc.lost {
			t.Errorf("%+v: starts at %v, the other ends at %v, lost %v and %v of %v", tc, start, end, r.Lost, r.LostEnergy, r.Busy)
		}
		wait := tc.end - 576_845
		if got := r.Clients[0].MeanWait(); got != wait || r.Clients[0].Longest != wait {
			t.Errorf("%+v: the less urgent call waits %v, want %v", tc, got, wait)
		}
	}
}
