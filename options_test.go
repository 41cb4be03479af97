package anesim_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/internal/report"
	"anesim/loader/network"
	"anesim/loader/network/partition"
)

// The zero Options are the M1, one dispatch, no host and no values.
func TestZeroOptions(t *testing.T) {
	zero, err := anesim.Identity().Run(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	none, err := engine.HostByName("none")
	if err != nil {
		t.Fatal(err)
	}
	named, err := anesim.Identity().Run(t.Context(), anesim.Options{Chip: hw.M1(), Host: none, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := report.NewRun(zero), report.NewRun(named); !reflect.DeepEqual(a, b) || a.Chip != "m1" || a.Host != "none" || a.Total.WallNs != a.Total.TimeNs {
		t.Errorf("%+v\nnamed: %+v", a, b)
	}
	if len(zero.Outputs) != 0 || zero.Report.Cycles == 0 {
		t.Errorf("%+v", zero)
	}
	old, err := anesim.Run(programOf(t, anesim.Identity()), anesim.Options{})
	if err != nil || old.Report.Cycles != zero.Report.Cycles {
		t.Errorf("Run: %v", err)
	}
}

// A network is lowered without anything to tell its progress to.
func TestLowerWithoutProgress(t *testing.T) {
	n, err := network.ReadYAML([]byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if programs, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1}); len(programs) != 1 {
		t.Errorf("%d programs", len(programs))
	}
}

// Options that no run can have are errors that name the option, and no value of any
// constant of a chip makes the model panic.
func TestBadOptions(t *testing.T) {
	bad := func(o anesim.Options, option string) {
		t.Helper()
		_, err := anesim.Identity().Run(t.Context(), o)
		var e *anesim.OptionError
		if !errors.As(err, &e) || e.Option != option {
			t.Errorf("%s: %v", option, err)
		}
	}
	bad(anesim.Options{Repeat: -1}, "Repeat")
	bad(anesim.Options{Repeat: 1 << 30}, "Repeat")
	bad(anesim.Options{Idle: -time.Second}, "Idle")
	bad(anesim.Options{Workers: -1}, "Workers")
	bad(anesim.Options{Chip: hw.Chip{Name: "mine"}}, "Chip")
	m, err := anesim.Layer("conv", "cin=4", "h=4", "w=4", "cout=4", "k=3", "pad=1")
	if err != nil {
		t.Fatal(err)
	}
	chip := reflect.TypeFor[hw.Chip]()
	for i := range chip.NumField() {
		if chip.Field(i).Type != reflect.TypeFor[evidence.Constant]() {
			continue
		}
		for _, v := range []float64{0, -1, 1e300} {
			c := hw.M1()
			reflect.ValueOf(&c).Elem().Field(i).Addr().Interface().(*evidence.Constant).Value = v
			_, err := m.Run(t.Context(), anesim.Options{Chip: c})
			var e *anesim.OptionError
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%s = %g: %v", chip.Field(i).Name, v, err)
			}
		}
	}
}

// An input's shape must be the port's, up to axes of size 1.
func TestInputShapes(t *testing.T) {
	m, err := anesim.Layer("relu", "c=2", "h=3", "w=4")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		shape []int
		ok    bool
	}{
		{nil, true}, {[]int{1, 2, 3, 4}, true}, {[]int{2, 3, 4}, true}, {[]int{1, 1, 2, 3, 4}, true},
		{[]int{24}, false}, {[]int{4, 3, 2}, false}, {[]int{2, 12}, false}, {[]int{}, false}, {[]int{2, 3, 4, 1}, true}, {[]int{2, 1, 3, 4}, true}, {[]int{2, 4, 3}, false},
	} {
		_, err := m.Run(t.Context(), anesim.Options{
			Values: true, Inputs: map[string][]float16.Float16{"x": make([]float16.Float16, 24)}, Shapes: map[string][]int{"x": tc.shape},
		})
		var e *anesim.InputError
		if (err == nil) != tc.ok || err != nil && (!errors.As(err, &e) || !strings.Contains(err.Error(), "[1 2 3 4]")) {
			t.Errorf("%v: %v", tc.shape, err)
		}
	}
}

// A context that is done ends lowering and running alike.
func TestCancel(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	n, err := network.ReadYAML([]byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n- {op: relu}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*anesim.Model{anesim.Identity(), anesim.FromNetwork(n)} {
		if res, err := m.Run(done, anesim.Options{}); !errors.Is(err, context.Canceled) || res != nil {
			t.Errorf("%s: %v, %v", m.Name(), res, err)
		}
	}
}

// The relu behind the convolution is folded into it. Progress reaches its total in every
// stage, however often a model is repeated.
func TestProgress(t *testing.T) {
	n, err := network.ReadYAML([]byte("inputs: {x: {c: 4, h: 4, w: 4}}\nlayers:\n- {op: relu}\n- {op: conv, cout: 4}\n- {op: relu}\n"))
	if err != nil {
		t.Fatal(err)
	}
	last := map[anesim.Stage]anesim.Progress{}
	_, err = anesim.FromNetwork(n).Run(t.Context(), anesim.Options{Repeat: 3, Progress: func(p anesim.Progress) {
		if p.Done <= last[p.Stage].Done || p.Done > p.Total {
			t.Errorf("%+v after %+v", p, last[p.Stage])
		}
		last[p.Stage] = p
	}})
	if err != nil {
		t.Fatal(err)
	}
	if low, run := last[anesim.StageLower], last[anesim.StageRun]; low.Done != 2 || low.Total != 2 || run.Done != 6 || run.Total != 6 {
		t.Errorf("%+v", last)
	}
}
