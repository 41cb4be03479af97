package load_test

import (
	"strings"
	"testing"

	"anesim/firmware/load"
	"anesim/hw/clock"
)

// A load at the limits of its numbers, and the first beyond.
func TestLoadLimits(t *testing.T) {
	client := func(change func(*load.Client)) load.Client {
		c := load.Client{Name: "a", Priority: 7, Arrival: load.BackToBack, Runs: []clock.Nanoseconds{10}}
		change(&c)
		return c
	}
	for _, tc := range []struct {
		name   string
		bins   int
		change func(*load.Client)
		err    string // "" for none
	}{
		{"as it is", 0, func(*load.Client) {}, ""},
		{"as many intervals as there may be", load.MaxBins, func(*load.Client) {}, ""},
		{"one more", load.MaxBins + 1, func(*load.Client) {}, "0 to 65536"},
		{"fewer than none", -1, func(*load.Client) {}, "intervals"},
		{"a priority too far", 0, func(c *load.Client) { c.Priority = 8 }, "priority 8 exceeds 7"},
		{"1024 threads and streams", 0, func(c *load.Client) { c.Threads, c.Streams = 1024, 1024 }, ""},
		{"a thread more", 0, func(c *load.Client) { c.Threads = 1025 }, "1024 of each"},
		{"a stream more", 0, func(c *load.Client) { c.Streams = 1025 }, "1024 of each"},
		{"a run of no length beside another", 0, func(c *load.Client) { c.Runs = []clock.Nanoseconds{0, 1} }, ""},
		{"runs of no length at all", 0, func(c *load.Client) { c.Runs = []clock.Nanoseconds{0} }, "takes no time"},
		{"whose host takes some", 0, func(c *load.Client) { c.Runs, c.Host.After = []clock.Nanoseconds{0}, 1 }, ""},
		{"a negative run", 0, func(c *load.Client) { c.Runs = []clock.Nanoseconds{5, -1} }, "negative length"},
		{"no rate", 0, func(c *load.Client) { c.Arrival = load.Fixed }, "rate above 0"},
		{"a rate of a call a nanosecond", 0, func(c *load.Client) { c.Arrival, c.Rate = load.Fixed, 1e9 }, "below 1e9"},
		{"following itself", 0, func(c *load.Client) { c.Arrival = load.After }, "is not before it"},
	} {
		c := load.Config{Duration: 1, Bins: tc.bins, Clients: []load.Client{client(tc.change)}}
		if err := c.Check(); tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
	}
	if got := (&load.Host{Outside: 1, Before: 20, After: 300}).Total(); got != 321 {
		t.Errorf("the host's part is %v, want 321", got)
	}
}
