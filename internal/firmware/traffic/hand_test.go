package traffic_test

import (
	"slices"
	"testing"

	"anesim/firmware"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
)

// threeCalls returns the configuration of three calls of two runs each, 100 ns apart, whose times
// were computed by hand.
func threeCalls() traffic.Config {
	return traffic.Config{Duration: 300, Bins: 6, Clients: []traffic.Client{{
		Name: "a", Priority: 3, Arrival: traffic.Fixed, Rate: 1e7, Runs: []clock.Nanoseconds{30, 50}, Energy: 80,
	}}}
}

// Energy and engine time go to the intervals that a run lies in, in proportion.
func TestIntervalsByHand(t *testing.T) {
	c := threeCalls()
	r := run(t, &c)
	if r.Runs != 6 || r.Busy != 240 || r.BinTime != 50 || r.Energy != 240 {
		t.Errorf("%d runs, busy for %v, %v in intervals of %v", r.Runs, r.Busy, r.Energy, r.BinTime)
	}
	var want []traffic.Bin
	for range 3 { // 30 and 20 of 50, then the other 30
		want = append(want, traffic.Bin{Energy: 50, Busy: 50}, traffic.Bin{Energy: 30, Busy: 30})
	}
	if !slices.Equal(r.Bins, want) {
		t.Errorf("%+v, want %+v", r.Bins, want)
	}
	if want := []clock.Nanoseconds{50, 30, 50, 30, 50, 30}; !slices.Equal(r.Clients[0].Busy, want) {
		t.Errorf("%v, want %v", r.Clients[0].Busy, want)
	}
	c = threeCalls()
	c.Bins = 3 // each call in an interval of its own
	if r, want := run(t, &c), []traffic.Bin{{80, 80}, {80, 80}, {80, 80}}; !slices.Equal(r.Bins, want) {
		t.Errorf("%+v, want %+v", r.Bins, want)
	}
}

// Calls that take sizes in turn have the times, the energy and the host time of their size.
func TestTurnsByHand(t *testing.T) {
	c := threeCalls()
	c.Clients[0].Turns = []traffic.Work{
		{Runs: []clock.Nanoseconds{30, 50}, Energy: 80}, {Runs: []clock.Nanoseconds{10}, Energy: 7, Outside: 5},
	}
	var turns []int
	c.Observe = func(e traffic.Event) {
		if e.What == traffic.Arrived {
			turns = append(turns, e.Turn)
		}
	}
	r := run(t, &c)
	if r.Runs != 5 || r.Busy != 170 || r.Energy != 167 || !slices.Equal(turns, []int{0, 1, 0}) {
		t.Errorf("%d runs, busy for %v, %v, turns %v", r.Runs, r.Busy, r.Energy, turns)
	}
	if want := []clock.Nanoseconds{15, 80, 80}; !slices.Equal(r.Clients[0].Latencies, want) {
		t.Errorf("latencies %v; want %v in order of length", r.Clients[0].Latencies, want)
	}
	for what, w := range map[string]traffic.Work{"no runs": {}, "a negative time": {Runs: []clock.Nanoseconds{-1}}, "no time": {Runs: []clock.Nanoseconds{0}}} {
		c.Clients[0].Turns[1] = w
		if err := c.Check(); err == nil {
			t.Errorf("the second size has %s: no error", what)
		}
	}
}

// TestWakesByHand checks that a call after an idle gap waits for the domains, and that its
// runs start when they are up.
func TestWakesByHand(t *testing.T) {
	c := threeCalls()
	c.Power = firmware.PowerTimes{WakeGap: 10, WakeTime: 5, ColdGap: 1e9, ColdWake: 7, RailsOff: 10}
	type at struct {
		what traffic.What
		at   clock.Nanoseconds
		call int
	}
	var got []at
	c.Observe = func(e traffic.Event) {
		if e.What == traffic.Woke || e.What == traffic.Began || e.What == traffic.Ran {
			got = append(got, at{e.What, e.At, e.Call})
		}
	}
	r := run(t, &c)
	want := []at{
		{traffic.Began, 0, 0}, {traffic.Ran, 30, 0}, {traffic.Began, 30, 0}, {traffic.Ran, 80, 0},
		{traffic.Woke, 100, 1}, {traffic.Began, 105, 1}, {traffic.Ran, 135, 1}, {traffic.Began, 135, 1}, {traffic.Ran, 185, 1},
		{traffic.Woke, 200, 2}, {traffic.Began, 205, 2}, {traffic.Ran, 235, 2}, {traffic.Began, 235, 2}, {traffic.Ran, 285, 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v,\nwant %v", got, want)
	}
	if r.Wake != 10 {
		t.Errorf("wakes take %v, want 10", r.Wake)
	}
	if want := []clock.Nanoseconds{50, 30, 45, 35, 45, 35}; !slices.Equal(r.Clients[0].Busy, want) {
		t.Errorf("busy for %v, want %v", r.Clients[0].Busy, want)
	}
}

// The ranks of percentiles and of their intervals, of a hundred calls.
func TestPercentilesByHand(t *testing.T) {
	var c traffic.ClientResult
	for i := range 100 {
		c.Latencies = append(c.Latencies, clock.Nanoseconds(i+1))
	}
	for q, want := range map[float64]traffic.Percentile{
		0: {1, 1, 1}, 0.5: {50, 41, 61}, 0.9: {90, 85, 97}, 1: {100, 100, 100},
	} {
		if got := c.Percentile(q); got != want {
			t.Errorf("%v: %+v, want %+v", q, got, want)
		}
	}
	if r := (&traffic.Result{}); r.Utilisation() != 0 || r.Watts() != 0 {
		t.Errorf("no time at all: %v, %v W", r.Utilisation(), r.Watts())
	}
	if got := (&traffic.ConfigError{What: "wrong"}).Error(); got != "wrong" {
		t.Errorf("%q", got)
	}
	if got := (&traffic.ConfigError{Client: "a", What: "wrong"}).Error(); got != `client "a": wrong` {
		t.Errorf("%q", got)
	}
}

// TestLastInterval checks that events after the last possible interval are counted in it.
func TestLastInterval(t *testing.T) {
	c := traffic.Config{Duration: traffic.MaxBins, Bins: traffic.MaxBins, Clients: []traffic.Client{{
		Name: "a", Arrival: traffic.BackToBack, Runs: []clock.Nanoseconds{traffic.MaxBins - 2, 10, 5}, Energy: traffic.MaxBins + 13,
	}}}
	r := run(t, &c)
	if n := len(r.Bins); n != traffic.MaxBins {
		t.Fatalf("%d intervals", n)
	}
	for i, want := range map[int]clock.Nanoseconds{0: 1, traffic.MaxBins - 3: 1, traffic.MaxBins - 2: 1, traffic.MaxBins - 1: 9 + 5} {
		if got := r.Bins[i].Busy; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("interval %d is busy for %v, want %v", i, got, want)
		}
	}
}

// TestOrderAtOneTime checks that simultaneous events happen in the order in which they were
// caused, and clients in the order of their list.
func TestOrderAtOneTime(t *testing.T) {
	c := traffic.Config{Duration: 400, InFlight: 8}
	for range 5 {
		c.Clients = append(c.Clients, traffic.Client{Name: "a", Priority: 3, Arrival: traffic.Fixed, Rate: 1e7, Runs: []clock.Nanoseconds{20}})
	}
	var arrived, began []int
	c.Observe = func(e traffic.Event) {
		switch e.What {
		case traffic.Arrived:
			arrived = append(arrived, e.Client)
		case traffic.Began:
			began = append(began, e.Client)
		}
	}
	run(t, &c)
	want := []int{0, 1, 2, 3, 4}
	for k := range 4 {
		if got := arrived[5*k : 5*k+5]; !slices.Equal(got, want) {
			t.Errorf("round %d: clients arrive as %v", k, got)
		}
		if got := began[5*k : 5*k+5]; !slices.Equal(got, want) {
			t.Errorf("round %d: clients begin as %v", k, got)
		}
	}
}
