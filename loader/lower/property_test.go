package lower_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/layer"
	. "anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// The counts are small here; .ci/long runs 5,000 layers and 500 chains.
var (
	layers = flag.Int("layers", 90, "random layers of TestAnyLayerValues")
	seed   = flag.Uint64("seed", 10, "seed of random layers and chains")
)

// unaries are the functions of one input: what they compute, from where to where they are
// tried, and how far a table may be from it, absolutely or of the value where that is
// above 1.
var unaries = map[layer.Op]struct {
	f         func(l layer.Layer, v float64) float64
	low, high float64
	error     float64
}{
	layer.ReLU:        {func(_ layer.Layer, v float64) float64 { return max(v, 0) }, -4, 4, 0},
	layer.Sigmoid:     {func(_ layer.Layer, v float64) float64 { return 1 / (1 + math.Exp(-v)) }, -8, 8, 0.004},
	layer.Tanh:        {func(_ layer.Layer, v float64) float64 { return math.Tanh(v) }, -4, 4, 0.003},
	layer.GELU:        {func(_ layer.Layer, v float64) float64 { return v / 2 * math.Erfc(-v/math.Sqrt2) }, -4, 4, 0.007},
	layer.SiLU:        {func(_ layer.Layer, v float64) float64 { return v / (1 + math.Exp(-v)) }, -8, 8, 0.016},
	layer.Exp:         {func(_ layer.Layer, v float64) float64 { return math.Exp(v) }, -5, 5, 0.004},
	layer.Sqrt:        {func(_ layer.Layer, v float64) float64 { return math.Sqrt(v) }, 0.01, 90, 0.002},
	layer.Rsqrt:       {func(l layer.Layer, v float64) float64 { return 1 / math.Sqrt(v+float64(l.Epsilon)) }, 0.01, 90, 0.004},
	layer.Abs:         {func(_ layer.Layer, v float64) float64 { return math.Abs(v) }, -90, 90, 0},
	layer.Square:      {func(_ layer.Layer, v float64) float64 { return v * v }, -90, 90, 0.001},
	layer.Cube:        {func(_ layer.Layer, v float64) float64 { return v * v * v }, -9, 9, 0.002},
	layer.LeakyReLU:   {func(l layer.Layer, v float64) float64 { return max(v, 0) + float64(l.Alpha)*min(v, 0) }, -9, 9, 0.002},
	layer.ReLU6:       {func(_ layer.Layer, v float64) float64 { return min(max(v, 0), 6) }, -9, 9, 0},
	layer.Clip:        {func(l layer.Layer, v float64) float64 { return min(max(v, float64(l.Low)), float64(l.High)) }, -9, 9, 0.001},
	layer.ELU:         {func(l layer.Layer, v float64) float64 { return max(v, 0) + float64(l.Alpha)*math.Expm1(min(v, 0)) }, -7, 7, 0.02},
	layer.SELU:        {func(_ layer.Layer, v float64) float64 { return 1.0507 * (max(v, 0) + 1.67326*math.Expm1(min(v, 0))) }, -7, 7, 0.03},
	layer.HardSigmoid: {func(_ layer.Layer, v float64) float64 { return min(max(v/6+0.5, 0), 1) }, -5, 5, 0.002},
	layer.HardSwish:   {func(_ layer.Layer, v float64) float64 { return v * min(max(v/6+0.5, 0), 1) }, -5, 5, 0.004},
	layer.Softplus:    {func(_ layer.Layer, v float64) float64 { return math.Log1p(math.Exp(v)) }, -8, 8, 0.02},
	layer.Softsign:    {func(_ layer.Layer, v float64) float64 { return v / (1 + math.Abs(v)) }, -7, 7, 0.02},
	layer.Sign: {func(_ layer.Layer, v float64) float64 {
		if v == 0 {
			return 0
		}
		return math.Copysign(1, v)
	}, -9, 9, 0},
	layer.Ceil:    {func(_ layer.Layer, v float64) float64 { return math.Ceil(v) }, -90, 90, 0},
	layer.Floor:   {func(_ layer.Layer, v float64) float64 { return math.Floor(v) }, -90, 90, 0},
	layer.Frac:    {func(_ layer.Layer, v float64) float64 { return v - math.Trunc(v) }, -90, 90, 0.001},
	layer.Log:     {func(_ layer.Layer, v float64) float64 { return math.Log(v) }, 0.01, 900, 0.003},
	layer.Inverse: {func(l layer.Layer, v float64) float64 { return 1 / (v + float64(l.Epsilon)) }, 0.1, 90, 0.002},
	layer.Sin:     {func(_ layer.Layer, v float64) float64 { return math.Sin(v) }, -3, 3, 0.02},
	layer.Cos:     {func(_ layer.Layer, v float64) float64 { return math.Cos(v) }, -3, 3, 0.02},
	layer.Atan:    {func(_ layer.Layer, v float64) float64 { return math.Atan(v) }, -30, 30, 0.04},
	layer.Erf:     {func(_ layer.Layer, v float64) float64 { return math.Erf(v) }, -3, 3, 0.004},
}

// within are n values from low to high with few bits.
func within(r *rand.Rand, n int, low, high float64) []float16.Float16 {
	h := make([]float16.Float16, n)
	for i := range h {
		h[i] = float16.Fromfloat32(float32(low + (high-low)*float64(r.IntN(257))/256))
	}
	return h
}

// small is a shape of a few thousand elements; each axis is 1 now and then.
func small(r *rand.Rand) layer.Shape {
	side := func(most int) int {
		if r.IntN(4) == 0 {
			return 1
		}
		return 1 + r.IntN(most)
	}
	s := layer.Shape{N: 1 + r.IntN(2), C: side(40), H: side(14), W: side(40)}
	switch r.IntN(8) {
	case 0:
		s.W = 100 + r.IntN(200)
		s.H = side(4)
	case 1:
		s.C, s.H = 1, 190+r.IntN(20)
	case 2: // wider than a patch of the planar engine, by itself and in slices
		s.W = 500 + r.IntN(800)
		s.C, s.H = side(6), side(3)
	}
	return s
}

// aLayer is a random layer with the values it carries, its inputs, what it computes and
// how near the program has to come.
func aLayer(r *rand.Rand) (l layer.Layer, w layer.Weights, in map[string][]float16.Float16, f func(layer.Weights) []float64, tolerance float64) {
	s := small(r)
	in = map[string][]float16.Float16{}
	tolerance = 0.004
	x := func() tensor { return tensor{s, floats(in["x"])} }
	switch r.IntN(13) {
	case 9:
		l, w = randomConv(r)
		in["x"] = halves(r, l.In.Elements())
		if l.Activation == 0 && r.IntN(3) == 0 {
			l.Activation = []layer.Op{layer.Sigmoid, layer.Tanh}[r.IntN(2)]
		}
		return l, w, in, func(w layer.Weights) []float64 { return reference(l, w, in) }, 0.01
	case 10:
		return moved(r, s)
	case 11:
		return joined(r, s)
	case 12:
		l = layer.Unary(layer.Pad, s)
		l.Fill, l.Value = layer.Fill(r.IntN(3)), -2.5
		side := func(n int) int {
			if l.Fill == layer.FillReflect {
				return r.IntN(min(n, 9))
			}
			return r.IntN(9)
		}
		win := &l.Window
		win.Py, win.Qy, win.Px, win.Qx = side(s.H), side(s.H), side(s.W), side(s.W)
		in["x"] = halves(r, s.Elements())
		place := func(i, n int) (int, bool) {
			switch {
			case i >= 0 && i < n:
				return i, true
			case l.Fill == layer.FillEdge:
				return max(0, min(n-1, i)), true
			case l.Fill == layer.FillReflect && i < 0:
				return -i, true
			case l.Fill == layer.FillReflect:
				return 2*n - 2 - i, true
			}
			return 0, false
		}
		return l, w, in, func(layer.Weights) []float64 {
			a := x()
			return each(l.Out(), func(n, c, h, w int) float64 {
				y, inside := place(h-win.Py, s.H)
				z, beside := place(w-win.Px, s.W)
				if !inside || !beside {
					return float64(l.Value)
				}
				return a.at(n, c, y, z)
			})
		}, 0
	case 0, 1:
		var ops []layer.Op
		for op := layer.Op(1); op.String() != fmt.Sprintf("Op(%d)", uint8(op)); op++ {
			if _, ok := unaries[op]; ok {
				ops = append(ops, op)
			}
		}
		l = layer.Unary(ops[r.IntN(len(ops))], s)
		l.Alpha, l.Low, l.High, l.Epsilon = 0.25, -1.5, 2.5, 0.5
		u := unaries[l.Op]
		in["x"] = within(r, s.Elements(), u.low, u.high)
		return l, w, in, func(layer.Weights) []float64 {
			a := x()
			return each(s, func(n, c, h, w int) float64 { return u.f(l, a.at(n, c, h, w)) })
		}, u.error + 0.0006
	case 2, 3:
		ops := []layer.Op{layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average}
		l = layer.Layer{Op: ops[r.IntN(len(ops))], In: s, SecondShape: s, Second: layer.SecondKind(r.IntN(3))}
		if r.IntN(2) == 0 {
			l.Activation = layer.ReLU
		}
		if l.Second == layer.Scalar && (l.Op == layer.Max || l.Op == layer.Min) {
			l.Activation = 0
		}
		in["x"] = halves(r, s.Elements())
		second := l.SecondShape
		switch l.Second {
		case layer.Runtime:
			for _, a := range []*int{&l.SecondShape.C, &l.SecondShape.H, &l.SecondShape.W} {
				if r.IntN(2) == 0 {
					*a = 1
				}
			}
			second = l.SecondShape
			in["z"] = within(r, second.Elements(), 0.5, 2)
		case layer.Constant:
			second = layer.Shape{N: 1, C: s.C, H: 1, W: 1}
			w.Second = within(r, s.C, 0.5, 2)
		case layer.Scalar:
			second = layer.Shape{N: 1, C: 1, H: 1, W: 1}
			w.Second = within(r, 1, 0.5, 2)
		}
		return l, w, in, func(w layer.Weights) []float64 {
			z := tensor{second, floats(in["z"])}
			if l.Second != layer.Runtime {
				z.v = floats(w.Second)
			}
			a := x()
			return each(s, func(n, c, h, w int) float64 {
				p, q := a.at(n, c, h, w), z.at(n, c, h, w)
				v := map[layer.Op]float64{layer.Add: p + q, layer.Sub: p - q, layer.Mul: p * q, layer.Max: max(p, q), layer.Min: min(p, q), layer.RealDiv: p / q, layer.Average: (p + q) / 2}[l.Op]
				if l.Activation == layer.ReLU {
					v = max(v, 0)
				}
				return v
			})
		}, tolerance
	case 4:
		ops := []layer.Op{layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.ReduceMin}
		l = layer.Reduction(ops[r.IntN(len(ops))], s, layer.Axes(1+r.IntN(7)))
		in["x"] = halves(r, s.Elements())
		return l, w, in, func(layer.Weights) []float64 { return gathered(l, x()) }, 0.01
	case 5:
		l = layer.Reduction(layer.Softmax, s, layer.Axes(1+r.IntN(7)))
		tolerance = 0.01
		if r.IntN(2) == 0 {
			l = layer.Reduction(layer.LayerNorm, s, layer.Axes(1+r.IntN(7)))
			l.Epsilon = 0.01
			tolerance = 0.03
		}
		in["x"] = halves(r, s.Elements())
		return l, w, in, func(layer.Weights) []float64 { return gathered(l, x()) }, tolerance
	case 6:
		orders := [][3]layer.Axes{
			{layer.AxisC, layer.AxisH, layer.AxisW}, {layer.AxisC, layer.AxisW, layer.AxisH}, {layer.AxisH, layer.AxisC, layer.AxisW},
			{layer.AxisH, layer.AxisW, layer.AxisC}, {layer.AxisW, layer.AxisC, layer.AxisH}, {layer.AxisW, layer.AxisH, layer.AxisC},
		}
		in["x"] = halves(r, s.Elements())
		if r.IntN(3) == 0 {
			s.W = roundTo(s.W, 32)
			l = layer.Unary(layer.Tile, s)
			l.Reps = layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(3), H: 1 + r.IntN(3), W: 1 + r.IntN(2)}
			in["x"] = halves(r, s.Elements())
			return l, w, in, func(layer.Weights) []float64 {
				a := x()
				return each(l.Out(), func(n, c, h, w int) float64 { return a.at(n%s.N, c%s.C, h%s.H, w%s.W) })
			}, 0
		}
		l = layer.Unary(layer.Transpose, s)
		l.Order = orders[r.IntN(len(orders))]
		return l, w, in, func(layer.Weights) []float64 {
			a := x()
			return each(l.Out(), func(n, c, h, w int) float64 {
				at := map[layer.Axes]int{l.Order[0]: c, l.Order[1]: h, l.Order[2]: w}
				return a.at(n, at[layer.AxisC], at[layer.AxisH], at[layer.AxisW])
			})
		}, 0
	case 7:
		return windowed(r)
	}
	// Products with either side turned.
	m, k, n := 1+r.IntN(40), 32*(1+r.IntN(3)), 1+r.IntN(60)
	l = layer.Product(m, k, n, layer.SecondKind(r.IntN(2)))
	l.TransposeX = r.IntN(2) == 0
	l.TransposeY = l.Second == layer.Runtime && r.IntN(2) == 0
	in["x"] = halves(r, m*k)
	right := halves(r, k*n)
	if l.Second == layer.Runtime {
		in["z"] = right
	} else {
		w.Filter = right
	}
	return l, w, in, func(layer.Weights) []float64 {
		a, b := floats(in["x"]), floats(right)
		return each(l.Out(), func(_, _, h, w int) float64 {
			sum := 0.0
			for i := range k {
				p, q := a[h*k+i%k], b[i*n+w]
				if l.TransposeX {
					p = a[i*m+h]
				}
				if l.TransposeY {
					q = b[w*k+i]
				}
				sum += p * q
			}
			return sum
		})
	}, 0.02
}

// moved is a part of a tensor, or several tensors behind one another.
func moved(r *rand.Rand, s layer.Shape) (l layer.Layer, w layer.Weights, in map[string][]float16.Float16, f func(layer.Weights) []float64, tolerance float64) {
	in = map[string][]float16.Float16{}
	if r.IntN(2) == 0 {
		l = layer.Layer{Op: layer.Slice, In: s}
		cut := func(n int) (begin, size int) { begin = r.IntN(n); return begin, 1 + r.IntN(n-begin) }
		l.Begin.N, l.Size.N = cut(s.N)
		l.Begin.C, l.Size.C = cut(s.C)
		l.Begin.H, l.Size.H = cut(s.H)
		l.Begin.W, l.Size.W = cut(s.W)
		in["x"] = halves(r, s.Elements())
		return l, w, in, func(w layer.Weights) []float64 { return reference(l, w, in) }, 0
	}
	l = layer.Layer{Op: layer.Concat, In: s}
	l.In.C = 0
	var parts []tensor
	for i := range 1 + r.IntN(4) {
		part := s
		part.C = 1 + r.IntN(20)
		l.In.C += part.C
		l.Parts = append(l.Parts, part.C)
		name := fmt.Sprint("x", i)
		in[name] = halves(r, part.Elements())
		parts = append(parts, tensor{part, floats(in[name])})
	}
	return l, w, in, func(layer.Weights) []float64 {
		return each(l.In, func(n, c, h, w int) float64 {
			i := 0
			for ; c >= parts[i].s.C; i++ {
				c -= parts[i].s.C
			}
			return parts[i].at(n, c, h, w)
		})
	}, 0
}

// joined is a power, a PReLU, an addition of the input's own rectified values, or a
// product with constants and all that rides on it.
func joined(r *rand.Rand, s layer.Shape) (l layer.Layer, w layer.Weights, in map[string][]float16.Float16, f func(layer.Weights) []float64, tolerance float64) {
	in = map[string][]float16.Float16{"x": halves(r, s.Elements())}
	x := tensor{s, floats(in["x"])}
	switch r.IntN(4) {
	case 0:
		l = layer.Binary(layer.Pow, s, s)
		in["x"], in["z"] = within(r, s.Elements(), 0.25, 4), within(r, s.Elements(), -2, 2)
		x, z := tensor{s, floats(in["x"])}, tensor{s, floats(in["z"])}
		return l, w, in, func(layer.Weights) []float64 {
			return each(s, func(n, c, h, w int) float64 { return math.Pow(x.at(n, c, h, w), z.at(n, c, h, w)) })
		}, 0.02
	case 1:
		l = layer.Unary(layer.PReLU, s)
		w.Second = within(r, s.C, -1, 1)
		return l, w, in, func(w layer.Weights) []float64 {
			slope := floats(w.Second)
			return each(s, func(n, c, h, w int) float64 {
				v := x.at(n, c, h, w)
				return max(v, 0) + slope[c]*min(v, 0)
			})
		}, 0.002
	case 2:
		l = layer.Layer{Op: []layer.Op{layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min}[r.IntN(5)], In: s, SecondShape: s, Second: layer.Itself, SecondReLU: r.IntN(2) == 0}
		return l, w, in, func(w layer.Weights) []float64 { return reference(l, w, in) }, 0.002
	}
	l = layer.Layer{Op: []layer.Op{layer.MatMul, layer.Linear}[r.IntN(2)], In: layer.Shape{N: 1, C: 1, H: 1 + r.IntN(150), W: 1 + r.IntN(90)}, Columns: 1 + r.IntN(90), Second: layer.Constant}
	l.Bias = r.IntN(2) == 0
	l.Activation = []layer.Op{0, layer.ReLU, layer.Sigmoid, layer.Tanh}[r.IntN(4)]
	in["x"] = halves(r, l.In.Elements())
	w.Filter = halves(r, l.In.W*l.Columns)
	if l.Bias {
		w.Bias = halves(r, l.Columns)
	}
	return l, w, in, func(w layer.Weights) []float64 { return reference(l, w, in) }, 0.01
}

func roundTo(n, unit int) int { return (n + unit - 1) / unit * unit }

// windowed is a convolution with dilation, long strides or padding beyond its window, a
// transposed one, or a maximum over windows.
func windowed(r *rand.Rand) (l layer.Layer, w layer.Weights, in map[string][]float16.Float16, f func(layer.Weights) []float64, tolerance float64) {
	s := layer.Shape{N: 1, C: 1 + r.IntN(12), H: 6 + r.IntN(12), W: 6 + r.IntN(24)}
	k, d := 1+r.IntN(3), 1+r.IntN(3)
	win := layer.Window{Kh: k, Kw: 1 + r.IntN(3), Sy: 1 + r.IntN(6), Sx: 1 + r.IntN(6)}
	in = map[string][]float16.Float16{"x": halves(r, s.Elements())}
	x := tensor{s, floats(in["x"])}
	switch r.IntN(3) {
	case 0:
		win.Py, win.Qy, win.Px, win.Qx = r.IntN(win.Kh), r.IntN(win.Kh), r.IntN(win.Kw), r.IntN(win.Kw)
		l = layer.Layer{Op: layer.Pool, In: s, Window: win}
		return l, w, in, func(layer.Weights) []float64 {
			return each(l.Out(), func(n, c, h, w int) float64 {
				top := math.Inf(-1)
				for y := range win.Kh {
					for z := range win.Kw {
						a, b := h*win.Sy+y-win.Py, w*win.Sx+z-win.Px
						if a >= 0 && b >= 0 && a < s.H && b < s.W {
							top = max(top, x.at(n, c, a, b))
						}
					}
				}
				return top
			})
		}, 0
	case 1:
		win.Sy, win.Sx = 1+r.IntN(3), 1+r.IntN(3)
		win.Py, win.Qy, win.Px, win.Qx = r.IntN(win.Kh), r.IntN(win.Kh), r.IntN(win.Kw), r.IntN(win.Kw)
		cout := 1 + r.IntN(20)
		if r.IntN(2) == 0 {
			cout, s.H = 32, 6 // whose columns several phases write at once
			in["x"] = in["x"][:s.Elements()]
			x = tensor{s, floats(in["x"])}
		}
		l = layer.Conv(s, cout, win)
		l.Op, l.Bias = layer.Deconvolution, r.IntN(2) == 0
		w.Filter = halves(r, l.Cout*s.C*win.Kh*win.Kw)
		if l.Bias {
			w.Bias = halves(r, l.Cout)
		}
		return l, w, in, func(w layer.Weights) []float64 { return transposedConvolution(&l, &w, x) }, 0.01
	}
	taps := win
	win = win.Dilate(d)
	win.Kh, win.Kw = min(win.Kh, 31), min(win.Kw, 31)
	win.Py, win.Qy, win.Px, win.Qx = r.IntN(5), r.IntN(5), r.IntN(5), r.IntN(5)
	if s.H+win.Py+win.Qy < win.Kh || s.W+win.Px+win.Qx < win.Kw {
		s.H, s.W = 20, 20
		in["x"] = halves(r, s.Elements())
		x = tensor{s, floats(in["x"])}
	}
	l = layer.Conv(s, 1+r.IntN(20), win)
	l.Dilation = d
	w.Filter, w.Dense = halves(r, l.Cout*s.C*taps.Kh*taps.Kw), true
	return l, w, in, func(w layer.Weights) []float64 {
		f := floats(w.Filter)
		return each(l.Out(), func(n, c, h, w int) float64 {
			sum := 0.0
			for i := range s.C {
				for y := range taps.Kh {
					for z := range taps.Kw {
						a, b := h*win.Sy+y*d-win.Py, w*win.Sx+z*d-win.Px
						if a >= 0 && b >= 0 && a < s.H && b < s.W {
							sum += x.at(n, i, a, b) * f[((c*s.C+i)*taps.Kh+y)*taps.Kw+z]
						}
					}
				}
			}
			return sum
		})
	}, 0.01
}

// TestAnyLayerValues compares random layers over every operation, axis and form with
// their plain definition in float64.
func TestAnyLayerValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 4))
	failed := 0
	for i := range *layers {
		l, w, in, f, tolerance := aLayer(r)
		x := &list.Layer{Lower: l, Weights: w}
		w, err := weights.Complete(x, 1)
		if err != nil {
			t.Fatalf("%d: %+v: %v", i, l, err)
		}
		got, err := run(l, w, in)
		if err == nil {
			err = near(got, f(w), tolerance)
		}
		if err != nil {
			t.Errorf("%d: %+v: %v", i, l, err)
			if failed++; failed > 40 {
				t.FailNow()
			}
		}
	}
}

// TestSizedProgramsEqualLowered compares random layers, and packed weights, that are lowered with
// their weights and with sizes alone. Both programs have the same descriptors and the same sizes of
// all segments, so the same times.
func TestSizedProgramsEqualLowered(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 11))
	compare := func(l layer.Layer, w layer.Weights) {
		t.Helper()
		whole, err := Lower(l, w)
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		sized, err := Sized(l, w)
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		if !bytes.Equal(sized.Text, whole.Text) {
			t.Errorf("%+v: the descriptors differ", l)
		}
		place := func(p *loader.Program) (list []string) {
			for _, s := range p.Segments {
				list = append(list, fmt.Sprintf("%s,%s: %#x bytes at %#x", s.Name, s.Section, s.Size, s.Addr))
			}
			slices.Sort(list)
			return list
		}
		if d := cmp.Diff(place(whole), place(sized)); d != "" {
			t.Errorf("%+v: segments differ (-with weights +sizes only)\n%s", l, d)
		}
	}
	for range *layers {
		l, w, _, _, _ := aLayer(r)
		w, err := weights.Complete(&list.Layer{Lower: l, Weights: w}, 1)
		if err != nil {
			t.Fatal(err)
		}
		compare(l, w)
	}
	for _, cout := range []int{1, 16, 37, 200} { // planes of several widths
		for _, groups := range []int{1, 4} {
			l := layer.Conv(layer.Shape{N: 1, C: 64, H: 6, W: 6}, cout*groups, layer.Same(3, 1, layer.Shape{N: 1, C: 64, H: 6, W: 6}))
			l.Groups, l.Bias = groups, cout > 16
			w := layer.Weights{Filter: halves(r, l.Cout*l.In.C/groups*9)}
			if l.Bias {
				w.Bias = halves(r, l.Cout)
			}
			compare(l, w)
			for range len(w.Filter) { // most of every second weight
				w.Filter[r.IntN(len(w.Filter))&^1] = 0
			}
			compare(l, w)
			for _, form := range []string{"palette", "sparse", "int8"} {
				compare(l, goldenWeights(t, &l, form))
			}
		}
	}
}
