package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/mac"
	. "anesim/loader/lower"
)

// Layers of more than the L2 holds, which run in parts of the axes that they leave, or in
// columns, have the values of the definition.
func TestPartValues(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 3))
	rows := Reduction(ReduceSum, Shape{1, 3, 300, 1200}, AxisC)
	plane := Reduction(ReduceMax, Shape{1, 3, 700, 500}, AxisH|AxisW)
	columns := Reduction(ReduceMean, Shape{1, 5, 300, 500}, AxisH)
	shifted := Layer{Op: Slice, In: Shape{1, 4, 300, 600}, Begin: Shape{0, 0, 0, 7}, Size: Shape{1, 4, 300, 500}}
	for _, l := range []Layer{rows, plane, columns, shifted} {
		check(t, r, l, Weights{}, 0.02)
	}
	tables := Weights{Table: Fitted(mac.Exp), Reciprocal: Fitted(mac.Reciprocal)}
	check(t, r, Reduction(Softmax, Shape{1, 4, 150, 600}, AxisH), tables, 0.01)
	for _, k := range []int{40, 64} {
		l := Layer{Op: MatMul, In: Shape{1, 3, 256, k}, Columns: 192}
		x, z := halves(r, l.In.Elements()), halves(r, 3*k*l.Columns)
		turned := make([]float16.Float16, len(z))
		for i, v := range z {
			head, at := i/(k*l.Columns), i%(k*l.Columns)
			turned[head*k*l.Columns+at%l.Columns*k+at/l.Columns] = v
		}
		want := reference(l, Weights{}, map[string][]float16.Float16{"x": x, "z": z})
		for _, y := range [][]float16.Float16{z, turned} {
			got, err := run(l, Weights{}, map[string][]float16.Float16{"x": x, "z": y})
			if err == nil {
				err = near(got, want, 0.02)
			}
			if err != nil {
				t.Errorf("%+v: %v", l, err)
			}
			l.TransposeY = true
		}
		check(t, r, Layer{Op: MatMul, In: Shape{1, 3, 130, k}, Columns: 192}, Weights{}, 0.02)
	}
	if testing.Short() {
		return // some 300 million multiplications
	}
	in := Shape{1, 256, 64, 64}
	l := Conv(in, 32, Same(3, 1, in))
	check(t, r, l, Weights{Filter: halves(r, 32*256*9)}, 0.02)
}
