package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/report"
)

func exampleLoad(name string) string { return filepath.Join("..", "..", "examples", name) }

// The examples run, their tables have a row a client, and what load prints is determined.
func TestLoadExamples(t *testing.T) {
	for name, clients := range map[string][]string{
		"load.yaml":                  {"camera", "speech", "photos"},
		"documents/two-threads.yaml": {"two"},
	} {
		out, errs, code := invoke("load", exampleLoad(name))
		if code != exitDone || !strings.Contains(out, "utilization") {
			t.Fatalf("%s: exit %d: %s%s", name, code, out, errs)
		}
		for _, c := range clients {
			if !strings.Contains(out, "\n"+c+" ") {
				t.Errorf("%s has no row of %s:\n%s", name, c, out)
			}
		}
		if again, _, _ := invoke("load", exampleLoad(name)); again != out {
			t.Errorf("%s: the second run prints something else", name)
		}
	}
}

// A second stream is reported and does not hang; the intervals' energy is all there is.
func TestLoadDocument(t *testing.T) {
	script := writeFile(t, "s.yaml", []byte("duration: 10ms\nhost: linux\nclients: [{name: a, layer: add c=8, streams: 2}]"))
	out, errs, code := invoke("load", script)
	if code != exitDone || !strings.Contains(out, "client a: 1 call never completed") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	out, _, _ = invoke("load", script, "--json")
	var d report.Load
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, b := range d.Timeline {
		sum += float64(b.EnergyNJ)
	}
	if all := float64(d.EnergyNJ + d.WaitNJ); sum < all*(1-1e-9) || sum > all*(1+1e-9) || all == 0 {
		t.Errorf("the timeline has %v nJ of %v", sum, all)
	}
}

// The timeline, the events and the trace are of the same calls.
func TestLoadTimeline(t *testing.T) {
	script := writeFile(t, "s.yaml", []byte("duration: 10ms\nhost: linux\nclients:\n- {name: a, layer: add c=8}\n- {name: b, layer: conv cin=64 cout=64 h=28 w=28 k=3 pad=same, arrival: fixed, rate: 500}"))
	trace := filepath.Join(t.TempDir(), "load.trace")
	out, errs, code := invoke("load", script, "--events", "9", "--trace", trace)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{"\ntimeline, 167 us per column: each client's share of the engine, and its power as a share of the highest (. below 5%, 1 is 10%, 9 is 90%, # is 100%)", "\nwrote " + trace + "\n", "\na     |", "\nb     |", "\npower |", "a          1  arrives", "let in", "run 1", "host, each call: binding and copies"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _, _ = strings.Cut(out, "wrote "+trace)
	_, events, _ := strings.Cut(out, "event")
	if n := strings.Count(events, "\n") - 1; n != 9 {
		t.Errorf("%d events:\n%s", n, out)
	}
	if info, err := os.Stat(trace); err != nil || info.Size() < 500 {
		t.Errorf("a trace of %v: %v", info, err)
	}
	out, _, _ = invoke("load", script, "--json")
	var d report.Load
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	for i, b := range d.Timeline {
		if b.Clients == nil {
			continue
		}
		if sum := b.Clients[0] + b.Clients[1]; len(b.Clients) != 2 || sum < b.Utilisation-1e-9 || sum > b.Utilisation+1e-9 {
			t.Errorf("interval %d: clients %v of %v", i, b.Clients, b.Utilisation)
		}
	}
	sum := 0.0
	for _, s := range d.HostStages {
		sum += float64(s.TimeNs)
	}
	if floor := float64(d.HostSplit.BesideNs + d.HostSplit.BeforeNs + d.HostSplit.AfterNs); sum < floor*(1-1e-9) || sum > floor*(1+1e-9) {
		t.Errorf("stages of %v ns, a floor of %v", sum, floor)
	}
	if _, errs, code := invoke("load", script, "--events", "-1"); code != exitUsage {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A run with a host says what its floor is made of.
func TestRunShowsTheStages(t *testing.T) {
	out, _, _ := invoke("run", "--host", "macos-air", "--repeat", "3")
	if !strings.Contains(out, "\nhost, each call: binding and copies 23.8 us, request") || !strings.Contains(out, "about 6 interrupts") {
		t.Error(out)
	}
	out, _, _ = invoke("run", "--host", "macos-air", "--repeat", "3", "--json")
	var d report.Run
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	h := d.Total.HostParts
	sum := float64(h.DataNs)
	for _, s := range h.Stages {
		sum += float64(h.Dispatches) * float64(s.TimeNs)
	}
	if host := float64(d.Total.WallNs - d.Total.TimeNs - d.Total.IdleNs - d.Total.WakeNs); h.Dispatches != 3 || sum < host*(1-1e-9) || sum > host*(1+1e-9) {
		t.Errorf("%d dispatches, %v ns of %v", h.Dispatches, sum, host)
	}
}

// Paper prints what is asked for alone.
func TestPaperAreas(t *testing.T) {
	out, errs, code := invoke("paper", "state", "sharing")
	if code != exitDone || !strings.Contains(out, "resident accumulator, call 4") || strings.Contains(out, "enumerations") || !strings.Contains(out, "two submitting threads") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if out, _, _ = invoke("paper", "--differs"); strings.Contains(out, "agrees") || !strings.Contains(out, "sum of the stages") {
		t.Error(out)
	}
	if _, errs, code = invoke("paper", "latncy"); code != exitUsage || !strings.Contains(errs, "did you mean latency?") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestLoadErrors(t *testing.T) {
	bad := writeFile(t, "bad.yaml", []byte("duration: 1s\nclients:\n  - {layer: relu c=1, prio: 3}"))
	missing := writeFile(t, "missing.yaml", []byte("duration: 1s\nclients:\n  - {model: gone.hwx}"))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"load"}, exitUsage, "found 0 files; want one"},
		{[]string{"load", bad}, exitFailed, `bad.yaml: line 3: unknown key "prio"`},
		{[]string{"load", missing}, exitFailed, "gone.hwx"},
	} {
		if _, errs, code := invoke(c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s", c.args, code, errs)
		}
	}
}

// A load that is recorded lists the same events as one that is not.
func TestRecordedLoadHasItsEvents(t *testing.T) {
	script := writeFile(t, "load.yaml", []byte("duration: 10ms\nclients: [{name: a, layer: relu c=4, arrival: fixed, rate: 5000}]\n"))
	for _, n := range []string{"1", "17", "100", "100000"} {
		plain, _, code := invoke("load", script, "--json", "--events", n)
		recorded, errs, _ := invoke("load", script, "--json", "--events", n, "--record", filepath.Join(t.TempDir(), "load.fw"))
		if code != 0 || recorded != plain {
			t.Errorf("--events %s: %d bytes, recorded %d: %s", n, len(plain), len(recorded), errs)
		}
	}
}

// TestLoadAborts checks that preemption: abort lets an urgent call stop a convolution, unless one of
// its descriptors has DisallowAbort, and that its report has the cost of the stops.
func TestLoadAborts(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	must := func(args ...string) string {
		t.Helper()
		out, errs, code := invoke(args...)
		if code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, errs)
		}
		return out
	}
	must("layer", "conv", "cin=128", "h=64", "w=64", "cout=128", "k=7", "pad=3", "--timing-only", "--emit", file("conv.hwx"))
	text := must("dump", file("conv.hwx"), "--text")
	fixed := strings.Replace(text, "TSR TSE DstLoc", "DisallowAbort TSR TSE DstLoc", 1)
	if fixed == text {
		t.Fatal("the text has no descriptor that ends a run")
	}
	if err := os.WriteFile(file("fixed.td"), []byte(fixed), 0o666); err != nil {
		t.Fatal(err)
	}
	must("asm", file("fixed.td"), "-o", file("fixed.hwx"))
	// Played by fw, the request of priority 0 gets the engine when the other one has ended.
	example, err := os.ReadFile(exampleLoad("abort.fw"))
	if err != nil {
		t.Fatal(err)
	}
	layer := "layer conv cin=128 h=64 w=64 cout=128 k=7 pad=3"
	for model, stops := range map[string]int{layer: 1, "file " + file("fixed.hwx"): 0} {
		out := must("fw", writeFile(t, "abort.fw", []byte(strings.Replace(string(example), layer, model, 1))))
		if n := strings.Count(out, "run stopped"); n != stops {
			t.Errorf("%s: %d runs are stopped, want %d\n%s", model, n, stops, out)
		}
	}
	load := func(preemption, model string, inFlight int) (d report.Load) {
		t.Helper()
		script := fmt.Sprintf(`duration: 600us
in_flight: %d
preemption: %s
clients:
  - {name: bulk, model: %s, priority: 7}
  - {name: urgent, layer: add c=4, priority: 0, arrival: fixed, rate: 10000}
`, inFlight, preemption, model)
		if err := os.WriteFile(file("s.yaml"), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(must("load", file("s.yaml"), "--json")), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	worst := func(d report.Load) float64 {
		return float64(d.Clients[1].Latency[len(d.Clients[1].Latency)-1].LatencyNs)
	}
	d := load("abort", "conv.hwx", 2)
	alone := float64(d.Clients[1].Alone.LatencyNs)
	if d.LostNs < 490e3 || d.LostNs > 500e3 || d.LostNJ <= 0 || worst(d) > alone*(1+1e-9) {
		t.Errorf("%v and %v lost, an urgent call takes up to %v ns, alone %v", d.LostNs, d.LostNJ, worst(d), alone)
	}
	if useful := float64(d.Clients[0].Calls)*float64(d.Clients[0].Alone.EngineNs) + float64(d.Clients[1].Calls)*alone; math.Abs(float64(d.BusyNs-d.LostNs)-useful) > 1 {
		t.Errorf("busy for %v, of which %v are lost and %v ns useful", d.BusyNs, d.LostNs, useful)
	}
	out := must("load", file("s.yaml"))
	for _, want := range []string{", 2 commands in flight, preemption abort\n", "\npreemption: 6 runs stopped in vain, which cost ", "\nclient bulk: 6 runs stopped, ", "\nmean wait in the task queue: priority 0 0 ns, at most 0 ns; priority 7 "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, tc := range []struct{ preemption, model string }{{"abort", "fixed.hwx"}, {"run", "conv.hwx"}, {"none", "conv.hwx"}} {
		if d := load(tc.preemption, tc.model, 2); d.LostNs != 0 || d.Stops != 0 || worst(d) < 400e3 {
			t.Errorf("%v: %v lost, an urgent call takes at most %v ns", tc, d.LostNs, worst(d))
		}
	}
	// With one command in flight, no kind of preemption has anything to preempt.
	if a, b := load("abort", "conv.hwx", 1), load("none", "conv.hwx", 1); worst(a) != worst(b) || a.Stops != 0 {
		t.Errorf("with one command in flight: %v and %v ns, %d stops", worst(a), worst(b), a.Stops)
	}
	if _, errs, code := invoke("load", writeFile(t, "bad.yaml", []byte("preemption: abrot\nduration: 1s\nclients: [{layer: add c=4}]"))); code == exitDone || !strings.Contains(errs, `line 1: unknown value "abrot"; want one of none, run, abort; did you mean abort?`) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A load says what its energy leaves out when calls take the engine from each other between runs, and
// says nothing if none does.
func TestLoadOfSwitchesIsNoted(t *testing.T) {
	model, err := filepath.Abs(exampleLoad("observed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for inFlight, noted := range map[int]bool{1: false, 3: true} {
		script := writeFile(t, "load.yaml", fmt.Appendf(nil, "duration: 1ms\nin_flight: %d\nclients:\n- {layer: softmax c=48 h=1 w=40, priority: 1, arrival: poisson, rate: 100000}\n- {model: %q, priority: 2, arrival: poisson, rate: 20000}\n", inFlight, model))
		out, errs, code := invoke("load", script)
		if code != exitDone || strings.Contains(strings.Join(strings.Fields(out), " "), "The energy of that, and of what they fetch again, is not counted") != noted {
			t.Errorf("in_flight %d: exit %d: %s%s", inFlight, code, out, errs)
		}
		var d report.Load
		out, _, _ = invoke("load", script, "--json")
		if err := json.Unmarshal([]byte(out), &d); err != nil || (d.StoredNs > 0) != noted || d.StoredNs > d.BusyNs {
			t.Errorf("in_flight %d: %v of %v stored, %v", inFlight, d.StoredNs, d.BusyNs, err)
		}
	}
}
