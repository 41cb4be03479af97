package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/hw/mac"
	. "anesim/loader/lower"
	"anesim/loader/network"
	"anesim/loader/network/list"
)

// run lowers a layer, runs it on the model and returns its output.
func run(l Layer, w Weights, in map[string][]float16.Float16) ([]float16.Float16, error) {
	p, err := Lower(l, w)
	if err != nil {
		return nil, err
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: in, Workers: 1})
	if err != nil {
		return nil, err
	}
	for _, f := range res.Report.Faults {
		return nil, fmt.Errorf("fault: %+v", f)
	}
	for i, d := range res.Report.Descriptors {
		if !d.Computed {
			return nil, fmt.Errorf("descriptor %d: %s", i, d.Note())
		}
	}
	for _, o := range res.Outputs {
		if o.Port.Name == "y" {
			return o.Data, nil
		}
	}
	return nil, fmt.Errorf("no output y")
}

// halves are values of small magnitude with few bits, so that sums stay exact enough.
func halves(r *rand.Rand, n int) []float16.Float16 {
	h := make([]float16.Float16, n)
	for i := range h {
		h[i] = float16.Fromfloat32(float32(r.IntN(65)-32) / 32)
	}
	return h
}

func floats(h []float16.Float16) []float64 {
	f := make([]float64, len(h))
	for i, v := range h {
		f[i] = float64(v.Float32())
	}
	return f
}

// near compares with a tolerance of so many halves' ulps of the scale of the sums.
func near(got []float16.Float16, want []float64, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d values, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := float64(got[i].Float32())
		if d := math.Abs(g - w); d > tolerance*max(1, math.Abs(w)) {
			return fmt.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	return nil
}

// tensor reads the element (n, c, h, w), the last one where an axis repeats.
type tensor struct {
	s Shape
	v []float64
}

func (t tensor) at(n, c, h, w int) float64 {
	n, c, h, w = min(n, t.s.N-1), min(c, t.s.C-1), min(h, t.s.H-1), min(w, t.s.W-1)
	return t.v[((n*t.s.C+c)*t.s.H+h)*t.s.W+w]
}

// each fills a tensor of shape s.
func each(s Shape, f func(n, c, h, w int) float64) []float64 {
	v := make([]float64, 0, s.Elements())
	for n := range s.N {
		for c := range s.C {
			for h := range s.H {
				for w := range s.W {
					v = append(v, f(n, c, h, w))
				}
			}
		}
	}
	return v
}

// reference computes a layer in float64.
func reference(l Layer, wts Weights, in map[string][]float16.Float16) []float64 {
	x := tensor{l.In, floats(in["x"])}
	switch l.Op {
	case Convolution:
		return convolved(l, wts, x)
	case MatMul, Linear:
		f := floats(wts.Filter)
		z := floats(in["z"])
		bias := floats(wts.Bias)
		return each(l.Out(), func(n, c, h, w int) float64 {
			sum := 0.0
			for k := range l.In.W {
				b := 0.0
				switch {
				case l.Op == Linear:
					b = f[w*l.In.W+k]
				case l.Second == Runtime:
					b = z[((n*l.In.C+c)*l.In.W+k)*l.Columns+w]
				default:
					b = f[k*l.Columns+w]
				}
				sum += x.at(n, c, h, k) * b
			}
			if l.Bias {
				sum += bias[w]
			}
			return activated(l.Activation, sum)
		})
	case Add, Sub, Mul, Max, Min:
		second := tensor{l.SecondShape, floats(in["z"])}
		switch l.Second {
		case Scalar:
			second = tensor{Shape{1, 1, 1, 1}, floats(wts.Second)}
		case Constant:
			second = tensor{Shape{1, l.In.C, 1, 1}, floats(wts.Second)}
		case Itself:
			second = x
		}
		return each(l.In, func(n, c, h, w int) float64 {
			a, b := x.at(n, c, h, w), second.at(n, c, h, w)
			if l.SecondReLU {
				b = max(b, 0)
			}
			switch l.Op {
			case Add:
				return a + b
			case Sub:
				return a - b
			case Mul:
				return a * b
			case Max:
				return max(a, b)
			}
			return min(a, b)
		})
	case ReduceSum, ReduceMean, ReduceMax, Softmax, LayerNorm:
		return gathered(l, x)
	case Transpose:
		return each(l.Out(), func(n, c, h, w int) float64 { return x.at(n, w, h, c) })
	case Slice:
		b := l.Begin
		return each(l.Size, func(n, c, h, w int) float64 { return x.at(n+b.N, c+b.C, h+b.H, w+b.W) })
	}
	return each(l.In, func(n, c, h, w int) float64 { return activated(l.Op, x.at(n, c, h, w)) })
}

func activated(op Op, v float64) float64 {
	switch op {
	case ReLU:
		return max(v, 0)
	case Sigmoid:
		return 1 / (1 + math.Exp(-v))
	case Tanh:
		return math.Tanh(v)
	case Exp:
		return math.Exp(v)
	case Sqrt:
		return math.Sqrt(v)
	}
	return v
}

func convolved(l Layer, wts Weights, x tensor) []float64 {
	f, bias := floats(wts.Filter), floats(wts.Bias)
	win := l.Window
	groups := max(1, l.Groups)
	cin, cout := l.In.C/groups, l.Cout/groups
	return each(l.Out(), func(n, c, h, w int) float64 {
		sum := 0.0
		if l.Bias {
			sum = bias[c]
		}
		for k := range cin {
			for y := range win.Kh {
				for z := range win.Kw {
					sy, sx := h*win.Sy+y-win.Py, w*win.Sx+z-win.Px
					if sy < 0 || sx < 0 || sy >= l.In.H || sx >= l.In.W {
						continue
					}
					sum += x.at(n, c/cout*cin+k, sy, sx) * f[((c*cin+k)*win.Kh+y)*win.Kw+z]
				}
			}
		}
		return activated(l.Activation, sum)
	})
}

// gathered is what joins elements of an axis.
func gathered(l Layer, x tensor) []float64 {
	span := func(a Axes, n, at int) (int, int) {
		if l.Axes&a != 0 {
			return 0, n
		}
		return at, at + 1
	}
	over := func(n, c, h, w int, f func(v float64)) {
		c0, c1 := span(AxisC, l.In.C, c)
		h0, h1 := span(AxisH, l.In.H, h)
		w0, w1 := span(AxisW, l.In.W, w)
		for c := c0; c < c1; c++ {
			for h := h0; h < h1; h++ {
				for w := w0; w < w1; w++ {
					f(x.at(n, c, h, w))
				}
			}
		}
	}
	// What is joined is the same for every element of the axes that are: it is computed once.
	type joined struct {
		done       bool
		sum, count float64
		top, least float64
		total      float64 // of exponentials
		deviation  float64 // standard
	}
	known := make([]joined, l.In.Elements())
	of := func(n, c, h, w int) *joined {
		at := n
		for _, axis := range [...]struct {
			a     Axes
			n, at int
		}{{AxisC, l.In.C, c}, {AxisH, l.In.H, h}, {AxisW, l.In.W, w}} {
			at *= axis.n
			if l.Axes&axis.a == 0 {
				at += axis.at
			}
		}
		k := &known[at]
		if k.done {
			return k
		}
		*k = joined{done: true, top: math.Inf(-1), least: math.Inf(1)}
		over(n, c, h, w, func(v float64) {
			k.sum, k.count, k.top, k.least = k.sum+v, k.count+1, max(k.top, v), min(k.least, v)
		})
		mean, square := k.sum/k.count, 0.0
		over(n, c, h, w, func(v float64) {
			if l.Op == Softmax {
				k.total += math.Exp(v - k.top)
			}
			square += (v - mean) * (v - mean)
		})
		k.deviation = math.Sqrt(square/k.count + float64(l.Epsilon))
		return k
	}
	return each(l.Out(), func(n, c, h, w int) float64 {
		k := of(n, c, h, w)
		switch l.Op {
		case ReduceSum:
			return k.sum
		case ReduceMean:
			return k.sum / k.count
		case ReduceMax:
			return k.top
		case ReduceMin:
			return k.least
		case Softmax:
			return math.Exp(x.at(n, c, h, w)-k.top) / k.total
		}
		return (x.at(n, c, h, w) - k.sum/k.count) / k.deviation
	})
}

// check runs a layer on random values and compares.
func check(t *testing.T, r *rand.Rand, l Layer, w Weights, tolerance float64) {
	t.Helper()
	in := map[string][]float16.Float16{"x": halves(r, l.In.Elements())}
	switch {
	case l.Op == MatMul && l.Second == Runtime:
		in["z"] = halves(r, l.In.N*l.In.C*l.In.W*l.Columns)
	case l.Second == Runtime && l.Op >= Add && l.Op <= Min:
		in["z"] = halves(r, l.SecondShape.Elements())
	}
	got, err := run(l, w, in)
	if err == nil {
		err = near(got, reference(l, w, in), tolerance)
	}
	if err != nil {
		t.Errorf("%+v: %v", l, err)
	}
}

func randomConv(r *rand.Rand) (Layer, Weights) {
	k := 1 + r.IntN(3)
	in := Shape{1 + r.IntN(2), 1 + r.IntN(40), k + r.IntN(20), k + r.IntN(40)}
	w := Window{Kh: k, Kw: 1 + r.IntN(k), Sy: 1, Sx: 1, Py: r.IntN(k), Qy: r.IntN(k)}
	l := Conv(in, 1+r.IntN(70), w)
	switch r.IntN(5) {
	case 0:
		l = Depthwise(in, w)
	case 1:
		l.Groups = 1 + r.IntN(3)
		l.In.C, l.Cout = l.Groups*(1+r.IntN(8)), l.Groups*(1+r.IntN(15))
	case 2:
		l.Window.Sy, l.Window.Sx = 1+r.IntN(3), 1+r.IntN(3)
	}
	l.Bias = r.IntN(2) == 0
	if r.IntN(3) == 0 {
		l.Activation = ReLU
	}
	wts := Weights{Dense: r.IntN(2) == 0, Filter: halves(r, l.Cout*l.In.C/max(1, l.Groups)*l.Window.Kh*l.Window.Kw)}
	if l.Bias {
		wts.Bias = halves(r, l.Cout)
	}
	return l, wts
}

// rounds returns how many random layers a test tries of a kind: n, and three times as many with
// LONG=1.
func rounds(n int) int {
	if os.Getenv("LONG") != "" {
		return 3 * n
	}
	return n
}

func TestConvolutionValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range rounds(150) {
		l, w := randomConv(r)
		check(t, r, l, w, 0.01)
	}
	for range rounds(20) {
		in := Shape{1 + r.IntN(2), 2 + r.IntN(40), 1, 2 + r.IntN(400)}
		k := 1 + r.IntN(9)
		l := Depthwise(in, Window{Kh: 1, Kw: k, Sy: 1, Sx: 1, Px: k / 2, Qx: (k - 1) / 2})
		check(t, r, l, Weights{Filter: halves(r, in.C*k)}, 0.01)
		l = Conv(in, 16*(1+r.IntN(3)), Valid(1, 2))
		check(t, r, l, Weights{Filter: halves(r, l.Cout*in.C)}, 0.01)

		// The zero-skipping form, some of its weights zero.
		k = 1 + r.IntN(4)
		l = Conv(Shape{1, 1 + r.IntN(20), k + r.IntN(20), k + r.IntN(20)}, 16*(1+r.IntN(8)), Valid(k, 2))
		w := Weights{Filter: halves(r, l.Cout*l.In.C*k*k)}
		for range len(w.Filter) / 3 {
			w.Filter[r.IntN(len(w.Filter))] = 0
		}
		check(t, r, l, w, 0.01)
	}
	grouped := Conv(Shape{2, 128, 12, 13}, 256, Same(5, 1, Shape{1, 128, 12, 13}))
	grouped.Groups, grouped.Bias = 4, true // two groups a task
	deep := Depthwise(Shape{1, 1200, 13, 13}, Same(27, 1, Shape{1, 1200, 13, 13}))
	deep.Bias = true // two runs of channels
	heavy := Conv(Shape{1, 1024, 12, 12}, 64, Same(3, 1, Shape{1, 1024, 12, 12}))
	heavy.Groups = 2 // a group in parts
	for _, l := range []Layer{
		grouped, deep, heavy,
		Conv(Shape{1, 256, 12, 12}, 256, Same(3, 1, Shape{1, 256, 12, 12})), // two shares
		Conv(Shape{1, 1, 1, 1}, 1, Valid(1, 1)),
		Conv(Shape{1, 4097, 1, 1}, 3, Valid(1, 1)),
		Conv(Shape{1, 2, 1, 1}, 4096, Valid(1, 1)),
		Conv(Shape{1, 2, 16, 16}, 1024, Valid(1, 1)),
		Conv(Shape{1, 40, 700, 33}, 2, Valid(3, 2)), // tiles of rows
		Depthwise(Shape{1, 100, 5, 5}, Same(3, 1, Shape{1, 100, 5, 5})),
	} {
		taps := l.In.C / max(1, l.Groups) * l.Window.Kh * l.Window.Kw
		check(t, r, l, Weights{Filter: halves(r, l.Cout*taps), Bias: halves(r, l.Cout)}, 0.02)
	}
}

func TestProductValues(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range rounds(80) {
		m, k, n := 1+r.IntN(150), 1+r.IntN(150), 1+r.IntN(140)
		l := Product(m, k, n, Constant)
		if r.IntN(2) == 0 {
			l.Op = Linear
		}
		l.Bias = r.IntN(3) == 0
		if r.IntN(4) == 0 {
			l.In.N, l.In.C, l.In.H = 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(9)
		}
		w := Weights{Filter: halves(r, k*n)}
		if l.Bias {
			w.Bias = halves(r, n)
		}
		check(t, r, l, w, 0.02)
	}
	// The left side goes through memory, or stands there as columns.
	check(t, r, Product(300, 3300, 24, Constant), Weights{Filter: halves(r, 3300*24)}, 0.1)
	check(t, r, Product(200, 600, 1000, Constant), Weights{Filter: halves(r, 600*1000)}, 0.05)
	for range rounds(60) {
		m, k, n := 1+r.IntN(200), 1+r.IntN(100), 1+r.IntN(150)
		l := Product(m, k, n, Runtime)
		l.In.N, l.In.C = 1+r.IntN(2), 1+r.IntN(3)
		check(t, r, l, Weights{}, 0.02)
	}
}

func TestElementwiseValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	ops := []Op{Add, Sub, Mul, Max, Min}
	for range rounds(120) {
		s := Shape{1 + r.IntN(3), 1 + r.IntN(70), 1 + r.IntN(20), 1 + r.IntN(70)}
		l := Binary(ops[r.IntN(5)], s, s)
		var w Weights
		switch r.IntN(5) {
		case 0:
			l.SecondShape = Shape{s.N, s.C, 1, 1}
		case 1:
			l.Second, l.Op = Scalar, ops[r.IntN(3)]
			w.Second = halves(r, 1)
		case 2:
			l.Second, l.Op = Constant, ops[r.IntN(3)]
			w.Second = halves(r, s.C)
		case 3:
			l.Second, l.SecondReLU = Itself, true
		}
		check(t, r, l, w, 0.002)
	}
	check(t, r, Binary(Add, Shape{1, 64, 300, 64}, Shape{1, 64, 300, 64}), Weights{}, 0.002)
}

func TestMoveValues(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range rounds(80) {
		s := Shape{1 + r.IntN(3), 1 + r.IntN(40), 1 + r.IntN(10), 1 + r.IntN(70)}
		check(t, r, Unary(Transpose, s), Weights{}, 0)
		l := Layer{Op: Slice, In: s}
		l.Begin = Shape{r.IntN(s.N), r.IntN(s.C), r.IntN(s.H), r.IntN(s.W)}
		l.Size = Shape{1 + r.IntN(s.N-l.Begin.N), 1 + r.IntN(s.C-l.Begin.C), 1 + r.IntN(s.H-l.Begin.H), 1 + r.IntN(s.W-l.Begin.W)}
		check(t, r, l, Weights{}, 0)
	}
}

func TestConcatValues(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range rounds(30) {
		l := Layer{Op: Concat, In: Shape{1 + r.IntN(3), 0, 1 + r.IntN(10), 1 + r.IntN(50)}}
		for range 1 + r.IntN(4) {
			l.Parts = append(l.Parts, 1+r.IntN(20))
			l.In.C += l.Parts[len(l.Parts)-1]
		}
		want := halves(r, l.In.Elements())
		in, first := map[string][]float16.Float16{}, 0
		for i, c := range l.Parts {
			var part []float16.Float16
			plane := l.In.H * l.In.W
			for n := range l.In.N {
				at := (n*l.In.C + first) * plane
				part = append(part, want[at:at+c*plane]...)
			}
			in[fmt.Sprintf("x%d", i)] = part
			first += c
		}
		got, err := run(l, Weights{}, in)
		if err == nil {
			err = near(got, floats(want), 0)
		}
		if err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestReductionValues(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for range rounds(60) {
		s := Shape{1 + r.IntN(2), 1 + r.IntN(40), 1 + r.IntN(10), 1 + r.IntN(40)}
		axes := []Axes{AxisC, AxisH, AxisW, AxisH | AxisW, AxisC | AxisH | AxisW}
		l := Reduction([]Op{ReduceSum, ReduceMean}[r.IntN(2)], s, axes[r.IntN(5)])
		check(t, r, l, Weights{}, 0.01)
		check(t, r, Reduction(ReduceMax, s, axes[r.IntN(3)]), Weights{}, 0)
		l = Reduction(LayerNorm, s, []Axes{AxisC, AxisW, AxisH | AxisW, AxisC | AxisH | AxisW}[r.IntN(4)])
		l.Epsilon = 1e-3
		check(t, r, l, Weights{}, 0.02)
	}
	wide := Reduction(LayerNorm, Shape{1, 3, 2, 700}, AxisW)
	wide.Epsilon = 1e-3
	check(t, r, wide, Weights{}, 0.02)
}

func TestTableValues(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	tables := Weights{Table: Fitted(mac.Exp), Reciprocal: Fitted(mac.Reciprocal)}
	sigmoid, tanh := Fitted(mac.Sigmoid), Fitted(mac.Tanh)
	// As many rows as channels.
	check(t, r, Reduction(Softmax, Shape{2, 8, 8, 5}, AxisH), tables, 0.01)
	for range rounds(60) {
		s := Shape{1 + r.IntN(2), 1 + r.IntN(40), 1 + r.IntN(10), 1 + r.IntN(40)}
		check(t, r, Reduction(Softmax, s, []Axes{AxisC, AxisH, AxisW}[r.IntN(3)]), tables, 0.01)
		check(t, r, Unary(Sigmoid, s), Weights{Table: sigmoid}, 0.01)
		check(t, r, Unary(Tanh, s), Weights{Table: tanh}, 0.01)
		check(t, r, Unary(ReLU, s), Weights{}, 0)
	}
	for range rounds(30) {
		l, w := randomConv(r)
		l.Activation, w.Table = Sigmoid, sigmoid
		check(t, r, l, w, 0.01)
		l = Product(1+r.IntN(40), 1+r.IntN(40), 1+r.IntN(15), SecondKind(r.IntN(2)))
		l.Activation = Sigmoid
		check(t, r, l, Weights{Filter: halves(r, l.In.W*l.Columns), Table: w.Table}, 0.01)
	}
	check(t, r, Reduction(Softmax, Shape{1, 64, 1, 1}, AxisC), tables, 0.01)
	check(t, r, Reduction(Softmax, Shape{1, 8, 500, 40}, AxisW), tables, 0.01)
}

// TestStreams compares tensors beyond the L2 in the form of 2023, whose tasks pass them on
// through rings and scratch memory, with the definition.
func TestStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 23))
	s := Shape{1, 1, 900, 1120}
	for op, tolerance := range map[Op]float64{SiLU: 0.016, Log: 0.02, Ceil: 0, Softmax: 0.004} {
		if testing.Short() && op != Log {
			continue // a million values take a while
		}
		l := Unary(op, s)
		l.Release = Release2023
		if op == Softmax {
			l.Axes = AxisW
		}
		x := &list.Layer{Lower: l}
		w, err := network.Complete(x, 1)
		if err != nil {
			t.Fatal(err)
		}
		in := within(r, s.Elements(), 0.01, 3)
		got, err := run(l, w, map[string][]float16.Float16{"x": in})
		if err != nil {
			t.Errorf("%v: %v", op, err)
			continue
		}
		v := tensor{s, floats(in)}
		f := unaries[op].f
		want := each(s, func(n, c, h, w int) float64 {
			if op != Softmax {
				return f(l, v.at(n, c, h, w))
			}
			return 0
		})
		if op == Softmax {
			want = gathered(l, v)
		}
		if err := near(got, want, tolerance); err != nil {
			t.Errorf("%v: %v", op, err)
		}
	}
}
