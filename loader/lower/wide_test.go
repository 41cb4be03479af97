package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// Rows on both sides of the 512 columns of a planar patch, kept in the L2 by one task for the
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
