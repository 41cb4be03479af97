package anesim

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/x448/float16"

	"anesim/hw/host"
)

// Dispatches that are counted come to what they come to when every one is made.
func TestRepeatsAreCounted(t *testing.T) {
	h, err := host.ByName("linux")
	if err != nil {
		t.Fatal(err)
	}
	const times = 7
	var results [2]*Result
	for i, list := range [...]int{times, 2} {
		m := Identity()
		o, err := Options{Repeat: times, Host: h, Idle: time.Second}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		low, err := m.lowerOrReuse(t.Context(), &o, true)
		if err != nil {
			t.Fatal(err)
		}
		r := &execution{model: m, lowered: low, options: o, tensors: map[string][]float16.Float16{}}
		if err := r.checkOptionsAndInputs(); err != nil {
			t.Fatal(err)
		}
		r.list = list
		if err := r.runProgram(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		results[i] = r.newResult()
	}
	all, counted := results[0], results[1]
	if n := len(counted.Report.Descriptors); n != 2*len(all.Report.Descriptors)/times || counted.Report.Count() != all.Report.Count() {
		t.Errorf("%d descriptors listed, %d counted, %d in all", n, counted.Report.Count(), all.Report.Count())
	}
	if all.Causes() != counted.Causes() || all.Report.MACs != counted.Report.MACs || all.Report.DMA != counted.Report.DMA || all.Report.Saved() != counted.Report.Saved() {
		t.Errorf("made %+v %+v\ncounted %+v %+v", all.Causes(), all.Report.DMA, counted.Causes(), counted.Report.DMA)
	}
	near := func(name string, x, y float64) {
		if math.Abs(x-y) > 1e-12*math.Abs(x) {
			t.Errorf("%s: %v made, %v counted", name, x, y)
		}
	}
	near("time", float64(all.Report.Time), float64(counted.Report.Time))
	near("low", float64(all.Report.Bounds().Low), float64(counted.Report.Bounds().Low))
	near("high", float64(all.Report.Bounds().High), float64(counted.Report.Bounds().High))
	near("wall", float64(all.Wall()), float64(counted.Wall()))
	near("energy", float64(all.Report.Energy), float64(counted.Report.Energy))
	near("dispatch", float64(all.Report.Dispatch), float64(counted.Report.Dispatch))
	near("planar", float64(all.Report.Parts().Planar), float64(counted.Report.Parts().Planar))
	near("active", float64(all.Report.Parts().Active), float64(counted.Report.Parts().Active))
	a, b := all.Timeline(), counted.Timeline()
	near("idle", float64(a.Idle.Energy), float64(b.Idle.Energy))
	near("wake", float64(a.Wake.Time), float64(b.Wake.Time))
	near("host", float64(a.Host.Energy), float64(b.Host.Energy))
	near("end", float64(a.End), float64(b.End))
	near("peak", a.Peak(), b.Peak())
	if p, q := all.Programs[0], counted.Programs[0]; len(p.Dispatches) != times || p.Again != 0 || len(q.Dispatches) != 2 || q.Again != times-2 {
		t.Errorf("made %d dispatches and %d more, counted %d and %d; want %d and 0, 2 and %d", len(p.Dispatches), p.Again, len(q.Dispatches), q.Again, times, times-2)
	}
}

// The most dispatches there can be take no more memory than a few thousand.
func TestRepeatMany(t *testing.T) {
	res, err := Identity().Run(t.Context(), Options{Repeat: maxRepeat})
	if err != nil {
		t.Fatal(err)
	}
	one, err := Identity().Run(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.Report.Descriptors); n > 4096 || res.Report.Cycles != maxRepeat*one.Report.Cycles {
		t.Errorf("%d descriptors listed, %d cycles; one dispatch takes %d", n, res.Report.Cycles, one.Report.Cycles)
	}
	n, err := res.Model.Run(t.Context(), Options{Repeat: maxRepeat + 1})
	if !errors.As(err, new(*OptionError)) {
		t.Errorf("%v, %v", n, err)
	}
}

// A run with state executes every dispatch where values are computed, and lists as many as any
// other run: the last value is that of the last dispatch, and the sums are those of a run
// without state.
func TestRepeatWithState(t *testing.T) {
	const times = 5000 // more than are listed
	m, err := Layer("add", "c=4")
	if err != nil {
		t.Fatal(err)
	}
	count := func(n float32) []float16.Float16 { return slices.Repeat([]float16.Float16{float16.Fromfloat32(n)}, 4) }
	o := Options{Values: true, Repeat: times, Inputs: map[string][]float16.Float16{"x": count(0.25)}}
	plain, err := m.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.State = []StateAlias{{Output: "y", Input: "z"}}
	for _, values := range []bool{true, false} {
		o.Values = values
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		p, q := res.Programs[0], plain.Programs[0]
		if len(p.Dispatches) != len(q.Dispatches) || p.Again != q.Again {
			t.Errorf("values %v: %d dispatches listed and %d counted, without state %d and %d", values, len(p.Dispatches), p.Again, len(q.Dispatches), q.Again)
		}
		if a, b := res.Report, plain.Report; a.Count() != b.Count() || a.Cycles != b.Cycles || a.DMA != b.DMA || math.Abs(float64(a.Energy/b.Energy)-1) > 1e-9 {
			t.Errorf("values %v: %d descriptors, %d cycles, %v, %v\nwithout state %d, %d, %v, %v", values, a.Count(), a.Cycles, a.Energy, a.DMA, b.Count(), b.Cycles, b.Energy, b.DMA)
		}
		// fp16 has steps of a quarter up to 512 and of a half up to 1024. A tie rounds away from
		// zero, so that a quarter adds a half there; beyond, it is less than half a step.
		if values && !slices.Equal(res.Outputs[0].Data, count(1024)) {
			t.Errorf("a quarter added %d times: %v, want 1024", times, res.Outputs[0].Data)
		}
	}
}

// The dispatches of a run with state and values are all executed, so that their number is
// bounded. Those of a run that is only timed are counted.
func TestRepeatWithStateIsBounded(t *testing.T) {
	m, err := Layer("add", "c=4")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Repeat: maxRepeat, State: []StateAlias{{Output: "y", Input: "z"}}, Values: true}
	_, err = m.Run(t.Context(), o)
	var bad *OptionError
	if !errors.As(err, &bad) || bad.Option != "Repeat" {
		t.Errorf("%v", err)
	}
	o.Values = false
	res, err := m.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.Report.Descriptors); n > 4096 || res.Report.Count() != maxRepeat {
		t.Errorf("%d descriptors are listed of %d", n, res.Report.Count())
	}
}
