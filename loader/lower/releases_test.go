package lower_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/internal/lint"
	"anesim/loader"
	"anesim/loader/layer"
	. "anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// TestAnyReleaseValues compares random layers in the form of each release of the compiler, half of
// those of 2023 with so small an L2 that tasks stream or the layer is divided, with their plain
// definition. Their programs have no findings.
func TestAnyReleaseValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 50))
	streamed := 0
	for i := range *layers {
		l, w, in, f, tolerance := aLayer(r)
		l.Release = []layer.Release{layer.Newest, layer.Release2023, layer.Release2026}[r.IntN(3)]
		l.OutputFirst = r.IntN(2) == 0
		if l.Release == layer.Release2023 && r.IntN(2) == 0 {
			l.Memories.L2 = 1 << (12 + r.IntN(5))
		}
		w, err := weights.Complete(&list.Layer{Lower: l, Weights: w}, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Lower(l, w)
		if err != nil {
			if l.Memories.L2 == 0 {
				t.Errorf("%d: %+v: %v", i, l, err)
			}
			continue // one row needs more than the small L2
		}
		if l.Memories.L2 > 0 {
			streamed++
		}
		if err := runLinted(p, l, in, f(w), tolerance); err != nil {
			t.Errorf("%d: %+v: %v", i, l, err)
		}
	}
	if streamed == 0 {
		t.Error("no layer had a small L2")
	}
}

// runLinted returns an error if a layer's program has findings, or other values than want.
func runLinted(p *loader.Program, l layer.Layer, in map[string][]float16.Float16, want []float64, tolerance float64) error {
	found, err := lint.Program(p)
	if err != nil {
		return err
	}
	for i := range found.Findings {
		// A long stride selects rows of the convolution without it. Of a dilated one, it may select none of
		// those of a phase.
		if f := &found.Findings[i]; f.Rule != lint.Unread || l.Dilation <= 1 {
			return fmt.Errorf("finding: %v", f)
		}
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: in, Workers: 1})
	if err != nil {
		return err
	}
	if len(res.Report.Faults) > 0 {
		return fmt.Errorf("fault: %+v", res.Report.Faults[0])
	}
	for _, o := range res.Outputs {
		if o.Port.Name == "y" {
			return near(o.Data, want, tolerance)
		}
	}
	return fmt.Errorf("no output y")
}

// TestDivided2023 lowers layers of more bytes than L2 whose tasks divide what they pass in scratch
// memory in more than one way, in the form of 2023. No task reads bytes that none has written.
func TestDivided2023(t *testing.T) {
	for _, line := range []string{
		"silu c=128 h=64 w=256", "silu c=129 h=64 w=256", "silu c=255 h=64 w=256", "silu c=2048 h=64 w=256",
		"atan c=129 h=64 w=256", "ceil c=255 h=64 w=256", "log c=300 h=64 w=256",
	} {
		l, w := goldenLayer(t, []string{line, "with release=2023"})
		p, err := Sized(l, w)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		found, err := lint.Program(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found.Findings {
			t.Errorf("%s: %v", line, &found.Findings[i])
		}
	}
}

// A product of two inputs in the form of 2023 is read as it was written: its descriptors whose
// weights are a scratch surface count the extra word of their headers.
func TestRuntimeProduct2023(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2023))
	for _, m := range []int{3, 16, 33, 64} {
		l := layer.Product(m, 48, 40, layer.Runtime)
		l.Release = layer.Release2023
		check(t, r, l, layer.Weights{}, 0.02)
	}
}
