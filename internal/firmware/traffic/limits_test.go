package traffic_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
)

// A load at the limits of its numbers, and the first beyond.
func TestLoadLimits(t *testing.T) {
	client := func(change func(*traffic.Client)) traffic.Client {
		c := traffic.Client{Name: "a", Priority: 7, Arrival: traffic.BackToBack, Runs: []clock.Nanoseconds{10}}
		change(&c)
		return c
	}
	for _, tc := range []struct {
		name   string
		bins   int
		change func(*traffic.Client)
		err    string // "" for none
	}{
		{"as it is", 0, func(*traffic.Client) {}, ""},
		{"as many intervals as there may be", traffic.MaxBins, func(*traffic.Client) {}, ""},
		{"one more", traffic.MaxBins + 1, func(*traffic.Client) {}, "0 to 65536"},
		{"fewer than none", -1, func(*traffic.Client) {}, "intervals"},
		{"a priority too far", 0, func(c *traffic.Client) { c.Priority = 8 }, "priority 8 is out of range; want 0 to 7"},
		{"1024 threads and streams", 0, func(c *traffic.Client) { c.Threads, c.Streams = 1024, 1024 }, ""},
		{"a thread more", 0, func(c *traffic.Client) { c.Threads = 1025 }, "1024 of each"},
		{"a stream more", 0, func(c *traffic.Client) { c.Streams = 1025 }, "1024 of each"},
		{"a run of no length beside another", 0, func(c *traffic.Client) { c.Runs = []clock.Nanoseconds{0, 1} }, ""},
		{"runs of no length at all", 0, func(c *traffic.Client) { c.Runs = []clock.Nanoseconds{0} }, "call takes no time"},
		{"whose host takes some", 0, func(c *traffic.Client) { c.Runs, c.Host.After = []clock.Nanoseconds{0}, 1 }, ""},
		{"a negative run", 0, func(c *traffic.Client) { c.Runs = []clock.Nanoseconds{5, -1} }, "want 0 or more"},
		{"a run that is no number", 0, func(c *traffic.Client) { c.Runs = []clock.Nanoseconds{clock.Nanoseconds(math.NaN())} }, "want 0 or more"},
		{"a run without an end", 0, func(c *traffic.Client) { c.Runs = []clock.Nanoseconds{clock.Nanoseconds(math.Inf(1))} }, "infinite duration"},
		{"a host that takes less than no time", 0, func(c *traffic.Client) { c.Host.Before = -1 }, "host times are 0.0 ns, -1.0 ns and 0.0 ns; want 0 or more"},
		{"no rate", 0, func(c *traffic.Client) { c.Arrival = traffic.Fixed }, "rate is 0 calls per second; want more than 0"},
		{"a rate of a call a nanosecond", 0, func(c *traffic.Client) { c.Arrival, c.Rate = traffic.Fixed, 1e9 }, "less than 1e9"},
		{"following itself", 0, func(c *traffic.Client) { c.Arrival = traffic.After }, "After is 0; want the index of an earlier client"},
	} {
		c := traffic.Config{Duration: 1, Bins: tc.bins, Clients: []traffic.Client{client(tc.change)}}
		if err := c.Check(); tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
	}
	for _, d := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		c := traffic.Config{Duration: clock.Nanoseconds(d), Clients: []traffic.Client{client(func(*traffic.Client) {})}}
		if err := c.Check(); err == nil {
			t.Errorf("duration %v is accepted", d)
		}
	}
	if got := (&traffic.Host{Outside: 1, Before: 20, After: 300}).Total(); got != 321 {
		t.Errorf("the host's part is %v, want 321", got)
	}
}

// A duration in which too many calls would arrive is refused soon, however long it is, and one that is
// only a little too long is refused as well. With max_calls, arrivals stop there, and shares are of
// the time until then. Long idle spans cost nothing.
func TestTooManyCalls(t *testing.T) {
	back := traffic.Client{Name: "a", Arrival: traffic.BackToBack, Runs: []clock.Nanoseconds{10}}
	threads := back
	threads.Threads = 1024
	fast, rare := back, back
	fast.Arrival, fast.Rate = traffic.Poisson, 1e6
	rare.Arrival, rare.Rate = traffic.Fixed, 1e-3
	const month = 30 * 24 * 3600 * 1e9
	for _, tc := range []struct {
		name     string
		clients  []traffic.Client
		duration clock.Nanoseconds
		err      string // "" for none
	}{
		{"back to back", []traffic.Client{back}, month, "calls return every 10ns, for 720h0m0s; want at most 10 million"},
		{"1024 threads", []traffic.Client{threads}, clock.Longest, "want at most 10 million"},
		{"the longest duration", []traffic.Client{back}, clock.Longest, "calls return every 10ns, for 2500h0m0s"},
		{"a longer one", []traffic.Client{rare}, clock.Longest + 1, "want more than 0 and at most 9000000.000 s"},
		{"none that ends", []traffic.Client{rare}, clock.Nanoseconds(math.Inf(1)), "want more than 0 and at most"},
		{"random", []traffic.Client{fast}, month, "want at most 10 million"},
		{"a thousand an hour", []traffic.Client{rare}, month, ""},
	} {
		start := time.Now()
		r, err := traffic.Simulate(&traffic.Config{Clients: tc.clients, Duration: tc.duration, Bins: 60})
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: takes %v", tc.name, took)
		}
		var e *traffic.ConfigError
		switch {
		case tc.err != "" && (!errors.As(err, &e) || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%s: %v; want %s", tc.name, err, tc.err)
		case tc.err == "" && (err != nil || len(r.Clients[0].Latencies) != 2592):
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	r, err := traffic.Simulate(&traffic.Config{Clients: []traffic.Client{back}, Duration: month, MaxCalls: 1000, Bins: 60})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Cut || r.Time != 10e3 || r.Busy != 10e3 || r.Utilisation() != 1 {
		t.Errorf("cut %v after %v, busy %v, %g of the time; want 1,000 calls of 10 ns, one after the other", r.Cut, r.Time, r.Busy, r.Utilisation())
	}
}

// More calls than the default maximum are an error that comes when they are reached, where their number cannot
// be told before.
func TestDefaultMaximumOfCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: ten million calls take seconds")
	}
	_, err := traffic.Simulate(&traffic.Config{Duration: 100.1e6, Clients: []traffic.Client{{Name: "a", Arrival: traffic.BackToBack, Runs: []clock.Nanoseconds{10}}}})
	if want := "too many calls: more than that many arrive in the first 100ms, for 100.1ms"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}
