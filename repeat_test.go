package anesim

import (
	"errors"
	"math"
	"testing"
	"time"

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
		low, err := m.lower(t.Context(), &o, true)
		if err != nil {
			t.Fatal(err)
		}
		r := &execution{model: m, lowered: low, options: o, tensors: map[string][]half{}}
		if err := r.begin(); err != nil {
			t.Fatal(err)
		}
		r.list = list
		if err := r.program(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		results[i] = r.end()
	}
	all, counted := results[0], results[1]
	if n := len(counted.Report.Descriptors); n != 2*len(all.Report.Descriptors)/times || counted.Report.Count() != all.Report.Count() {
		t.Errorf("%d descriptors listed, %d counted, %d in all", n, counted.Report.Count(), all.Report.Count())
	}
	a, b := all.RunDocument(), counted.RunDocument()
	if a.Cycles != b.Cycles || a.Total.MACs != b.Total.MACs || a.Total.DMABytes != b.Total.DMABytes || a.Total.Saved != b.Total.Saved {
		t.Errorf("made %+v %+v\ncounted %+v %+v", a.Cycles, a.Total, b.Cycles, b.Total)
	}
	near := func(name string, x, y float64) {
		if math.Abs(x-y) > 1e-12*math.Abs(x) {
			t.Errorf("%s: %v made, %v counted", name, x, y)
		}
	}
	near("time", float64(a.Total.TimeNs), float64(b.Total.TimeNs))
	near("low", float64(a.Total.TimeLowNs), float64(b.Total.TimeLowNs))
	near("high", float64(a.Total.TimeHighNs), float64(b.Total.TimeHighNs))
	near("wall", float64(a.Total.WallNs), float64(b.Total.WallNs))
	near("energy", float64(a.Total.EnergyNJ), float64(b.Total.EnergyNJ))
	near("dispatch", float64(a.Total.DispatchNJ), float64(b.Total.DispatchNJ))
	near("planar", float64(a.Total.EnergyOf.Planar), float64(b.Total.EnergyOf.Planar))
	near("active", float64(a.Total.EnergyOf.Active), float64(b.Total.EnergyOf.Active))
	near("idle", float64(a.Total.IdleNJ), float64(b.Total.IdleNJ))
	near("wake", float64(a.Total.WakeNs), float64(b.Total.WakeNs))
	near("host", float64(a.Total.HostNJ), float64(b.Total.HostNJ))
	near("wall energy", float64(a.Total.WallEnergyNJ), float64(b.Total.WallEnergyNJ))
	near("peak", a.Total.PeakW, b.Total.PeakW)
	near("first", float64(a.Repeat.FirstWallNs), float64(b.Repeat.FirstWallNs))
	near("steady", float64(a.Repeat.SteadyWallNs), float64(b.Repeat.SteadyWallNs))
	if a.Repeat.Dispatches != times || b.Repeat.Dispatches != times || b.Repeat.Listed != 2 {
		t.Errorf("made %+v, counted %+v", a.Repeat, b.Repeat)
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

// Every dispatch of a run with state does something else, so that they are not counted.
func TestRepeatWithStateIsBounded(t *testing.T) {
	m, err := Layer("add", "c=4")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Run(t.Context(), Options{Repeat: maxRepeat, State: []StateAlias{{Output: "y", Input: "z"}}})
	var bad *OptionError
	if !errors.As(err, &bad) || bad.Option != "Repeat" {
		t.Errorf("%v", err)
	}
}
