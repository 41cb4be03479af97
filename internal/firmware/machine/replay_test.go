package machine

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anesim"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
	"anesim/internal/samples"
	"anesim/internal/scripts"
)

// TestRecordedLoadsReplay checks that the messages of a load can be replayed. Every call ends when
// the load says, to 0.01 ns, also if calls take the engine from each other, arrive at one time or are let
// in by the end of others.
func TestRecordedLoadsReplay(t *testing.T) {
	for _, tc := range []struct {
		host       string
		inFlight   int
		preemption queue.Preemption
	}{
		{"macos-air", 1, queue.PreemptRuns}, {"macos-guide-live", 1, queue.PreemptAbort}, {"linux-m1", 1, queue.PreemptNever}, {"none", 1, queue.PreemptRuns},
		{"macos-air", 3, queue.PreemptRuns}, {"linux", 3, queue.PreemptRuns},
		{"linux", 3, queue.PreemptNever}, {"none", 3, queue.PreemptAbort},
		{"none", 3, queue.PreemptRuns}, {"none", 2, queue.PreemptNever}, {"none", 2, queue.PreemptRuns}, {"macos-air", 4, queue.PreemptAbort},
		{"linux", 4, queue.PreemptAbort}, {"none", 6, queue.PreemptRuns}, {"linux", 8, queue.PreemptRuns}, {"none", 8, queue.PreemptNever},
	} {
		s := &traffic.Script{
			Chip: "m1", Host: tc.host, Duration: 10 * time.Millisecond, Seed: 4, InFlight: tc.inFlight, Preemption: tc.preemption, Events: traffic.MaxEvents,
			Clients: []traffic.ScriptClient{
				{Name: "camera", Layer: "softmax c=48 h=1 w=40", Priority: 2, Arrival: "poisson", Rate: 3000},
				{Name: "batch\nof three", Model: "observed.yaml", Priority: 6, Threads: 3},
				{Name: "often", Layer: "matmul m=64 k=256 n=256", Priority: 4, Arrival: "poisson", Rate: 20000},
				{Name: "clock", Layer: "softmax c=64 h=8 w=8", Priority: 5, Arrival: "fixed", Rate: 7000},
				{Name: "urgent", Layer: "conv cin=64 h=28 w=28 cout=64 k=3 pad=1", Priority: 3, Arrival: "poisson", Rate: 5000},
			},
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "observed.yaml"), []byte(samples.Observed), 0o666); err != nil {
			t.Fatal(err)
		}
		open := func(name string) (*anesim.Model, error) { return anesim.Open(filepath.Join(dir, name)) }
		l, err := scripts.RunClients(t.Context(), s, func(c *traffic.ScriptClient) (*anesim.Model, error) { return open(c.Model) })
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := l.WriteMachineScript(&text, func(c *traffic.ScriptClient) string {
			if c.Layer != "" {
				return "layer " + c.Layer
			}
			return "file " + c.Model
		}); err != nil {
			t.Fatal(err)
		}
		x, err := ReadScript([]byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		var ends []clock.Nanoseconds
		var out strings.Builder
		p := &player{w: &out, models: scripts.Models{Open: open}, clients: map[string]*scriptClient{}, buffers: map[string]uint64{}, notified: map[string]int{}}
		for _, line := range x.lines {
			if p.machine == nil && line.words[0] != "option" {
				if err := p.startMachine(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.machine.Observe = func(e queue.Event) {
					if e.Kind == queue.Finished {
						ends = append(ends, e.At)
					}
				}
			}
			if err := scriptSteps[line.words[0]].play(p, line.words[1:]); err != nil {
				t.Fatalf("%v: %v", line.words, err)
			}
		}
		last := make(map[[2]int]clock.Nanoseconds) // end of the last run, by client and call
		for _, e := range l.Events {
			if e.What == traffic.Ran {
				last[[2]int{e.Client, e.Call}] = e.At
			}
		}
		want := slices.Sorted(maps.Values(last))
		if len(ends) != len(want) || len(ends) < 20 {
			t.Fatalf("%d calls end, in the load %d", len(ends), len(want))
		}
		worst := 0.0
		for i := range ends {
			worst = max(worst, math.Abs(float64(ends[i]-want[i])))
		}
		t.Logf("%+v: %d calls, at most %.3f ns apart", tc, len(ends), worst)
		if worst > 0.01 {
			t.Errorf("%+v: calls end up to %.3f ns apart", tc, worst)
		}
	}
}
