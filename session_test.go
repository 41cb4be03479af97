package anesim_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/material"
	"anesim/internal/network/onnxtest"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/loader/lower"
	"anesim/loader/network"
)

func fp16(values ...float32) []half {
	var h []half
	for _, v := range values {
		h = append(h, float16.Fromfloat32(v))
	}
	return h
}

// loadLayer loads a layer into a session.
func loadLayer(t *testing.T, s *anesim.Session, op string, keys ...string) *anesim.Loaded {
	t.Helper()
	m, err := anesim.Layer(op, keys...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Load(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func values(t *testing.T) *anesim.Session {
	t.Helper()
	s, err := anesim.NewSession(anesim.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(t *testing.T, l *anesim.Loaded) *anesim.Result {
	t.Helper()
	res, err := l.Call(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The accumulator returns 1, 2, 3, 4; an input that is rewritten changes the step.
func TestAccumulator(t *testing.T) {
	l := loadLayer(t, values(t), "add", "c=4")
	if err := l.Alias("y", "z"); err != nil {
		t.Fatal(err)
	}
	if err := l.Set("x", fp16(1, 1, 1, 1)); err != nil {
		t.Fatal(err)
	}
	sum := float32(0)
	for n := range 6 {
		step := float32(1)
		if n >= 4 {
			step = 10
			if err := l.Set("x", fp16(10, 10, 10, 10)); err != nil {
				t.Fatal(err)
			}
		}
		sum += step
		if got := call(t, l).Outputs[0].Data; !slices.Equal(got, fp16(sum, sum, sum, sum)) {
			t.Errorf("call %d: %v", n+1, got)
		}
	}
	if err := l.Set("z", fp16(100, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if got := call(t, l).Outputs[0].Data; !slices.Equal(got, fp16(110, 10, 10, 10)) {
		t.Errorf("after the state was set: %v", got)
	}
}

// One run with state is as many calls of a session, and says what state saves.
func TestRunWithState(t *testing.T) {
	m, err := anesim.Layer("add", "c=4")
	if err != nil {
		t.Fatal(err)
	}
	o := anesim.Options{
		Values: true, Repeat: 4, State: []anesim.StateAlias{{Output: "y", Input: "z"}}, Inputs: map[string][]half{"x": fp16(1, 1, 1, 1)},
	}
	o.Host, err = engine.HostByName("macos-air")
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for n, d := range res.Programs[0].Dispatches {
		v := float32(n + 1)
		if len(d.Outputs) != 1 || !slices.Equal(d.Outputs[0].Data, fp16(v, v, v, v)) {
			t.Errorf("call %d: %+v", n+1, d.Outputs)
		}
	}
	if got := res.Outputs[0].Data; !slices.Equal(got, fp16(4, 4, 4, 4)) || len(res.Synthetic) != 0 {
		t.Errorf("%v, synthetic %q", got, res.Synthetic)
	}
	doc := report.NewRun(res)
	if s := doc.State; s == nil || s.HostCopyBytes != 3*2*8 || s.DRAMBytes != 2*s.HostCopyBytes || len(s.Aliases) != 1 || s.Aliases[0].Bytes != 8 || len(doc.Calls) != 4 {
		t.Errorf("%+v, %d calls", s, len(doc.Calls))
	}
	o.State = nil
	plain, err := m.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Report.Cycles != res.Report.Cycles || plain.Host() <= res.Host() {
		t.Errorf("%d cycles and %v of host with state, %d and %v without", res.Report.Cycles, res.Host(), plain.Report.Cycles, plain.Host())
	}
	if d := report.NewRun(plain); d.State != nil || d.Calls != nil {
		t.Errorf("without state: %+v", d.State)
	}
}

// slotCache is a cache of slots that a one-hot position writes one of:
// cache - at*(cache - value).
const slotCache = `
name: cache
inputs:
  cache: {c: 4, w: 3}
  value: {c: 1, w: 3}
  at: {c: 4, w: 1}
layers:
- {name: apart, op: sub, from: [cache, value]}
- {name: change, op: mul, from: [apart, at]}
- {name: next, op: sub, from: [cache, change]}
`

func TestSlotCache(t *testing.T) {
	n, err := network.ReadYAML([]byte(slotCache))
	if err != nil {
		t.Fatal(err)
	}
	l, err := values(t).Load(t.Context(), anesim.FromNetwork(n))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Alias("next", "cache"); err != nil {
		t.Fatal(err)
	}
	want := make([]half, 12)
	for _, step := range []struct {
		slot  int
		value []half
	}{{0, fp16(1, 2, 3)}, {1, fp16(4, 5, 6)}, {3, fp16(7, 8, 9)}, {1, fp16(-1, -2, -3)}, {2, fp16(0.5, 0, 9)}} {
		at := make([]half, 4)
		at[step.slot] = fp16(1)[0]
		if err := errors.Join(l.Set("value", step.value), l.Set("at", at)); err != nil {
			t.Fatal(err)
		}
		copy(want[3*step.slot:], step.value)
		if res := call(t, l); len(res.Outputs) != 1 || !slices.Equal(res.Outputs[0].Data, want) {
			t.Fatalf("slot %d: %+v, want %v", step.slot, res.Outputs, want)
		}
	}
}

// Programs share a session's memory: each gives what it gives alone, and memory that is
// given back is used again.
func TestSessionsHoldSeveralPrograms(t *testing.T) {
	s := values(t)
	var alone [][]half
	var loaded []*anesim.Loaded
	var models []*anesim.Model
	for _, name := range lower.Examples() {
		p, err := lower.ExampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, anesim.FromProgram(p))
	}
	real := material.More(t, "programs/*.hwx")
	for _, name := range real {
		m, err := anesim.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	t.Logf("%d programs, %d of them real", len(models), len(real))
	addresses := map[uint64]bool{}
	for _, m := range models {
		res, err := m.Run(t.Context(), anesim.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		var data []half
		for _, o := range res.Outputs {
			data = append(data, o.Data...)
		}
		alone = append(alone, data)
		l, err := s.Load(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if addresses[l.Address()] || l.Address()%loader.PageSize != 0x0 {
			t.Errorf("%s stands at %#x", m.Name(), l.Address())
		}
		addresses[l.Address()] = true
		loaded = append(loaded, l)
	}
	for round := range 2 {
		for i := range loaded {
			i = (i*3 + round) % len(loaded)
			var data []half
			for _, o := range call(t, loaded[i]).Outputs {
				data = append(data, o.Data...)
			}
			if !slices.Equal(data, alone[i]) {
				t.Errorf("round %d: %s gives something else than alone", round, models[i].Name())
			}
		}
	}
	used, at := s.Used(), loaded[1].Address()
	loaded[1].Unload()
	loaded[1].Unload()
	if _, err := loaded[1].Call(t.Context()); !errors.Is(err, anesim.ErrUnloaded) || s.Used() >= used {
		t.Errorf("%v, %d bytes of %d", err, s.Used(), used)
	}
	again, err := s.Load(t.Context(), models[1])
	if err != nil || again.Address() != at || s.Used() != used {
		t.Errorf("%v: at %#x, was at %#x; %d bytes, were %d", err, again.Address(), at, s.Used(), used)
	}
	if s.Used() == 0 {
		t.Error("programs take no memory")
	}
}

// What does not fit is refused with what it needs, and leaves nothing behind.
func TestSessionMemoryIsAccounted(t *testing.T) {
	m, err := anesim.Layer("add", "c=64", "h=64", "w=64")
	if err != nil {
		t.Fatal(err)
	}
	big, err := anesim.NewSession(anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := big.Load(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	need := big.Used()
	if need < 3*64*64*64*2 {
		t.Errorf("%d bytes", need)
	}
	s, err := anesim.NewSession(anesim.Options{Memory: 2*need - 1})
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Load(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Load(t.Context(), m)
	var e *anesim.NoMemoryError
	if !errors.As(err, &e) || e.Need != need || e.Free != need-1 || s.Used() != need {
		t.Errorf("%v; %d bytes used", err, s.Used())
	}
	first.Unload()
	if s.Used() != 0 {
		t.Errorf("%d bytes used", s.Used())
	}
	if _, err := s.Load(t.Context(), m); err != nil {
		t.Error(err)
	}
	if _, err := m.Run(t.Context(), anesim.Options{Memory: need - 1}); !errors.As(err, &e) {
		t.Errorf("a run in less: %v", err)
	}
}

func TestAliasErrors(t *testing.T) {
	s := values(t)
	add := loadLayer(t, s, "add", "c=4")
	conv := loadLayer(t, s, "conv", "cin=4", "cout=8")
	for _, tc := range []struct {
		l       *anesim.Loaded
		out, in string
		want    string
	}{
		{add, "q", "z", `unknown output "q"`}, {add, "y", "q", `unknown input "q"`}, {add, "x", "z", `unknown output "x"`}, {conv, "y", "x", "output shape [1 8 1 1] does not match input shape [1 4 1 1]"},
	} {
		err := tc.l.Alias(tc.out, tc.in)
		var e *anesim.AliasError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s: %v", tc.out, tc.in, err)
		}
	}
	if err := add.Alias("y", "z"); err != nil {
		t.Fatal(err)
	}
	if err := add.Alias("y", "x"); err == nil {
		t.Error("an output became two inputs")
	}
	n, err := network.ReadYAML([]byte("inputs: {x: {c: 4, h: 6, w: 10}}\nlayers:\n- {op: relu}\n- {op: conv, cout: 4, k: 33, pad: same}\n- {op: relu}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var o *anesim.OptionError
	if _, err := s.Load(t.Context(), anesim.FromNetwork(n)); !errors.As(err, &o) {
		t.Errorf("a model of two programs: %v", err)
	}
	if _, err := anesim.FromNetwork(n).Run(t.Context(), anesim.Options{State: []anesim.StateAlias{{Output: "a", Input: "b"}}}); !errors.As(err, &o) {
		t.Errorf("state of two programs: %v", err)
	}
}

// The decode loop fills its caches a position a step, leaves the others as they are, and
// gives what one run over the same caches without state gives.
func TestDecodeLoop(t *testing.T) {
	m, err := anesim.Open(filepath.Join("tools", "anesim", "examples", "decode.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := values(t).Load(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Alias("keys_next", "keys"), l.Alias("values_next", "values")); err != nil {
		t.Fatal(err)
	}
	const positions, features = 64, 32
	inputs := map[string][]half{
		"token": make([]half, 64), "at_row": make([]half, positions), "mask": make([]half, positions),
		"keys": make([]half, features*positions), "values": make([]half, features*positions),
	}
	for i := range positions {
		inputs["token"][i] = float16.Fromfloat32(float32(i%7)/4 - 0.5)
		inputs["mask"][i] = float16.Fromfloat32(-30000)
	}
	for n := range positions {
		clear(inputs["at_row"])
		inputs["at_row"][n], inputs["mask"][n] = fp16(1)[0], 0
		inputs["at_column"] = inputs["at_row"]
		for _, name := range []string{"token", "at_row", "at_column", "mask"} {
			if err := l.Set(name, inputs[name]); err != nil {
				t.Fatal(err)
			}
		}
		// By hand: the caches go in as inputs.
		plain, err := m.Run(t.Context(), anesim.Options{Values: true, Inputs: inputs})
		if err != nil {
			t.Fatal(err)
		}
		state := call(t, l)
		by := map[string][]half{}
		for i, out := range state.Outputs {
			if out.Port.Name != plain.Outputs[i].Port.Name || !slices.Equal(out.Data, plain.Outputs[i].Data) {
				t.Fatalf("step %d: %s differs from a run without state", n, out.Port.Name)
			}
			by[out.Port.Name] = out.Data
		}
		for p := range positions {
			row := by["values_next"][p*features:][:features]
			empty := !slices.ContainsFunc(row, func(h half) bool { return h&0x7fff != 0 })
			if p != n && !slices.Equal(row, inputs["values"][p*features:][:features]) || empty != (p > n) {
				t.Fatalf("step %d: position %d holds %v", n, p, row)
			}
		}
		inputs["keys"], inputs["values"], inputs["token"] = by["keys_next"], by["values_next"], by["next"]
	}
}

// A session loads whole models only: a layer on the host before the program, after it, instead of it or
// beside it, and a layer that nothing computes, are errors that name the layer. [anesim.Model.Run] computes
// what the host can.
func TestSessionLoadsWholeModels(t *testing.T) {
	relu := func(in, out string) string { return "Relu " + in + " " + out }
	for _, tc := range []struct {
		name  string
		nodes []string
		layer string // refused; "" if the model is loaded
	}{
		{"all on the engine", []string{relu("x", "a"), relu("a", "y")}, ""},
		{"the host first", []string{"Hardmax x a", relu("a", "y")}, "a"},
		{"the host last", []string{relu("x", "a"), "Hardmax a y"}, "y"},
		{"the host alone", []string{"Hardmax x y"}, "y"},
		{"the host beside the engine", []string{relu("x", "a"), "Hardmax x y"}, "y"},
		{"a layer that nothing computes", []string{relu("x", "a"), "Unheard a y"}, "y"},
	} {
		parts := []onnxtest.Message{onnxtest.Input("x", 1, 4, 2, 8)}
		for _, text := range tc.nodes {
			w := strings.Fields(text)
			parts = append(parts, onnxtest.Node(w[0], w[2], w[1:2]))
		}
		n, err := network.ReadONNX(onnxtest.Model(append(parts, onnxtest.Output("y"))...), network.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []anesim.Options{{}, {Values: true}} {
			s, err := anesim.NewSession(o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Load(t.Context(), anesim.FromNetwork(n))
			var refused *anesim.OptionError
			if tc.layer == "" {
				if err != nil {
					t.Errorf("%s: %v", tc.name, err)
				}
			} else if !errors.As(err, &refused) || refused.Option != "Load" || !strings.Contains(err.Error(), "layer "+tc.layer+" of") {
				t.Errorf("%s: %v; want an error that names layer %s", tc.name, err, tc.layer)
			}
		}
	}
}
