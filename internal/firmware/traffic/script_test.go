package traffic_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
	"anesim/internal/report"
	"anesim/internal/scripts"
	"anesim/loader/lower"
)

func noFile(*traffic.ScriptClient) (*anesim.Model, error) { return nil, os.ErrNotExist }

func runLoad(t *testing.T, text string) *scripts.Load {
	t.Helper()
	s, err := traffic.ReadScript([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := scripts.RunClients(context.Background(), s, noFile)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTwoThreadsUnderLoad checks that two threads finish 1.04 times the work of one, on every
// host that copies little.
func TestTwoThreadsUnderLoad(t *testing.T) {
	for _, host := range []string{"linux", "macos-air", "macos-max", "macos-guide"} {
		calls := func(threads string) float64 {
			l := runLoad(t, "host: "+host+"\nduration: 2s\nclients: [{layer: add c=64, threads: "+threads+"}]")
			return float64(len(l.Result.Clients[0].Latencies))
		}
		if got := calls("2") / calls("1"); math.Abs(got-1.04) > 0.01 {
			t.Errorf("%s: two threads get %.3f times done what one does", host, got)
		}
	}
}

// TestLoadOfOneCallIsARun checks that a call with the engine to itself takes the wall time of
// a run.
func TestLoadOfOneCallIsARun(t *testing.T) {
	const words = "conv cin=16 h=8 w=8 cout=16 k=3 pad=same"
	l := runLoad(t, "host: macos-air\nduration: 1s\nclients: [{layer: "+words+", arrival: fixed, rate: 2}]")
	f := strings.Fields(words)
	m, err := anesim.Layer(f[0], f[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	h, _ := engine.HostByName("macos-air")
	res, err := m.Run(context.Background(), anesim.Options{Host: h, Repeat: 2, Idle: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %v, a run has %v", what, got, want)
		}
	}
	wake := res.Programs[0].Dispatches[1].Wake
	near("latency", float64(l.Result.Clients[0].Percentile(1).Value), float64(res.Report.Time/2+res.Programs[0].Host+wake))
	near("busy", float64(l.Result.Busy), float64(res.Report.Time))
	near("energy", float64(l.Result.Energy), float64(res.Report.Energy))
	if len(l.Config.Clients[0].Runs) == 0 || l.Config.Clients[0].Works()[0].EngineTime() != res.Report.Time/2 {
		t.Errorf("runs %v", l.Config.Clients[0].Runs)
	}
}

// With two commands in flight an urgent call waits for one run of the other at most.
func TestUrgentClientUnderLoad(t *testing.T) {
	const text = `
duration: 50ms
in_flight: 4
clients:
  - {name: bulk, layer: softmax c=512 w=64, priority: 7, threads: 2}
  - {name: urgent, layer: add c=64, priority: 0, arrival: poisson, rate: 2000}
`
	l := runLoad(t, text)
	longest := clock.Nanoseconds(0)
	for _, r := range l.Config.Clients[0].Runs {
		longest = max(longest, r)
	}
	urgent, alone := &l.Result.Clients[1], l.Config.Clients[1].Works()[0].EngineTime()
	if n := len(urgent.Latencies); n < 50 {
		t.Fatalf("%d calls", n)
	}
	// Two urgent calls may meet: the second waits for the first.
	if p := urgent.Percentile(0.9).Value; p > alone+longest+l.Result.Wake || p <= alone {
		t.Errorf("nine of ten urgent calls took up to %v; alone one takes %v, the longest run %v", p, alone, longest)
	}
	if d := cmp.Diff(report.NewLoad(l), report.NewLoad(runLoad(t, text))); d != "" {
		t.Error(d)
	}
}

// A client that reads where another writes saves the copies of both, and calls when it
// returns.
func TestPipelineUnderLoad(t *testing.T) {
	const text = "host: macos-air\nduration: 100ms\nclients:\n- {name: a, layer: relu c=32 h=56 w=56, arrival: fixed, rate: 100}\n- {name: b, layer: sigmoid c=32 h=56 w=56, after: a%s}"
	apart, joined := runLoad(t, fmt.Sprintf(text, "")), runLoad(t, fmt.Sprintf(text, ", reads: {x: y}"))
	const tensor = 2 * 32 * 56 * 56
	for i := range 2 {
		a, b := &apart.Result.Clients[i], &joined.Result.Clients[i]
		if len(a.Latencies) != 10 || len(b.Latencies) != 10 {
			t.Errorf("%s: %d and %d calls", a.Name, len(a.Latencies), len(b.Latencies))
		}
		if apart.Saved[i] != 0 || joined.Saved[i] != tensor {
			t.Errorf("%s saves %d and %d bytes a call", a.Name, apart.Saved[i], joined.Saved[i])
		}
		// 96 and 197 us a megabyte.
		less := apart.Config.Clients[i].Host.Total() - joined.Config.Clients[i].Host.Total()
		rate := joined.Options.Host.Out.Value
		if i == 1 {
			rate = joined.Options.Host.In.Value
		}
		if want := 1e3 * rate * tensor / 1e6; math.Abs(float64(less)-want) > 1e-6*want {
			t.Errorf("%s: the host takes %v less, want %v ns", a.Name, less, want)
		}
		if b.Percentile(1).Value >= a.Percentile(1).Value {
			t.Errorf("%s: a call takes %v, with copies %v", a.Name, b.Percentile(1).Value, a.Percentile(1).Value)
		}
	}
	if d := report.NewLoad(joined); d.Clients[1].After != "a" || d.Clients[1].SavedBytes != 10*tensor || d.Clients[0].SavedBytes != 10*tensor {
		t.Errorf("%+v", d.Clients)
	}
	for tail, want := range map[string]string{
		", reads: {x: q}":                  `line 5: client "b": port q: program has no such output`,
		", reads: {q: y}":                  `line 5: client "b": port q`,
		", reads: 3":                       `line 5: malformed "reads"; want a mapping from inputs to outputs`,
		", reads: {}":                      `line 5: malformed "reads"; want a mapping from inputs to outputs`,
		", arrival: [poisson]":             `line 5: invalid value for "arrival"; want a string or a number`,
		", rate: 3":                        `line 5: client "b": "after" and "rate" are mutually exclusive`,
		", arrival: fixed":                 `line 5: client "b": "after" and "arrival"`,
		", reads: {x: y}, after: b":        "line 5: ",
		"}\n- {layer: relu, after: bb":     `line 6: client "client 3": unknown client "bb" in "after"; want an earlier client; did you mean b?`,
		"}\n- {layer: relu, reads: {x: y}": `line 6: client "client 3": "reads" requires "after"`,
	} {
		s, err := traffic.ReadScript([]byte(fmt.Sprintf(text, tail)))
		if err == nil {
			_, err = scripts.RunClients(t.Context(), s, noFile)
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", tail, err, want)
		}
	}
}

func TestLoadRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"": `line 1: script is empty; want a mapping with "duration" and "clients"`,
		"duration: 2500h1ns\nclients: [{layer: relu}]":                         "line 1: duration 2500h0m0.000000001s is too long; want at most 2500h0m0s",
		"duration: 1s\nclients: [{layer: relu, bind: {k: 3}}]":                 `line 2: client "client 1": "bind" requires "model"`,
		"duration: 1s\nclients: [{model: m, bind: k}]":                         `line 2: malformed "bind"; want a mapping from run-time parameters to values, such as {k: [32, 64]}`,
		"duration: 1s\nclients: [{model: m, bind: {k: []}}]":                   `line 2: parameter "k" has 0 values; want 1 to 1024`,
		"duration: 1s\nclients: [{model: m, bind: {k: [3, x]}}]":               `line 2: invalid value "x" of parameter "k"; want a number`,
		"duration: 1s\nclients: [{model: m, bind: {k: -3}}]":                   `line 2: invalid value "-3" of parameter "k"; want a number`,
		"duration: 1s\nclients: [{model: m, bind: {k: [1, 2], n: [1, 2, 3]}}]": `line 2: parameter "k" has 2 values; want 1 or 3, as many as the others`,
		"[1]":                                                                 "line 1: invalid value for the script; want a mapping",
		"duration: 1s":                                                        `line 1: missing "clients"`,
		"clients: [{layer: relu}]":                                            `line 1: missing "duration"`,
		"duration: 1s\nclients: []":                                           `line 2: malformed "clients"; want a list of at least one client`,
		"duration: 1s\n\nclient: 3":                                           `line 3: unknown key "client" in the script; want chip, clients, duration, host, in_flight, max_calls, power, preemption, seed; did you mean clients?`,
		"duration: 1s\npower: hysteresis=x":                                   `line 2: power setting "hysteresis=x": invalid duration "x"; want a positive duration such as 50ms`,
		"duration: -1s\nclients: [{layer: x}]":                                `line 1: invalid duration "-1s"; want a positive duration such as 500ms`,
		"duration: 1s\nhost: macos-ai":                                        `line 2: unknown value "macos-ai"; want one of none, linux, linux-m1, macos-air, macos-mbp, macos-max, macos-max-b, macos-guide, macos-guide-live, iphone12-coreml, iphone12-ios15; did you mean macos-air or macos-max?`,
		"duration: 1s\nduration: 1s":                                          "line 2: ",
		"duration: 1s\nclients:\n- {name: a}":                                 `line 3: client "a": exactly one of "model" and "layer" is required`,
		"duration: 1s\nclients:\n- {layer: relu, priority: 8}":                `line 3: invalid number "8"; want 0 to 7`,
		"duration: 1s\nclients:\n- {layer: relu, arrival: poisson}":           `line 3: client "client 1": arrival "poisson" requires "rate"`,
		"duration: 1s\nclients:\n- {layer: relu, rate: 3}":                    `line 3: client "client 1": "rate" requires arrival "fixed" or "poisson"`,
		"duration: 1s\nclients:\n- {layer: relu, rate: .inf, arrival: fixed}": `line 3: invalid rate ".inf"; want a positive number`,
	} {
		_, err := traffic.ReadScript([]byte(text))
		var e *traffic.ScriptError
		if !errors.As(err, &e) || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"layer: nope c=1":              `line 2: client "client 1": unknown operation "nope"`,
		"layer: relu q=1":              `line 2: client "client 1": relu: q: unknown key`,
		"model: gone.hwx":              `line 2: client "client 1": file does not exist`,
		"layer: relu c=8, max_calls: ": `line 2: unknown key "max_calls"`,
	} {
		s, err := traffic.ReadScript([]byte("duration: 1ms\nclients: [{" + text + "}]"))
		if err == nil {
			_, err = scripts.RunClients(context.Background(), s, noFile)
		}
		var e *traffic.ScriptError
		if !errors.As(err, &e) || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadScript(f *testing.F) {
	files, _ := filepath.Glob("../../../tools/anesim/examples/*.yaml")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := traffic.ReadScript(data)
		if err != nil {
			var e *traffic.ScriptError
			if !errors.As(err, &e) || e.Line < 1 || strings.Contains(e.Error(), "\n") {
				t.Errorf("%#v", err)
			}
			return
		}
		if s.Duration <= 0 || len(s.Clients) == 0 || len(s.Clients) > 1<<10 {
			t.Errorf("%+v", s)
		}
	})
}

// TestClientsOfOtherSizes: clients of one network with other sizes of its dimensions do not
// share a result.
func TestClientsOfOtherSizes(t *testing.T) {
	s := &traffic.Script{Duration: time.Millisecond, Clients: []traffic.ScriptClient{
		{Name: "a", Model: "net", Dim: "batch=1"}, {Name: "b", Model: "net", Dim: "batch=8"}, {Name: "c", Model: "net", Dim: "batch=1"},
	}}
	var tried []string
	_, err := s.Run(t.Context(), func(ctx context.Context, c *traffic.ScriptClient, o engine.Options) (*engine.Result, error) {
		tried = append(tried, c.Dim)
		p, err := lower.ExampleProgram("identity")
		if err != nil {
			return nil, err
		}
		e, err := engine.New(o)
		if err != nil {
			return nil, err
		}
		l, err := e.Load(p)
		if err != nil {
			return nil, err
		}
		return l.Call(ctx)
	})
	if err != nil || !slices.Equal(tried, []string{"batch=1", "batch=8"}) {
		t.Errorf("ran with %q: %v", tried, err)
	}
}
