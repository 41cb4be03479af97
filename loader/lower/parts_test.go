package lower_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
	"anesim/loader/layer"
	. "anesim/loader/lower"
)

// Layers of more than L2 holds, which run in parts of the axes that they leave, or in
// columns, have the values of the definition.
func TestPartValues(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 3))
	rows := layer.Reduction(layer.ReduceSum, layer.Shape{N: 1, C: 3, H: 300, W: 1200}, layer.AxisC)
	plane := layer.Reduction(layer.ReduceMax, layer.Shape{N: 1, C: 3, H: 700, W: 500}, layer.AxisH|layer.AxisW)
	columns := layer.Reduction(layer.ReduceMean, layer.Shape{N: 1, C: 5, H: 300, W: 500}, layer.AxisH)
	shifted := layer.Layer{Op: layer.Slice, In: layer.Shape{N: 1, C: 4, H: 300, W: 600}, Begin: layer.Shape{N: 0, C: 0, H: 0, W: 7}, Size: layer.Shape{N: 1, C: 4, H: 300, W: 500}}
	for _, l := range []layer.Layer{rows, plane, columns, shifted} {
		check(t, r, l, layer.Weights{}, 0.02)
	}
	tables := layer.Weights{Table: Fitted(mac.Exp), Reciprocal: Fitted(mac.Reciprocal)}
	check(t, r, layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 4, H: 150, W: 600}, layer.AxisH), tables, 0.01)
	for _, k := range []int{40, 64} {
		l := layer.Layer{Op: layer.MatMul, In: layer.Shape{N: 1, C: 3, H: 256, W: k}, Columns: 192}
		x, z := halves(r, l.In.Elements()), halves(r, 3*k*l.Columns)
		turned := make([]float16.Float16, len(z))
		for i, v := range z {
			head, at := i/(k*l.Columns), i%(k*l.Columns)
			turned[head*k*l.Columns+at%l.Columns*k+at/l.Columns] = v
		}
		want := reference(l, layer.Weights{}, map[string][]float16.Float16{"x": x, "z": z})
		for _, y := range [][]float16.Float16{z, turned} {
			got, err := run(l, layer.Weights{}, map[string][]float16.Float16{"x": x, "z": y})
			if err == nil {
				err = near(got, want, 0.02)
			}
			if err != nil {
				t.Errorf("%+v: %v", l, err)
			}
			l.TransposeY = true
		}
		check(t, r, layer.Layer{Op: layer.MatMul, In: layer.Shape{N: 1, C: 3, H: 130, W: k}, Columns: 192}, layer.Weights{}, 0.02)
	}
	// Softmax over columns through a ring, with eight, two and one channels side by side.
	for _, s := range []layer.Shape{{N: 1, C: 8, H: 375, W: 375}, {N: 1, C: 6, H: 300, W: 700}, {N: 1, C: 1, H: 1200, W: 900}} {
		x := within(r, s.Elements(), -3, 3)
		want := make([]float64, len(x))
		for first := 0; first < len(x); first += s.W {
			sum := 0.0
			for i, v := range x[first : first+s.W] {
				want[first+i] = math.Exp(float64(v.Float32()))
				sum += want[first+i]
			}
			for i := range s.W {
				want[first+i] /= sum
			}
		}
		got, err := run(layer.Reduction(layer.Softmax, s, layer.AxisW), tables, map[string][]float16.Float16{"x": x})
		if err == nil {
			err = near(got, want, 0.001)
		}
		if err != nil {
			t.Errorf("softmax of %v: %v", s, err)
		}
	}
	if testing.Short() {
		return // some 300 million multiplications
	}
	in := layer.Shape{N: 1, C: 256, H: 64, W: 64}
	l := layer.Conv(in, 32, layer.Same(3, 1, in))
	check(t, r, l, layer.Weights{Filter: halves(r, 32*256*9)}, 0.02)
}
