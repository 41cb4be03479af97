package explain

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/loader/layer"
)

// A grid is values with their extents.
type grid struct {
	extents [4]int
	data    []float16.Float16
}

// made returns a grid of the given extents with small, varying multiples of 1/4, whose sums fp16
// represents exactly.
func made(extents ...int) grid {
	g := grid{extents: [4]int{1, 1, 1, 1}}
	copy(g.extents[4-len(extents):], extents)
	n := 1
	for _, e := range extents {
		n *= e
	}
	for i := range n {
		g.data = append(g.data, float16.Fromfloat32(float32((i*7+i/5)%9-4)/4))
	}
	return g
}

// axes returns g with its axes permuted: axis i of the result is axis order[i] of g.
func (g grid) axes(order ...int) grid {
	var to grid
	for i, o := range order {
		to.extents[i] = g.extents[o]
	}
	to.data = make([]float16.Float16, len(g.data))
	var at [4]int
	for i := range to.data {
		rest := i
		for a := 3; a >= 0; a-- {
			at[order[a]] = rest % to.extents[a]
			rest /= to.extents[a]
		}
		to.data[i] = g.data[((at[0]*g.extents[1]+at[1])*g.extents[2]+at[2])*g.extents[3]+at[3]]
	}
	return to
}

// filled returns g extended with zeros to n elements along an axis.
func (g grid) filled(axis, n int) grid {
	to := grid{extents: g.extents}
	to.extents[axis] = n
	to.data = make([]float16.Float16, to.extents[0]*to.extents[1]*to.extents[2]*to.extents[3])
	for i, v := range g.data {
		var at [4]int
		rest := i
		for a := 3; a >= 0; a-- {
			at[a] = rest % g.extents[a]
			rest /= g.extents[a]
		}
		to.data[((at[0]*to.extents[1]+at[1])*to.extents[2]+at[2])*to.extents[3]+at[3]] = v
	}
	return to
}

func asIs(g grid) grid { return g }

// Every kind of rewrite gives the values of the layer, once its operands are laid out as
// the rewrite says that the network has to.
func TestRewritesGiveTheSameValues(t *testing.T) {
	hw := func(g grid) grid { return g.axes(0, 1, 3, 2) }
	cw := func(g grid) grid { return g.axes(0, 3, 2, 1) }
	ch := func(g grid) grid { return g.axes(0, 2, 1, 3) }
	for _, tt := range []struct {
		words   string
		change  string // part of the rewrite's words
		x, z, w grid
		to      func(grid) grid // of x, and of what comes out before
		side    func(grid) grid // of z
		weights func(grid) grid
	}{
		{words: "conv cin=6 h=4 w=5 cout=7 k=1", change: "to h=1 w=20", x: made(6, 4, 5), w: made(7, 6, 1, 1), to: asIs, weights: asIs},
		{words: "conv cin=6 h=4 w=5 cout=7 k=1", change: "to h=20 w=1", x: made(6, 4, 5), w: made(7, 6, 1, 1), to: asIs, weights: asIs},
		{words: "add c=6 h=4 w=5", change: "to h=1 w=20", x: made(6, 4, 5), z: made(6, 4, 5), to: asIs, side: asIs},
		{words: "relu c=6 h=4 w=5", change: "to h=1 w=20", x: made(6, 4, 5), to: asIs},
		{words: "conv cin=6 h=4 w=5 cout=7 kh=3 kw=2 pad=1,1,0,1", change: "swap height", x: made(6, 4, 5), w: made(7, 6, 3, 2), to: hw, weights: hw},
		{words: "softmax c=16 h=4 w=8 axis=c", change: "axis=w", x: made(16, 4, 8), to: cw},
		{words: "softmax c=16 h=4 w=8 axis=c", change: "axis=h", x: made(16, 4, 8), to: ch},
		{words: "reduce c=16 h=4 w=8 kind=max axis=h", change: "axis=c", x: made(16, 4, 8), to: ch},
		{words: "conv n=2 cin=6 h=4 w=5 cout=8 k=3 pad=1", change: "groups=2", x: made(2, 6, 4, 5), w: made(8, 6, 3, 3), to: asIs,
			weights: func(g grid) grid { return grid{data: append(slices.Clone(g.data), g.data...)} }},
		{words: "matmul m=6 k=8 n=10", change: "1x1 convolution", x: made(6, 8), w: made(8, 10), to: cw2, weights: hw},
		{words: "linear m=6 k=8 n=10", change: "1x1 convolution", x: made(6, 8), w: made(10, 8), to: cw2, weights: asIs},
		{words: "matmul m=6 k=8 n=10 rhs=runtime", change: "swap the sides", x: made(6, 8), z: made(8, 10), to: hw, side: hw},
		{words: "conv cin=6 h=4 w=5 cout=7 k=3 pad=1", change: "cin=16 cout=16", x: made(6, 4, 5), w: made(7, 6, 3, 3),
			to:      func(g grid) grid { return g.filled(1, 16) },
			weights: func(g grid) grid { return g.filled(1, 16).filled(0, 16) }},
	} {
		name := tt.words + " " + tt.change
		words := strings.Fields(tt.words)
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		var found *rewrite
		list := listRewrites(&m.Network().Layers[0].Lower)
		for i := range list {
			if strings.Contains(list[i].change, tt.change) {
				found = &list[i]
			}
		}
		if found == nil {
			t.Errorf("%s: no such rewrite", name)
			continue
		}
		other := formatLayer(&found.layer)
		if other == nil {
			t.Errorf("%s: no keys make %+v", name, found.layer)
			continue
		}
		before := layerValues(t, words, tt.x, tt.z, tt.w)
		x, z := tt.to(tt.x), tt.z
		if tt.side != nil {
			z = tt.side(z)
		}
		if strings.Contains(tt.change, "sides") {
			x, z = z, x
		}
		w := tt.w
		if tt.weights != nil {
			w = tt.weights(w)
		}
		want, got := tt.to(before), layerValues(t, other, x, z, w)
		if len(want.data) != len(got.data) {
			t.Errorf("%s: %d values, want %d", name, len(got.data), len(want.data))
			continue
		}
		worst := 0.0
		for i := range want.data {
			worst = max(worst, math.Abs(float64(want.data[i].Float32()-got.data[i].Float32())))
		}
		if worst > 2e-3 {
			t.Errorf("%s: values differ by %g", name, worst)
		}
	}
}

// cw2 returns the grid of a matrix with its rows turned into pixels and its columns into channels.
func cw2(g grid) grid { return g.axes(0, 3, 1, 2) }

// layerValues runs the layer that words describe on the operands x, z and w, and returns its
// result.
func layerValues(t *testing.T, words []string, x, z, w grid) grid {
	t.Helper()
	m, err := anesim.Layer(words[0], words[1:]...)
	if err != nil {
		t.Fatalf("%s: %v", words, err)
	}
	in := map[string][]float16.Float16{"x": x.data}
	if z.data != nil {
		in["z"] = z.data
	}
	if w.data != nil {
		in["weights"] = w.data
	}
	res, err := m.Run(context.Background(), anesim.Options{Values: true, Inputs: in})
	if err != nil {
		t.Fatalf("%s: %v", words, err)
	}
	if len(res.Outputs) != 1 {
		t.Fatalf("%s: no values", words)
	}
	return grid{res.Outputs[0].Port.Shape, res.Outputs[0].Data}
}

// The words of a layer make that layer, and a layer that no words make has none.
func TestLayerWords(t *testing.T) {
	for _, words := range []string{
		"conv cin=8 h=6 w=6 cout=4 k=3 stride=2 pad=0,1,0,1 groups=2 bias=true act=relu",
		"conv n=2 cin=8 h=9 w=9 cout=4 kh=3 kw=1 sy=1 sx=2 dilation=2",
		"matmul c=2 m=4 k=8 n=6 rhs=runtime ty=true", "linear m=4 k=8 n=6 bias=true",
		"mul c=8 h=4 w=4 second=constant", "add c=8 h=4 w=4 broadcast=hw", "sub c=8 h=4 w=4 second=scalar",
		"softmax c=8 h=4 w=4 axis=w", "layernorm c=8 w=4 axis=c", "reduce c=8 h=4 w=4 kind=mean axis=hw",
		"pool c=8 h=8 w=8 k=2 stride=2", "concat parts=8+16 h=4 w=4", "leaky_relu c=8", "gelu c=8 w=64",
	} {
		f := strings.Fields(words)
		m, err := anesim.Layer(f[0], f[1:]...)
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		got := formatLayer(&m.Network().Layers[0].Lower)
		if got == nil {
			t.Errorf("%s: no words", words)
			continue
		}
		again, err := anesim.Layer(got[0], got[1:]...)
		if err != nil || fmt.Sprint(again.Network().Layers[0].Lower) != fmt.Sprint(m.Network().Layers[0].Lower) {
			t.Errorf("%s: %s make another layer: %v", words, got, err)
		}
	}
	if got := formatLayer(&layer.Layer{Op: layer.ReLU, In: layer.Shape{N: 1, C: 4, H: 1, W: 1}, SecondReLU: true}); got != nil {
		t.Errorf("%s make a layer that has no keys", got)
	}
}

// TestMatMulToConvKeepsFactor: the convolution that explain suggests in place of a matmul has the
// matmul's bias, factor and activation.
func TestMatMulToConvKeepsFactor(t *testing.T) {
	l := layer.Product(6, 8, 10, layer.Constant)
	l.Bias, l.Factor, l.Activation = true, 0x3400, layer.ReLU
	list := convertMatMulToConv(&l)
	if len(list) != 1 {
		t.Fatalf("%d rewrites, want 1", len(list))
	}
	if x := list[0].layer; !x.Bias || x.Factor != l.Factor || x.Activation != l.Activation {
		t.Errorf("bias %t, factor %v, then %v; want those of the matmul: %t, %v, %v", x.Bias, x.Factor, x.Activation, l.Bias, l.Factor, l.Activation)
	}
}
