package lower_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A layer without neighbors gives the same bits in one long row, which does not fit in a small L2,
// as in many short rows, which do. No layer of the list is refused.
func TestLongRowsAndShortRowsAgree(t *testing.T) {
	const (
		l2   = 1 << 17
		rows = 32
	)
	r := rand.New(rand.NewPCG(51, 2))
	long := layer.Shape{N: 1, C: 96, H: 1, W: 1024}
	short := layer.Shape{N: 1, C: 96, H: rows, W: long.W / rows}
	fold := func(s layer.Shape) layer.Shape {
		if s.W == long.W {
			s.H, s.W = rows, s.W/rows
		}
		return s
	}
	layers := []layer.Layer{
		layer.Conv(long, 32, layer.Valid(1, 1)), layer.Conv(long, 128, layer.Valid(1, 1)), layer.Depthwise(long, layer.Valid(1, 1)),
		layer.Binary(layer.Mul, long, layer.Shape{N: 1, C: 96, H: 1, W: 1}), layer.Binary(layer.Add, long, layer.Shape{N: 1, C: 1, H: 1, W: 1}),
		{Op: layer.Mul, In: long, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: 96, H: 1, W: 1}},
		{Op: layer.Max, In: long, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: 96, H: 1, W: 1}},
		layer.Reduction(layer.Softmax, long, layer.AxisC), layer.Reduction(layer.ReduceMax, long, layer.AxisC), layer.Reduction(layer.ReduceSum, long, layer.AxisC),
	}
	for _, op := range []layer.Op{layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average, layer.Pow} {
		layers = append(layers, layer.Binary(op, long, long))
	}
	for _, op := range []layer.Op{
		layer.ReLU, layer.GELU, layer.SiLU, layer.Exp, layer.Abs, layer.Square, layer.Cube, layer.HardSwish, layer.Log, layer.Sin, layer.Atan, layer.Floor, layer.PReLU,
	} {
		layers = append(layers, layer.Unary(op, long))
	}
	for _, l := range layers {
		w, err := weights.Complete(&list.Layer{Lower: l}, 1)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string][]float16.Float16{"x": halves(r, l.In.Elements())}
		if l.Second == layer.Runtime && l.Op.IsBinary() {
			in["z"] = halves(r, l.SecondShape.Elements())
		}
		folded := l
		folded.In, folded.SecondShape = short, fold(l.SecondShape)
		l.Memories.L2 = l2
		got, err := run(l, w, in)
		if err != nil {
			t.Errorf("%v in a long row: %v", l.Op, err)
			continue
		}
		want, err := run(folded, w, in)
		if err != nil {
			t.Errorf("%v in short rows: %v", l.Op, err)
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v of a long row and of short rows differ", l.Op)
		}
	}
}

// A tensor larger than L2 is reduced in steps: the result is that of the reference.
func TestReductionsLargerThanL2(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 3))
	s := layer.Shape{N: 2, C: 40, H: 16, W: 128}
	for _, op := range []layer.Op{layer.ReduceMean, layer.ReduceMax, layer.ReduceMin, layer.Softmax, layer.LayerNorm} {
		for axes := layer.AxisC; axes <= layer.AxisC|layer.AxisH|layer.AxisW; axes++ {
			l := layer.Reduction(op, s, axes)
			w, err := weights.Complete(&list.Layer{Lower: l}, 1)
			if err != nil {
				t.Fatal(err)
			}
			l.Memories.L2 = 1 << 16
			x := halves(r, s.Elements())
			got, err := run(l, w, map[string][]float16.Float16{"x": x})
			if err == nil {
				err = near(got, gathered(l, tensor{s, floats(x)}), 0.01)
			}
			if err != nil {
				t.Errorf("%v over axes %#x: %v", op, axes, err)
			}
		}
	}
}

// A convolution with a stride takes a row of any width, like Whisper's second layer (384x1x3000),
// and gives the values of its definition.
func TestStridedRowConvolution(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 4))
	for _, width := range []int{300, 1000} {
		l := layer.Conv(layer.Shape{N: 1, C: 24, H: 1, W: width}, 16, layer.Window{Kh: 1, Kw: 3, Sy: 1, Sx: 2, Px: 1, Qx: 1})
		w, err := weights.Complete(&list.Layer{Lower: l}, 1)
		if err != nil {
			t.Fatal(err)
		}
		x := halves(r, l.In.Elements())
		in := map[string][]float16.Float16{"x": x}
		want, err := run(l, w, in)
		if err != nil {
			t.Fatal(err)
		}
		l.Memories.L2 = 1 << 14 // fewer bytes than the row has
		got, err := run(l, w, in)
		if err != nil {
			t.Errorf("%d columns: %v", width, err)
		} else if !slices.Equal(got, want) {
			t.Errorf("%d columns: values differ from those with a large L2", width)
		}
	}
}

// A transpose that L2 holds only in parts has the elements of the same transpose as a whole.
func TestTransposesInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 5))
	s := layer.Shape{N: 2, C: 80, H: 33, W: 208}
	x := halves(r, s.Elements())
	for _, order := range [][3]layer.Axes{
		{}, {layer.AxisC, layer.AxisW, layer.AxisH}, {layer.AxisH, layer.AxisC, layer.AxisW}, {layer.AxisH, layer.AxisW, layer.AxisC}, {layer.AxisW, layer.AxisC, layer.AxisH},
	} {
		l := layer.Layer{Op: layer.Transpose, In: s, Order: order, Memories: layer.Memories{L2: 1 << 15}}
		got, err := run(l, layer.Weights{}, map[string][]float16.Float16{"x": x})
		if err != nil {
			t.Errorf("order %v: %v", order, err)
			continue
		}
		from, out := l.Permutation(), l.Out()
		at := map[layer.Axes]int{}
		for i, y := range got {
			at[from[2]], at[from[1]], at[from[0]] = i%out.W, i/out.W%out.H, i/out.W/out.H%out.C
			n := i / out.W / out.H / out.C
			if want := x[((n*s.C+at[layer.AxisC])*s.H+at[layer.AxisH])*s.W+at[layer.AxisW]]; y != want {
				t.Errorf("order %v: element %d is %v; want %v", order, i, y, want)
				break
			}
		}
	}
}

// Layers with more rows or columns than the 16,384 that one task can have give the values of their
// definition.
func TestMoreColumnsThanATask(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 6))
	wide, high := layer.Shape{N: 1, C: 2, H: 3, W: 20001}, layer.Shape{N: 1, C: 2, H: 20001, W: 3}
	var layers []layer.Layer
	for _, s := range []layer.Shape{wide, high} {
		layers = append(layers, layer.Unary(layer.ReLU, s), layer.Binary(layer.Add, s, s), layer.Binary(layer.Mul, s, layer.Shape{N: 1, C: 2, H: 1, W: 1}))
		for _, op := range []layer.Op{layer.ReduceMean, layer.ReduceMax, layer.ReduceMin, layer.Softmax} {
			for axes := layer.AxisC; axes <= layer.AxisC|layer.AxisH|layer.AxisW; axes++ {
				layers = append(layers, layer.Reduction(op, s, axes))
			}
		}
	}
	norm := layer.Reduction(layer.LayerNorm, high, layer.AxisW)
	norm.Epsilon = 0.01
	layers = append(layers, norm)
	for _, l := range layers {
		w, err := weights.Complete(&list.Layer{Lower: l}, 1)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string][]float16.Float16{"x": halves(r, l.In.Elements())}
		var second tensor
		if l.Op.IsBinary() {
			in["z"] = halves(r, l.SecondShape.Elements())
			second = tensor{l.SecondShape, floats(in["z"])}
		}
		var want []float64
		switch {
		case l.Op == layer.ReLU:
			for _, v := range floats(in["x"]) {
				want = append(want, max(v, 0))
			}
		case l.Op.IsBinary():
			for i, v := range floats(in["x"]) {
				if z := second.v[i*len(second.v)/l.In.Elements()]; l.Op == layer.Add {
					want = append(want, v+z)
				} else {
					want = append(want, v*z)
				}
			}
		default:
			want = gathered(l, tensor{l.In, floats(in["x"])})
		}
		got, err := run(l, w, in)
		if err == nil {
			err = near(got, want, 0.01)
		}
		if err != nil {
			t.Errorf("%v of %v, axes %#x: %v", l.Op, l.In, l.Axes, err)
		}
	}
}

// A product with more columns, or with longer sums, than the 16,384 of a task is near the one in
// float64.
func TestWideAndDeepProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 7))
	for _, tt := range []struct{ m, k, n int }{{1, 24, 70_001}, {3, 24, 20_001}, {200, 8, 17_000}, {1, 16_385, 3}, {5, 40_000, 2}, {130, 17_000, 2}, {3, 90_000, 2}} {
		for _, op := range []layer.Op{layer.MatMul, layer.Linear} {
			l := layer.Product(tt.m, tt.k, tt.n, layer.Constant)
			l.Op, l.Bias = op, true
			x, filter, bias := halves(r, tt.m*tt.k), halves(r, tt.k*tt.n), halves(r, tt.n)
			w := layer.Weights{Filter: filter, Bias: bias}
			got, err := run(l, w, map[string][]float16.Float16{"x": x})
			if err != nil {
				t.Errorf("%v: %v", tt, err)
				continue
			}
			a, b, c := floats(x), floats(filter), floats(bias)
			want := make([]float64, tt.m*tt.n)
			for i := range want {
				row, column := i/tt.n, i%tt.n
				want[i] = c[column]
				for k := range tt.k {
					at := k*tt.n + column
					if op == layer.Linear {
						at = column*tt.k + k
					}
					want[i] += a[row*tt.k+k] * b[at]
				}
			}
			tolerance := 0.002
			if tt.k > layer.MaxChannels { // two sums, each rounded
				tolerance = 0.06
			}
			if err := near(got, want, tolerance); err != nil {
				t.Errorf("%v, %v: %v", op, tt, err)
			}
		}
	}
}

// Each row of a skewed slice begins some columns before the row above, wherever that is in memory and
// however many rows L2 holds.
func TestSkewedSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 8))
	for _, tt := range []struct {
		in          layer.Shape
		begin, size int
		skew, l2    int
	}{
		{layer.Shape{N: 1, C: 1, H: 2, W: 3}, 1, 2, 1, 0}, {layer.Shape{N: 2, C: 8, H: 40, W: 79}, 39, 40, 1, 0}, {layer.Shape{N: 1, C: 3, H: 21, W: 200}, 120, 70, 5, 0},
		{layer.Shape{N: 1, C: 12, H: 40, W: 79}, 39, 40, 1, 1 << 14}, {layer.Shape{N: 1, C: 9, H: 17, W: 180}, 130, 50, 8, 1 << 15},
	} {
		l := layer.Layer{Op: layer.Slice, In: tt.in, Size: tt.in, Skew: tt.skew, Memories: layer.Memories{L2: tt.l2}}
		l.Begin.W, l.Size.W = tt.begin, tt.size
		x := halves(r, tt.in.Elements())
		got, err := run(l, layer.Weights{}, map[string][]float16.Float16{"x": x})
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		for i, y := range got {
			row := i / tt.size
			if want := x[row*tt.in.W+tt.begin-row%tt.in.H*tt.skew+i%tt.size]; y != want {
				t.Errorf("%+v: element %d is %v; want %v", tt, i, y, want)
				break
			}
		}
	}
}

// A layer norm over more columns than a task can have is computed in steps where they do not fold into
// rows, and gives the values of its definition.
func TestWideLayerNorms(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 6))
	prime := 16411
	for _, c := range []struct {
		s    layer.Shape
		axes layer.Axes
	}{
		{layer.Shape{N: 1, C: 1, H: 2, W: prime}, layer.AxisW}, {layer.Shape{N: 2, C: 2, H: 1, W: prime}, layer.AxisC | layer.AxisW},
		{layer.Shape{N: 1, C: 1, H: prime, W: 2}, layer.AxisH | layer.AxisW}, {layer.Shape{N: 1, C: prime, H: 2, W: 2}, layer.AxisC | layer.AxisH},
	} {
		l := layer.Reduction(layer.LayerNorm, c.s, c.axes)
		l.Epsilon = 0.01
		w, err := weights.Complete(&list.Layer{Lower: l}, 1)
		if err != nil {
			t.Fatal(err)
		}
		x := halves(r, c.s.Elements())
		got, err := run(l, w, map[string][]float16.Float16{"x": x})
		if err == nil {
			err = near(got, gathered(l, tensor{c.s, floats(x)}), 0.01)
		}
		if err != nil {
			t.Errorf("%v over axes %#x: %v", c.s, c.axes, err)
		}
	}
}
