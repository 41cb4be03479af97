package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/internal/datapath/mac"
	"anesim/loader/layer"
	. "anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// run lowers a layer, runs it on the model and returns its output.
func run(l layer.Layer, w layer.Weights, in map[string][]float16.Float16) ([]float16.Float16, error) {
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
	all := everyHalf()
	f := make([]float64, len(h))
	for i, v := range h {
		f[i] = all[v]
	}
	return f
}

// everyHalf returns the values of all fp16 numbers, indexed by their bits.
var everyHalf = sync.OnceValue(func() *[1 << 16]float64 {
	all := new([1 << 16]float64)
	for i := range all {
		all[i] = float64(float16.Frombits(uint16(i)).Float32())
	}
	return all
})

// near compares with a tolerance of so many halves' ulps of the scale of the sums.
func near(got []float16.Float16, want []float64, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d values, want %d", len(got), len(want))
	}
	for i, g := range floats(got) {
		w := want[i]
		if d := math.Abs(g - w); d > tolerance*max(1, math.Abs(w)) {
			return fmt.Errorf("element %d is %v; want %v", i, g, w)
		}
	}
	return nil
}

// tensor reads the element (n, c, h, w), the last one where an axis repeats.
type tensor struct {
	s layer.Shape
	v []float64
}

func (t tensor) at(n, c, h, w int) float64 {
	n, c, h, w = min(n, t.s.N-1), min(c, t.s.C-1), min(h, t.s.H-1), min(w, t.s.W-1)
	return t.v[((n*t.s.C+c)*t.s.H+h)*t.s.W+w]
}

// each fills a tensor of shape s.
func each(s layer.Shape, f func(n, c, h, w int) float64) []float64 {
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
func reference(l layer.Layer, wts layer.Weights, in map[string][]float16.Float16) []float64 {
	x := tensor{l.In, floats(in["x"])}
	switch l.Op {
	case layer.Convolution:
		return convolve(l, wts, x)
	case layer.MatMul, layer.Linear:
		return multiply(l, wts, x, floats(in["z"]))
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min:
		second := tensor{l.SecondShape, floats(in["z"])}
		switch l.Second {
		case layer.Scalar:
			second = tensor{layer.Shape{N: 1, C: 1, H: 1, W: 1}, floats(wts.Second)}
		case layer.Constant:
			second = tensor{layer.Shape{N: 1, C: l.In.C, H: 1, W: 1}, floats(wts.Second)}
		case layer.Itself:
			second = x
		}
		return each(l.In, func(n, c, h, w int) float64 {
			a, b := x.at(n, c, h, w), second.at(n, c, h, w)
			if l.SecondReLU {
				b = max(b, 0)
			}
			switch l.Op {
			case layer.Add:
				return a + b
			case layer.Sub:
				return a - b
			case layer.Mul:
				return a * b
			case layer.Max:
				return max(a, b)
			}
			return min(a, b)
		})
	case layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.Softmax, layer.LayerNorm:
		return gathered(l, x)
	case layer.Transpose:
		return each(l.Out(), func(n, c, h, w int) float64 { return x.at(n, w, h, c) })
	case layer.Slice:
		b := l.Begin
		return each(l.Size, func(n, c, h, w int) float64 { return x.at(n+b.N, c+b.C, h+b.H, w+b.W) })
	}
	return each(l.In, func(n, c, h, w int) float64 { return activated(l.Op, x.at(n, c, h, w)) })
}

func activated(op layer.Op, v float64) float64 {
	switch op {
	case layer.ReLU:
		return max(v, 0)
	case layer.Sigmoid:
		return 1 / (1 + math.Exp(-v))
	case layer.Tanh:
		return math.Tanh(v)
	case layer.Exp:
		return math.Exp(v)
	case layer.Sqrt:
		return math.Sqrt(v)
	}
	return v
}

// multiply computes the product of x and z, or of x and the weights.
func multiply(l layer.Layer, wts layer.Weights, x tensor, z []float64) []float64 {
	k, columns := l.In.W, l.Columns
	right := z
	if l.Op == layer.Linear {
		right = make([]float64, k*columns)
		for i, v := range floats(wts.Filter) { // rows of k values
			right[i%k*columns+i/k] = v
		}
	} else if l.Second != layer.Runtime {
		right = floats(wts.Filter)
	}
	y := make([]float64, l.Out().Elements())
	for row := range len(x.v) / k {
		to, matrix := y[row*columns:][:columns], right
		if l.Second == layer.Runtime && l.Op == layer.MatMul {
			matrix = right[row/l.In.H*k*columns:]
		}
		if l.Bias {
			copy(to, floats(wts.Bias))
		}
		for i, v := range x.v[row*k:][:k] {
			addScaled(to, v, matrix[i*columns:][:columns])
		}
		for i, v := range to {
			to[i] = activated(l.Activation, v)
		}
	}
	return y
}

// addScaled adds factor*from to the elements of to.
func addScaled(to []float64, factor float64, from []float64) {
	for i, v := range from[:len(to)] {
		to[i] += factor * v
	}
}

// convolve computes the convolution of x with the weights of l.
func convolve(l layer.Layer, wts layer.Weights, x tensor) []float64 {
	f, bias := floats(wts.Filter), floats(wts.Bias)
	win, in, out := l.Window, l.In, l.Out()
	groups := max(1, l.Groups)
	cin, cout := in.C/groups, l.Cout/groups
	y := make([]float64, out.Elements())
	for p := range out.N * out.C {
		n, c := p/out.C, p%out.C
		plane := y[p*out.H*out.W:][:out.H*out.W]
		if l.Bias {
			for i := range plane {
				plane[i] = bias[c]
			}
		}
		for k := range cin * win.Kh * win.Kw {
			i, ky, kx := k/win.Kw/win.Kh, k/win.Kw%win.Kh, k%win.Kw
			tap, source := f[c*cin*win.Kh*win.Kw+k], x.v[(n*in.C+c/cout*cin+i)*in.H*in.W:]
			// Columns first to end-1 of the result read columns of the source, the others padding.
			first := (max(0, win.Px-kx) + win.Sx - 1) / win.Sx
			end := min(out.W, (max(0, in.W+win.Px-kx)+win.Sx-1)/win.Sx)
			for h := range out.H {
				sy := h*win.Sy + ky - win.Py
				if sy < 0 || sy >= in.H || first >= end {
					continue
				}
				row, to := source[sy*in.W+first*win.Sx+kx-win.Px:], plane[h*out.W:][first:end]
				if win.Sx == 1 {
					addScaled(to, tap, row)
					continue
				}
				for w := range to {
					to[w] += tap * row[w*win.Sx]
				}
			}
		}
		for i, v := range plane {
			plane[i] = activated(l.Activation, v)
		}
	}
	return y
}

// gathered is what joins elements of an axis.
func gathered(l layer.Layer, x tensor) []float64 {
	span := func(a layer.Axes, n, at int) (int, int) {
		if l.Axes&a != 0 {
			return 0, n
		}
		return at, at + 1
	}
	over := func(n, c, h, w int, f func(v float64)) {
		c0, c1 := span(layer.AxisC, l.In.C, c)
		h0, h1 := span(layer.AxisH, l.In.H, h)
		w0, w1 := span(layer.AxisW, l.In.W, w)
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
			a     layer.Axes
			n, at int
		}{{layer.AxisC, l.In.C, c}, {layer.AxisH, l.In.H, h}, {layer.AxisW, l.In.W, w}} {
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
			if l.Op == layer.Softmax {
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
		case layer.ReduceSum:
			return k.sum
		case layer.ReduceMean:
			return k.sum / k.count
		case layer.ReduceMax:
			return k.top
		case layer.ReduceMin:
			return k.least
		case layer.Softmax:
			return math.Exp(x.at(n, c, h, w)-k.top) / k.total
		}
		return (x.at(n, c, h, w) - k.sum/k.count) / k.deviation
	})
}

// check runs a layer on random values and compares.
func check(t *testing.T, r *rand.Rand, l layer.Layer, w layer.Weights, tolerance float64) {
	t.Helper()
	in := map[string][]float16.Float16{"x": halves(r, l.In.Elements())}
	switch {
	case l.Op == layer.MatMul && l.Second == layer.Runtime:
		in["z"] = halves(r, l.In.N*l.In.C*l.In.W*l.Columns)
	case l.Second == layer.Runtime && l.Op >= layer.Add && l.Op <= layer.Min:
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

func randomConv(r *rand.Rand) (layer.Layer, layer.Weights) {
	k := 1 + r.IntN(3)
	in := layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(40), H: k + r.IntN(20), W: k + r.IntN(40)}
	w := layer.Window{Kh: k, Kw: 1 + r.IntN(k), Sy: 1, Sx: 1, Py: r.IntN(k), Qy: r.IntN(k)}
	l := layer.Conv(in, 1+r.IntN(70), w)
	switch r.IntN(5) {
	case 0:
		l = layer.Depthwise(in, w)
	case 1:
		l.Groups = 1 + r.IntN(3)
		l.In.C, l.Cout = l.Groups*(1+r.IntN(8)), l.Groups*(1+r.IntN(15))
	case 2:
		l.Window.Sy, l.Window.Sx = 1+r.IntN(3), 1+r.IntN(3)
	}
	l.Bias = r.IntN(2) == 0
	if r.IntN(3) == 0 {
		l.Activation = layer.ReLU
	}
	wts := layer.Weights{Dense: r.IntN(2) == 0, Filter: halves(r, l.Cout*l.In.C/max(1, l.Groups)*l.Window.Kh*l.Window.Kw)}
	if l.Bias {
		wts.Bias = halves(r, l.Cout)
	}
	return l, wts
}

// rounds returns how many random layers a test tries of a kind: n, and five times as many with
// LONG=1.
func rounds(n int) int {
	if os.Getenv("LONG") != "" {
		return 5 * n
	}
	return n
}

func TestConvolutionValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range rounds(90) {
		l, w := randomConv(r)
		check(t, r, l, w, 0.01)
	}
	for range rounds(12) {
		in := layer.Shape{N: 1 + r.IntN(2), C: 2 + r.IntN(40), H: 1, W: 2 + r.IntN(400)}
		k := 1 + r.IntN(9)
		l := layer.Depthwise(in, layer.Window{Kh: 1, Kw: k, Sy: 1, Sx: 1, Px: k / 2, Qx: (k - 1) / 2})
		check(t, r, l, layer.Weights{Filter: halves(r, in.C*k)}, 0.01)
		l = layer.Conv(in, 16*(1+r.IntN(3)), layer.Valid(1, 2))
		check(t, r, l, layer.Weights{Filter: halves(r, l.Cout*in.C)}, 0.01)

		// The zero-skipping form, some of its weights zero.
		k = 1 + r.IntN(4)
		l = layer.Conv(layer.Shape{N: 1, C: 1 + r.IntN(20), H: k + r.IntN(20), W: k + r.IntN(20)}, 16*(1+r.IntN(8)), layer.Valid(k, 2))
		w := layer.Weights{Filter: halves(r, l.Cout*l.In.C*k*k)}
		for range len(w.Filter) / 3 {
			w.Filter[r.IntN(len(w.Filter))] = 0
		}
		check(t, r, l, w, 0.01)
	}
	for range rounds(20) {
		// Two pixels per step, with padding wider than the window or with dilation.
		in := layer.Shape{N: 1 + r.IntN(2), C: 2 + r.IntN(40), H: 1, W: 9 + r.IntN(400)}
		k, d := 1+r.IntN(3), 2+r.IntN(2)
		l := layer.Depthwise(in, layer.Window{Kh: 1, Kw: k, Sy: 1, Sx: 1, Px: k + r.IntN(3), Qx: r.IntN(3)})
		check(t, r, l, layer.Weights{Filter: halves(r, in.C*k)}, 0.01)

		l.Window.Kw, l.Window.Px = (k-1)*d+1, r.IntN(9)
		dense := l // zeros between its taps
		l.Dilation = d
		w, zeros := layer.Weights{Filter: halves(r, in.C*k)}, layer.Weights{Filter: make([]float16.Float16, in.C*l.Window.Kw)}
		for i, v := range w.Filter {
			zeros.Filter[i/k*l.Window.Kw+i%k*d] = v
		}
		x := map[string][]float16.Float16{"x": halves(r, l.In.Elements())}
		got, err := run(l, w, x)
		if err == nil {
			err = near(got, reference(dense, zeros, x), 0.01)
		}
		if err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
	grouped := layer.Conv(layer.Shape{N: 2, C: 128, H: 12, W: 13}, 256, layer.Same(5, 1, layer.Shape{N: 1, C: 128, H: 12, W: 13}))
	grouped.Groups, grouped.Bias = 4, true // two groups a task
	deep := layer.Depthwise(layer.Shape{N: 1, C: 1200, H: 13, W: 13}, layer.Same(27, 1, layer.Shape{N: 1, C: 1200, H: 13, W: 13}))
	deep.Bias = true // two runs of channels
	heavy := layer.Conv(layer.Shape{N: 1, C: 1024, H: 12, W: 12}, 64, layer.Same(3, 1, layer.Shape{N: 1, C: 1024, H: 12, W: 12}))
	heavy.Groups = 2 // a group in parts
	for _, l := range []layer.Layer{
		grouped, deep, heavy,
		layer.Conv(layer.Shape{N: 1, C: 256, H: 12, W: 12}, 256, layer.Same(3, 1, layer.Shape{N: 1, C: 256, H: 12, W: 12})), // two shares
		layer.Conv(layer.Shape{N: 1, C: 256, H: 2, W: 200}, 256, layer.Same(3, 1, layer.Shape{N: 1, C: 256, H: 2, W: 200})), // of a source in slices
		layer.Conv(layer.Shape{N: 1, C: 768, H: 1, W: 260}, 768, layer.Valid(1, 1)),
		layer.Conv(layer.Shape{N: 1, C: 1, H: 1, W: 1}, 1, layer.Valid(1, 1)),
		layer.Conv(layer.Shape{N: 1, C: 4097, H: 1, W: 1}, 3, layer.Valid(1, 1)),
		layer.Conv(layer.Shape{N: 1, C: 2, H: 1, W: 1}, 4096, layer.Valid(1, 1)),
		layer.Conv(layer.Shape{N: 1, C: 2, H: 16, W: 16}, 1024, layer.Valid(1, 1)),
		layer.Conv(layer.Shape{N: 1, C: 40, H: 700, W: 33}, 2, layer.Valid(3, 2)), // tiles of rows
		layer.Depthwise(layer.Shape{N: 1, C: 100, H: 5, W: 5}, layer.Same(3, 1, layer.Shape{N: 1, C: 100, H: 5, W: 5})),
	} {
		taps := l.In.C / max(1, l.Groups) * l.Window.Kh * l.Window.Kw
		check(t, r, l, layer.Weights{Filter: halves(r, l.Cout*taps), Bias: halves(r, l.Cout)}, 0.02)
	}
}

func TestProductValues(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range rounds(48) {
		m, k, n := 1+r.IntN(150), 1+r.IntN(150), 1+r.IntN(140)
		l := layer.Product(m, k, n, layer.Constant)
		if r.IntN(2) == 0 {
			l.Op = layer.Linear
		}
		l.Bias = r.IntN(3) == 0
		if r.IntN(4) == 0 {
			l.In.N, l.In.C, l.In.H = 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(9)
		}
		w := layer.Weights{Filter: halves(r, k*n)}
		if l.Bias {
			w.Bias = halves(r, n)
		}
		check(t, r, l, w, 0.02)
	}
	// The left side goes through memory, or stands there as columns.
	check(t, r, layer.Product(300, 3300, 24, layer.Constant), layer.Weights{Filter: halves(r, 3300*24)}, 0.1)
	check(t, r, layer.Product(200, 600, 1000, layer.Constant), layer.Weights{Filter: halves(r, 600*1000)}, 0.05)
	for range rounds(36) {
		m, k, n := 1+r.IntN(200), 1+r.IntN(100), 1+r.IntN(150)
		l := layer.Product(m, k, n, layer.Runtime)
		l.In.N, l.In.C = 1+r.IntN(2), 1+r.IntN(3)
		check(t, r, l, layer.Weights{}, 0.02)
	}
}

func TestElementwiseValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	ops := []layer.Op{layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min}
	for range rounds(72) {
		s := layer.Shape{N: 1 + r.IntN(3), C: 1 + r.IntN(70), H: 1 + r.IntN(20), W: 1 + r.IntN(70)}
		l := layer.Binary(ops[r.IntN(5)], s, s)
		var w layer.Weights
		switch r.IntN(5) {
		case 0:
			l.SecondShape = layer.Shape{N: s.N, C: s.C, H: 1, W: 1}
		case 1:
			l.Second, l.Op = layer.Scalar, ops[r.IntN(3)]
			w.Second = halves(r, 1)
		case 2:
			l.Second, l.Op = layer.Constant, ops[r.IntN(3)]
			w.Second = halves(r, s.C)
		case 3:
			l.Second, l.SecondReLU = layer.Itself, true
		}
		check(t, r, l, w, 0.002)
	}
	check(t, r, layer.Binary(layer.Add, layer.Shape{N: 1, C: 64, H: 300, W: 64}, layer.Shape{N: 1, C: 64, H: 300, W: 64}), layer.Weights{}, 0.002)
}

// A tensor divided by itself is 1 everywhere.
func TestQuotientByItself(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	for _, s := range []layer.Shape{{N: 1, C: 2, H: 1, W: 4}, {N: 2, C: 5, H: 3, W: 40}} {
		l := layer.Layer{Op: layer.RealDiv, In: s, SecondShape: s, Second: layer.Itself}
		y, err := run(l, layer.Weights{Table: Fitted(mac.Reciprocal)}, map[string][]float16.Float16{"x": within(r, s.Elements(), 0.5, 8)})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range floats(y) {
			if math.Abs(v-1) > 0.002 {
				t.Fatalf("%+v: element %d is %v, want 1", s, i, v)
			}
		}
	}
}

func TestMoveValues(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range rounds(48) {
		s := layer.Shape{N: 1 + r.IntN(3), C: 1 + r.IntN(40), H: 1 + r.IntN(10), W: 1 + r.IntN(70)}
		check(t, r, layer.Unary(layer.Transpose, s), layer.Weights{}, 0)
		l := layer.Layer{Op: layer.Slice, In: s}
		l.Begin = layer.Shape{N: r.IntN(s.N), C: r.IntN(s.C), H: r.IntN(s.H), W: r.IntN(s.W)}
		l.Size = layer.Shape{N: 1 + r.IntN(s.N-l.Begin.N), C: 1 + r.IntN(s.C-l.Begin.C), H: 1 + r.IntN(s.H-l.Begin.H), W: 1 + r.IntN(s.W-l.Begin.W)}
		check(t, r, l, layer.Weights{}, 0)
	}
}

func TestConcatValues(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range rounds(18) {
		l := layer.Layer{Op: layer.Concat, In: layer.Shape{N: 1 + r.IntN(3), C: 0, H: 1 + r.IntN(10), W: 1 + r.IntN(50)}}
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
		got, err := run(l, layer.Weights{}, in)
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
	for range rounds(36) {
		s := layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(40), H: 1 + r.IntN(10), W: 1 + r.IntN(40)}
		axes := []layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW, layer.AxisH | layer.AxisW, layer.AxisC | layer.AxisH | layer.AxisW}
		l := layer.Reduction([]layer.Op{layer.ReduceSum, layer.ReduceMean}[r.IntN(2)], s, axes[r.IntN(5)])
		check(t, r, l, layer.Weights{}, 0.01)
		check(t, r, layer.Reduction(layer.ReduceMax, s, axes[r.IntN(3)]), layer.Weights{}, 0)
		l = layer.Reduction(layer.LayerNorm, s, []layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH | layer.AxisW, layer.AxisC | layer.AxisH | layer.AxisW}[r.IntN(4)])
		l.Epsilon = 1e-3
		check(t, r, l, layer.Weights{}, 0.02)
	}
	wide := layer.Reduction(layer.LayerNorm, layer.Shape{N: 1, C: 3, H: 2, W: 700}, layer.AxisW)
	wide.Epsilon = 1e-3
	check(t, r, wide, layer.Weights{}, 0.02)
}

func TestTableValues(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	tables := layer.Weights{Table: Fitted(mac.Exp), Reciprocal: Fitted(mac.Reciprocal)}
	sigmoid, tanh := Fitted(mac.Sigmoid), Fitted(mac.Tanh)
	// As many rows as channels.
	check(t, r, layer.Reduction(layer.Softmax, layer.Shape{N: 2, C: 8, H: 8, W: 5}, layer.AxisH), tables, 0.01)
	for range rounds(36) {
		s := layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(40), H: 1 + r.IntN(10), W: 1 + r.IntN(40)}
		check(t, r, layer.Reduction(layer.Softmax, s, []layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW}[r.IntN(3)]), tables, 0.01)
		check(t, r, layer.Unary(layer.Sigmoid, s), layer.Weights{Table: sigmoid}, 0.01)
		check(t, r, layer.Unary(layer.Tanh, s), layer.Weights{Table: tanh}, 0.01)
		check(t, r, layer.Unary(layer.ReLU, s), layer.Weights{}, 0)
	}
	for range rounds(18) {
		l, w := randomConv(r)
		l.Activation, w.Table = layer.Sigmoid, sigmoid
		check(t, r, l, w, 0.01)
		l = layer.Product(1+r.IntN(40), 1+r.IntN(40), 1+r.IntN(15), layer.SecondKind(r.IntN(2)))
		l.Activation = layer.Sigmoid
		check(t, r, l, layer.Weights{Filter: halves(r, l.In.W*l.Columns), Table: w.Table}, 0.01)
	}
	check(t, r, layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 64, H: 1, W: 1}, layer.AxisC), tables, 0.01)
	check(t, r, layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 8, H: 500, W: 40}, layer.AxisW), tables, 0.01)
}

// TestStreams compares tensors beyond L2 in the form of 2023, whose tasks pass them on
// through rings and scratch memory, with the definition.
func TestStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 23))
	s := layer.Shape{N: 1, C: 1, H: 900, W: 1120}
	for op, tolerance := range map[layer.Op]float64{layer.SiLU: 0.016, layer.Log: 0.02, layer.Ceil: 0, layer.Softmax: 0.004} {
		if testing.Short() && op != layer.Log {
			continue // a million values take a while
		}
		l := layer.Unary(op, s)
		l.Release = layer.Release2023
		if op == layer.Softmax {
			l.Axes = layer.AxisW
		}
		x := &list.Layer{Lower: l}
		w, err := weights.Complete(x, 1)
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
			if op != layer.Softmax {
				return f(l, v.at(n, c, h, w))
			}
			return 0
		})
		if op == layer.Softmax {
			want = gathered(l, v)
		}
		if err := near(got, want, tolerance); err != nil {
			t.Errorf("%v: %v", op, err)
		}
	}
}

// TestWideFormValues compares layers of the forms that begin at wide rows, at a column or at a batch
// with the definition.
func TestWideFormValues(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	tables := layer.Weights{Table: Fitted(mac.Exp), Reciprocal: Fitted(mac.Reciprocal)}
	for range rounds(8) {
		// Rows of 129 to 700 elements: patches of one row, and of two for a single source.
		s := layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(3), H: 1 + r.IntN(4), W: 129 + r.IntN(572)}
		check(t, r, layer.Binary(layer.Add, s, s), layer.Weights{}, 0.002)
		check(t, r, layer.Layer{Op: layer.Mul, In: s, Second: layer.Scalar}, layer.Weights{Second: halves(r, 1)}, 0.002)
		check(t, r, layer.Layer{Op: layer.Add, In: s, SecondShape: s, Second: layer.Itself, SecondReLU: true}, layer.Weights{}, 0.002)
		s.C = 1
		check(t, r, layer.Reduction(layer.Softmax, s, layer.AxisC), tables, 0.01)

		// An operand that repeats along the batch, and along other axes.
		s = layer.Shape{N: 2 + r.IntN(3), C: 1 + r.IntN(20), H: 1 + r.IntN(9), W: 1 + r.IntN(40)}
		for _, second := range []layer.Shape{{N: 1, C: s.C, H: 1, W: 1}, {N: 1, C: s.C, H: s.H, W: s.W}, {N: 1, C: 1, H: s.H, W: 1}} {
			check(t, r, layer.Binary(layer.Mul, s, second), layer.Weights{}, 0.002)
		}

		// A column, each channel by itself.
		k := 1 + r.IntN(9)
		column := layer.Depthwise(layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(40), H: k + r.IntN(90), W: 1}, layer.Window{Kh: k, Kw: 1, Sy: 1, Sx: 1, Py: k / 2, Qy: (k - 1) / 2})
		check(t, r, column, layer.Weights{Filter: halves(r, column.In.C*k)}, 0.01)
	}
	for range rounds(3) {
		// A source in wide rows that the tasks of several shares read.
		l := layer.Conv(layer.Shape{N: 1, C: 700 + r.IntN(100), H: 1 + r.IntN(2), W: 129 + r.IntN(100)}, 750, layer.Valid(1, 1))
		check(t, r, l, layer.Weights{Filter: halves(r, l.Cout*l.In.C)}, 0.02)
	}
}
