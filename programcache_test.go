package anesim_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/hw/execycles"
	"anesim/internal/cache"
	"anesim/internal/report"
	"anesim/internal/samples"
)

// A network whose programs are fetched gives what it gives when they are made: values,
// cycles, layers, every word of the document; weights, shapes, operations, seeds and
// sources have entries of their own.
func TestProgramCache(t *testing.T) {
	dir := t.TempDir()
	run := func(m *anesim.Model, o anesim.Options, source string) (*anesim.Result, string) {
		t.Helper()
		c, err := cache.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.Source = source
		if o.Cache == nil {
			o.Cache = c
		}
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		d := report.NewNetwork(res)
		d.Cache = nil
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(b)
	}
	for _, o := range []anesim.Options{{Values: true, Seed: 3}, {Seed: 3}} {
		model := func() *anesim.Model { return samples.Read(t, samples.Observed) }
		plain, err := model().Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		made, first := run(model(), o, "")
		fetched, second := run(model(), o, "")
		if plain.Cache != nil || made.Cache == nil || made.Cache.Outcome != cache.Made || fetched.Cache.Outcome != cache.Fetched {
			t.Fatalf("%+v, %+v", made.Cache, fetched.Cache)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Error(diff)
		}
		if a, b := checksums(plain), checksums(fetched); a != b || plain.Report.Cycles != fetched.Report.Cycles || plain.Report.Energy != fetched.Report.Energy {
			t.Errorf("fetched: %s, %d cycles; without a cache %s, %d", b, fetched.Report.Cycles, a, plain.Report.Cycles)
		}
		other := o
		other.Seed++
		if res, _ := run(model(), other, ""); res.Cache.Outcome != cache.Made {
			t.Error("another seed finds the entry")
		}
		for _, target := range []execycles.Target{execycles.H13, execycles.H13G} { // the default is H13
			other := o
			other.Target = target
			if res, _ := run(model(), other, ""); (res.Cache.Outcome == cache.Fetched) != (target == execycles.H13) {
				t.Errorf("target %v: the entry of the default is %v", target, res.Cache.Outcome)
			}
		}
		if res, _ := run(model(), o, "file:///elsewhere.yaml"); res.Cache.Outcome != cache.Made {
			t.Error("another source finds the entry")
		}
		// The model keeps its programs: a second run does not look again.
		m := model()
		run(m, o, "")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if res, _ := run(m, o, ""); res.Cache.Outcome != cache.Fetched {
			t.Errorf("a model that has its programs: %v", res.Cache.Outcome)
		}
	}
	c := &cache.Cache{Dir: dir, Build: "x", Mode: cache.ForceFetch}
	var miss *cache.MissError
	if _, err := samples.Read(t, samples.Observed).Run(t.Context(), anesim.Options{Cache: c}); !errors.As(err, &miss) {
		t.Errorf("a forced fetch of nothing: %v", err)
	}
	// A layer has its entry too; with weights of the caller's own it has none.
	l, err := anesim.Layer("relu", "c=4", "h=3", "w=5")
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.Run(t.Context(), anesim.Options{Values: true, Cache: &cache.Cache{Dir: dir, Build: "x"}})
	if err != nil || res.Cache == nil {
		t.Errorf("%+v, %v", res, err)
	}
	conv, err := anesim.Layer("conv", "cin=1", "h=2", "w=2", "cout=1", "k=1")
	if err != nil {
		t.Fatal(err)
	}
	res, err = conv.Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]half{"weights": fp16(2)}, Cache: &cache.Cache{Dir: dir, Build: "x"}})
	if err != nil || res.Cache != nil {
		t.Errorf("%+v, %v", res, err)
	}
}
