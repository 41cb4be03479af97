package anesim_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network"
	"anesim/loader/network/list"
)

// A matrix is the operand of a definition.
type matrix struct {
	rows, columns int
	v             []float64
}

func (a matrix) times(b matrix) matrix {
	c := matrix{a.rows, b.columns, make([]float64, a.rows*b.columns)}
	for r := range a.rows {
		for k := range a.columns {
			for n := range b.columns {
				c.v[r*c.columns+n] += a.v[r*a.columns+k] * b.v[k*b.columns+n]
			}
		}
	}
	return c
}

func (a matrix) transposed() matrix {
	b := matrix{a.columns, a.rows, make([]float64, len(a.v))}
	for i, x := range a.v {
		b.v[i%a.columns*a.rows+i/a.columns] = x
	}
	return b
}

func (a matrix) each(f func(i int, x float64) float64) matrix {
	b := matrix{a.rows, a.columns, make([]float64, len(a.v))}
	for i, x := range a.v {
		b.v[i] = f(i, x)
	}
	return b
}

// perRow returns a copy of the matrix after f changed each of its rows in place.
func (a matrix) perRow(f func(row []float64)) matrix {
	b := matrix{a.rows, a.columns, slices.Clone(a.v)}
	for r := range a.rows {
		f(b.v[r*a.columns:][:a.columns])
	}
	return b
}

func softmaxOf(row []float64) {
	top, sum := slices.Max(row), 0.0
	for i, x := range row {
		row[i] = math.Exp(x - top)
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
}

func normOf(row []float64) {
	n, mean, spread := float64(len(row)), 0.0, 0.0
	for _, x := range row {
		mean += x / n
	}
	for _, x := range row {
		spread += (x - mean) * (x - mean) / n
	}
	for i, x := range row {
		row[i] = (x - mean) / math.Sqrt(spread+1e-5)
	}
}

func floats32(v []float64) (f []float32) {
	for _, x := range v {
		f = append(f, float32(x))
	}
	return f
}

// Operators that runtimes fuse, or that work on quantised tensors, compute what they are
// defined as.
func TestFusedAndQuantisedOperators(t *testing.T) {
	const microsoft = "com.microsoft"
	x, w := matrix{8, 16, nil}, matrix{16, 8, nil}
	for i := range 8 * 16 {
		x.v = append(x.v, float64(i*37%65-32)/32)
		w.v = append(w.v, float64(i*53%33-16)/16)
	}
	bias := matrix{1, 8, []float64{0.5, -1, 2, 0, 1, -0.25, 3, -2}}
	in, weights := ox.Input("x", 8, 16), ox.Constant("w", []int{16, 8}, floats32(w.v)...)
	batch := ox.Input("x", 1, 8, 16)
	constant := func(name string, m matrix) ox.Message { return ox.Constant(name, []int{m.columns}, floats32(m.v)...) }
	whole := func(low, high float64) func(int, float64) float64 {
		return func(_ int, v float64) float64 { return min(max(math.Floor(v+0.5), low), high) }
	}
	scaled := func(by, plus float64) func(int, float64) float64 {
		return func(_ int, v float64) float64 { return v*by + plus }
	}
	// x/64 in bytes around 128, and w/32 in signed ones.
	quantised := []ox.Message{
		ox.Constant("xs", nil, 1.0/64), ox.Whole("xz", 2, 1, nil, 128), ox.Node("QuantizeLinear", "xq", []string{"x", "xs", "xz"}),
		ox.Constant("ws", nil, 1.0/32), ox.Whole("wz", 3, 1, nil, 0), ox.Constant("ys", nil, 1.0/8), ox.Whole("yz", 2, 1, nil, 100),
	}
	var wq []int
	for _, v := range w.v {
		wq = append(wq, int(v*32))
	}
	quantised = slices.Clip(append(quantised, ox.Whole("wq", 3, 1, []int{16, 8}, wq...)))
	back := ox.Node("DequantizeLinear", "y", []string{"yq", "ys", "yz"})
	product := x.times(w)
	rounded := func(m matrix) matrix { return m.each(scaled(8, 100)).each(whole(0, 255)).each(scaled(1.0/8, -12.5)) }
	heads := func(q, k, v matrix) matrix { // two heads of eight columns each
		out := matrix{8, 16, make([]float64, 8*16)}
		part := func(m matrix, h int) matrix {
			p := matrix{8, 8, nil}
			for r := range 8 {
				p.v = append(p.v, m.v[r*16+8*h:][:8]...)
			}
			return p
		}
		for h := range 2 {
			y := part(q, h).times(part(k, h).transposed()).each(scaled(1/math.Sqrt(8), 0)).perRow(softmaxOf).times(part(v, h))
			for r := range 8 {
				copy(out.v[r*16+8*h:][:8], y.v[8*r:][:8])
			}
		}
		return out
	}
	other := x.each(func(i int, v float64) float64 { return v*0.5 + float64(i%5)/8 })
	second := ox.Constant("other", []int{1, 8, 16}, floats32(other.v)...)
	relu := func(_ int, v float64) float64 { return max(v, 0) }
	for _, tc := range []struct {
		what      string
		parts     []ox.Message
		want      matrix
		tolerance float64
	}{
		{"QLinearMatMul", append(quantised, in, ox.Node("QLinearMatMul", "yq", []string{"xq", "xs", "xz", "wq", "ws", "wz", "ys", "yz"}), back), rounded(product), 0.126},
		{"QLinearAdd", append(quantised, in, ox.NodeOf(microsoft, "QLinearAdd", "yq", []string{"xq", "xs", "xz", "xq", "xs", "xz", "ys", "yz"}), back), rounded(x.each(scaled(2, 0))), 0.126},
		{"QGemm", append(quantised, in, ox.Whole("b", 6, 4, []int{8}, 1024, -2048, 4096, 0, 2048, -512, 6144, -4096),
			ox.NodeOf(microsoft, "QGemm", "yq", []string{"xq", "xs", "xz", "wq", "ws", "wz", "b", "ys", "yz"}), back),
			rounded(product.each(func(i int, v float64) float64 { return v + bias.v[i%8] })), 0.126},
		{"MatMulInteger", append(quantised, in, ox.Constant("s", nil, 1.0/2048), ox.Node("MatMulInteger", "sum", []string{"xq", "wq", "xz", "wz"}),
			ox.Node("Cast", "real", []string{"sum"}, ox.Int("to", 1)), ox.Node("Mul", "y", []string{"real", "s"})), product, 0.02},
		{"FusedMatMul", []ox.Message{in, ox.Constant("w", []int{8, 16}, floats32(w.transposed().v)...),
			ox.NodeOf(microsoft, "FusedMatMul", "y", []string{"x", "w"}, ox.Int("transB", 1), ox.Float("alpha", 0.5))}, product.each(scaled(0.5, 0)), 0.01},
		{"FusedGemm", []ox.Message{in, weights, constant("b", bias),
			ox.NodeOf(microsoft, "FusedGemm", "y", []string{"x", "w", "b"}, ox.Text("activation", "Relu"))},
			product.each(func(i int, v float64) float64 { return v + bias.v[i%8] }).each(relu), 0.01},
		{"BiasGelu", []ox.Message{in, ox.Constant("b", []int{16}, floats32(other.v[:16])...), ox.NodeOf(microsoft, "BiasGelu", "y", []string{"x", "b"})},
			x.each(func(i int, v float64) float64 {
				v += other.v[i%16]
				return v / 2 * (1 + math.Erf(v/math.Sqrt2))
			}), 0.03},
		{"SkipLayerNormalization", []ox.Message{batch, second, ox.Constant("g", []int{16}, slices.Repeat([]float32{2}, 16)...),
			ox.NodeOf(microsoft, "SkipLayerNormalization", "y", []string{"x", "other", "g"}, ox.Float("epsilon", 1e-5))},
			x.each(func(i int, v float64) float64 { return v + other.v[i] }).perRow(normOf).each(scaled(2, 0)), 0.03},
		{"MultiHeadAttention", []ox.Message{batch, second,
			ox.NodeOf(microsoft, "MultiHeadAttention", "y", []string{"x", "other", "x"}, ox.Int("num_heads", 2))}, heads(x, other, x), 0.02},
		{"RotaryEmbedding", []ox.Message{ox.Input("x", 1, 2, 8, 8), ox.Whole("at", 7, 8, []int{1, 8}, 0, 1, 2, 3, 4, 5, 6, 7),
			ox.Constant("cos", []int{8, 4}, turns(math.Cos)...), ox.Constant("sin", []int{8, 4}, turns(math.Sin)...),
			ox.NodeOf(microsoft, "RotaryEmbedding", "y", []string{"x", "at", "cos", "sin"})}, rotated(x), 0.01},
	} {
		n, err := network.ReadONNX(ox.Model(append(slices.Clone(tc.parts), ox.Output("y"))...), network.Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.what, err)
			continue
		}
		var given []float16.Float16
		for _, v := range x.v {
			given = append(given, float16.Fromfloat32(float32(v)))
		}
		res, err := anesim.FromNetwork(n).Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": given}})
		if err != nil || len(res.Outputs) != 1 || len(res.Outputs[0].Data) != len(tc.want.v) {
			t.Errorf("%s: %v, %d outputs, reasons %q", tc.what, err, len(res.Outputs), reasonsOf(res))
			continue
		}
		for i, h := range res.Outputs[0].Data {
			if d := math.Abs(float64(h.Float32()) - tc.want.v[i]); !(d <= tc.tolerance) {
				t.Errorf("%s: element %d is %v, want %v", tc.what, i, h, tc.want.v[i])
				break
			}
		}
	}
	refused := append(quantised, in, ox.Input("b", 8), ox.NodeOf(microsoft, "QGemm", "yq", []string{"xq", "xs", "xz", "wq", "ws", "wz", "b", "ys", "yz"}), back, ox.Output("y"))
	n, err := network.ReadONNX(ox.Model(refused...), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(n.Layers, func(l list.Layer) bool { return strings.Contains(l.Reason, "bias is computed; want a constant") }) {
		t.Errorf("a computed bias of QGemm is left out: %+v", n.Layers)
	}
}

// turns returns f of the rotation angle for each of eight positions and four pairs of columns.
func turns(f func(float64) float64) (v []float32) {
	for place := range 8 {
		for pair := range 4 {
			v = append(v, float32(f(float64(place)/math.Pow(10, float64(pair)))))
		}
	}
	return v
}

// rotated applies a rotary position embedding to rows of two heads of eight columns.
func rotated(x matrix) matrix {
	cos, sin := turns(math.Cos), turns(math.Sin)
	return x.each(func(i int, v float64) float64 {
		place, column := i/8%8, i%8
		c, s := float64(cos[place*4+column%4]), float64(sin[place*4+column%4])
		if column < 4 {
			return v*c - x.v[i+4]*s
		}
		return v*c + x.v[i-4]*s
	})
}

func reasonsOf(r *anesim.Result) (list []string) {
	for i := range r.Layers {
		if why := r.Layers[i].Reason + r.Layers[i].Note; why != "" {
			list = append(list, why)
		}
	}
	return list
}

// An ellipsis of an einsum equation stands for the axes that a term's letters leave.
func TestEinsumEllipsis(t *testing.T) {
	for _, tc := range []struct {
		ellipsis, letters string
		a, b              []int
	}{
		{"...ij,...jk->...ik", "aij,ajk->aik", []int{3, 4, 5}, []int{3, 5, 6}},
		{"...ij,jk->...ik", "abij,jk->abik", []int{2, 3, 4, 5}, []int{5, 6}},
		{"...ij,...jk", "abij,bjk->abik", []int{2, 3, 4, 5}, []int{3, 5, 6}},
		{"i...,i...->...", "iab,iab->ab", []int{4, 2, 3}, []int{4, 2, 3}},
		{"b...j,kj->k...b", "bacj,kj->kacb", []int{2, 3, 4, 5}, []int{6, 5}},
		{"...,...->...", "ab,ab->ab", []int{3, 4}, []int{3, 4}},
	} {
		run := func(equation string) anesim.Output {
			node := ox.Node("Einsum", "y", []string{"a", "b"}, ox.Text("equation", equation))
			m := readModel(t, equation, ox.Model(ox.Input("a", tc.a...), ox.Input("b", tc.b...), node, ox.Output("y")), anesim.OpenOptions{})
			r, err := m.Run(t.Context(), anesim.Options{Values: true})
			if err != nil {
				t.Fatal(equation, err)
			}
			return r.Outputs[0]
		}
		got, want := run(tc.ellipsis), run(tc.letters)
		if !slices.Equal(got.Shape(), want.Shape()) || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: shape %v, values %v; %s has %v, %v", tc.ellipsis, got.Shape(), got.Data, tc.letters, want.Shape(), want.Data)
		}
	}
}
