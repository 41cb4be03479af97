package trace_test

import (
	"bytes"
	"math"
	"testing"

	"anesim/internal/firmware/traffic"
	"anesim/internal/report"
	"anesim/internal/report/trace"
	"anesim/internal/scripts"
)

const tracedLoad = `
duration: 20ms
clients:
  - {name: fast, layer: conv cin=64 h=56 w=56 cout=64 k=3 pad=same, priority: 1, arrival: poisson, rate: 3000}
  - {name: slow, layer: matmul m=128 k=768 n=768 rhs=runtime, priority: 5, threads: 3}
`

func runLoad(t *testing.T) *scripts.Load {
	t.Helper()
	s_, err := traffic.ReadScript([]byte(tracedLoad))
	if err != nil {
		t.Fatal(err)
	}
	l, err := scripts.RunClients(t.Context(), s_, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A load's trace has each call and each run once: the engine's slices sum to the time that it
// is busy, the calls' to their latencies, and no queue ends with a call in it.
func TestTraceOfALoad(t *testing.T) {
	l := runLoad(t)
	var b bytes.Buffer
	if err := trace.WriteLoad(&b, l); err != nil {
		t.Fatal(err)
	}
	slices, counters := readTrace(t, b.Bytes())
	d := report.NewLoad(l)
	var busy, runs, calls, latency uint64
	for _, s := range slices {
		switch {
		case s.track == "engine":
			busy, runs = busy+s.to-s.from, runs+1
		case s.depth == 0:
			calls, latency = calls+1, latency+s.to-s.from
		}
	}
	want, n := 0.0, uint64(0)
	for i := range d.Clients {
		want += float64(d.Clients[i].MeanNs) * float64(d.Clients[i].Calls)
		n += uint64(d.Clients[i].Calls)
	}
	if calls != n || runs != d.Runs {
		t.Errorf("%d calls and %d runs, the report has %d and %d", calls, runs, n, d.Runs)
	}
	if math.Abs(float64(busy)-float64(d.BusyNs)) > float64(runs) || math.Abs(float64(latency)-want) > float64(calls) {
		t.Errorf("busy for %d ns, the report has %.1f; latencies %d ns, the report has %.1f", busy, d.BusyNs, latency, want)
	}
	for _, name := range []string{"calls in queue 1", "calls in queue 5", "calls at the gate"} {
		if list := counters[name]; len(list) == 0 || list[len(list)-1] != 0 {
			t.Errorf("%s: %v", name, list)
		}
	}
	if n := len(counters["power"]); n != len(d.Timeline) {
		t.Errorf("%d values of power of %d intervals", n, len(d.Timeline))
	}
}
