package traffic_test

import (
	"errors"
	"strings"
	"testing"

	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
	"anesim/internal/scripts"
)

// mostInFlight returns the largest number of calls of each client that were past the gate at a time.
func mostInFlight(t *testing.T, c *traffic.Config) []int {
	t.Helper()
	now, most := make([]int, len(c.Clients)), make([]int, len(c.Clients))
	c.Observe = func(e traffic.Event) {
		switch e.What {
		case traffic.Admitted:
			now[e.Client]++
			most[e.Client] = max(most[e.Client], now[e.Client])
		case traffic.Left:
			now[e.Client]--
		}
	}
	run(t, c)
	return most
}

// The broker lets a client have as many calls in flight as its depth, but one while another client has
// a call pending. Clients that do not ask the broker are not counted.
func TestDepthUnderContention(t *testing.T) {
	client := func(name string, p queue.Priority, brokered bool, depth int) traffic.Client {
		return traffic.Client{Name: name, Priority: p, Arrival: traffic.BackToBack, Threads: 8, Brokered: brokered, Depth: depth, Runs: []clock.Nanoseconds{100}, Host: traffic.Host{Outside: 5, Before: 10, After: 10}}
	}
	for _, tc := range []struct {
		clients []traffic.Client
		want    []int
	}{
		{[]traffic.Client{client("a", 3, true, 4), client("b", 3, true, 4)}, []int{1, 1}},
		{[]traffic.Client{client("a", 2, true, 4), client("b", 6, true, 4)}, []int{1, 1}},
		{[]traffic.Client{client("a", 3, true, 3)}, []int{3}},
		{[]traffic.Client{client("a", 3, true, 0)}, []int{4}},
		{[]traffic.Client{client("a", 3, true, 2), client("b", 3, false, 0)}, []int{2, 8}},
	} {
		c := traffic.Config{Duration: 20_000, InFlight: 16, Clients: tc.clients}
		for i, got := range mostInFlight(t, &c) {
			if got != tc.want[i] {
				t.Errorf("client %s of depth %d among %d: %d calls in flight, want %d", tc.clients[i].Name, tc.clients[i].Depth, len(tc.clients), got, tc.want[i])
			}
		}
	}
	c := traffic.Config{Duration: 1, Clients: []traffic.Client{client("a", 3, false, 2)}}
	var e *traffic.ConfigError
	if _, err := traffic.Simulate(&c); !errors.As(err, &e) {
		t.Errorf("a depth without a broker: %v", err)
	}
}

// Three adapters of one model cost the model once and their own weights.
func TestMemoryOfAdapters(t *testing.T) {
	memory := func(clients string) traffic.Memory {
		t.Helper()
		s, err := traffic.ReadScript([]byte("duration: 1ms\nclients:\n" + clients))
		if err != nil {
			t.Fatal(err)
		}
		l, err := scripts.RunClients(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l.Memory
	}
	const base = "  - {name: base, layer: conv cin=16 h=8 w=8 cout=16 k=3 pad=same, qos: utility}\n"
	alone := memory(base)
	if alone.Models != 1 || alone.Adapters != 0 || alone.Bytes == 0 || alone.Wired != 0 {
		t.Errorf("the base alone: %+v", alone)
	}
	three := memory(base + "  - {name: a, adapter_of: base, bytes: 1000}\n  - {name: b, adapter_of: base, bytes: 20000}\n  - {name: c, adapter_of: base, bytes: 300, keep_wired: true}\n")
	if want := (traffic.Memory{Models: 1, Adapters: 3, Bytes: alone.Bytes + 21_300, Wired: alone.Bytes}); three != want {
		t.Errorf("with three adapters: %+v, want %+v", three, want)
	}
	if two := memory(base + base); two.Bytes != alone.Bytes || two.Models != 1 {
		t.Errorf("two clients of one model: %+v", two)
	}
	if none := memory("  - {layer: add c=4}\n"); none != (traffic.Memory{}) {
		t.Errorf("no client asks the broker: %+v", none)
	}
}

// A class of service gives the priority; what does not fit together is refused with its line.
func TestBrokeredClients(t *testing.T) {
	s, err := traffic.ReadScript([]byte("duration: 1ms\nclients: [{name: a, layer: add c=4, qos: 33}, {name: b, layer: add c=4, qos: background, queue_depth: 2}]"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := scripts.RunClients(t.Context(), s, nil)
	if err != nil || l.Config.Clients[0].Priority != 2 || l.Config.Clients[1].Priority != 7 || l.Config.Clients[1].Depth != 2 {
		t.Errorf("%+v: %v", l.Config.Clients, err)
	}
	for text, want := range map[string]string{
		"{layer: add c=4, qos: urgent}":                `line 3: unknown value "urgent"; want one of realtime, interactive, initiated, default, utility, background, or 33, 25, 21, 17, 9`,
		"{layer: add c=4, qos: default, priority: 2}":  `"qos" and "priority" are mutually exclusive`,
		"{layer: add c=4, queue_depth: 0}":             `line 3: invalid number "0"; want 1 to 1024`,
		"{layer: add c=4, keep_wired: maybe}":          `line 3: invalid value "maybe"; want true or false`,
		"{layer: add c=4, bytes: 3}":                   `"adapter_of" and "bytes", the size of the adapter's weights, require each other`,
		"{adapter_of: base}":                           `"adapter_of" and "bytes", the size of the adapter's weights, require each other`,
		"{adapter_of: bass, bytes: 3}":                 `unknown client "bass" in "adapter_of"; want an earlier client; did you mean base?`,
		"{adapter_of: base, bytes: 3, layer: add c=4}": `a client with "adapter_of" has the model of that client`,
	} {
		_, err := traffic.ReadScript([]byte("duration: 1ms\nclients: [{name: base, layer: add c=4},\n" + text + "]"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
