package lower_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// Rows on both sides of the 512 columns of a planar patch, kept in L2 by one task for the
// next and read again from memory, in one row and several, one channel and several.
func TestWideRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	for _, op := range []layer.Op{layer.LayerNorm, layer.Softmax, layer.ReduceMean, layer.ReduceMax} {
		for _, s := range []layer.Shape{
			{N: 1, C: 1, H: 128, W: 768}, {N: 1, C: 1, H: 1, W: 1075}, {N: 1, C: 3, H: 1, W: 513}, {N: 2, C: 3, H: 1, W: 1075},
			{N: 1, C: 4, H: 5, W: 512}, {N: 1, C: 4, H: 5, W: 600}, {N: 1, C: 1, H: 250, W: 1024}, {N: 1, C: 16, H: 1, W: 2000},
		} {
			for _, axes := range []layer.Axes{layer.AxisW, layer.AxisC | layer.AxisW, layer.AxisC, layer.AxisC | layer.AxisH | layer.AxisW} {
				l := layer.Reduction(op, s, axes)
				if op == layer.LayerNorm {
					l.Epsilon = 0.01
				}
				w, err := weights.Complete(&list.Layer{Lower: l}, 1)
				if err != nil {
					t.Fatal(err)
				}
				in := map[string][]float16.Float16{"x": halves(r, s.Elements())}
				got, err := run(l, w, in)
				if err == nil {
					err = near(got, gathered(l, tensor{s, floats(in["x"])}), 0.03)
				}
				if err != nil {
					t.Errorf("%v of %v over %v: %v", op, s, axes, err)
				}
			}
		}
	}
}

// Softmax and layer norm over rows of more columns than a task can have, and over both rows and
// columns of each channel, have the values of the definition. A softmax of one row that fits in L2
// reads it from memory once.
func TestFoldedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 3))
	for i := range 24 {
		s, axes := layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(9), H: 1 + r.IntN(9), W: 1 + r.IntN(90)}, layer.AxisH|layer.AxisW
		op := []layer.Op{layer.Softmax, layer.LayerNorm}[i%2]
		if i >= 12 {
			s = layer.Shape{N: 1, C: 1 + r.IntN(3), H: 1 + r.IntN(3), W: 32 * (513 + r.IntN(200))}
			if i < 18 {
				axes = layer.AxisW
			}
		}
		l := layer.Reduction(op, s, axes)
		if op == layer.LayerNorm {
			l.Epsilon = 0.01
		}
		w, err := weights.Complete(&list.Layer{Lower: l}, 1)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string][]float16.Float16{"x": within(r, s.Elements(), -3, 3)}
		want := gathered(l, tensor{s, floats(in["x"])})
		got, err := run(l, w, in)
		if err == nil {
			err = near(got, want, 0.01*slices.Max(want))
		}
		if err != nil {
			t.Errorf("%v of %v over %v: %v", op, s, axes, err)
		}
	}
	wide := layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 1, H: 1, W: 1 << 16}, layer.AxisW)
	w, err := weights.Complete(&list.Layer{Lower: wide}, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := lower.Lower(wide, w)
	if err != nil {
		t.Fatal(err)
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1()})
	if err != nil {
		t.Fatal(err)
	}
	tensorBytes := uint64(2 * wide.In.Elements())
	if moved := res.Report.DMA.Total(); moved < 2*tensorBytes || moved > 2*tensorBytes+8192 { // and two tables
		t.Errorf("softmax of %v moves %d bytes; want those of its input and its result, %d each", wide.In, moved, tensorBytes)
	}
}
