package lower_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/internal/datapath/tiles"
	"anesim/loader/layer"
	. "anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// formed gives a layer weights that a form holds: values of few kinds, with zeros, or bytes
// times scales.
func formed(r *rand.Rand, l *layer.Layer, f layer.Form) layer.Weights {
	need := list.Needs(l)
	w := layer.Weights{Filter: make([]float16.Float16, need.Filter), Form: f}
	if l.Bias {
		w.Bias = halves(r, need.Bias)
	}
	channels := max(l.Cout, l.Columns)
	kinds := halves(r, []int{2, 16, 60}[r.IntN(3)])
	if f == layer.FormInt8 {
		w.Scale = make([]float16.Float16, []int{1, channels}[r.IntN(2)])
		for i := range w.Scale {
			w.Scale[i] = float16.Fromfloat32((1 + r.Float32()) / 1024)
		}
	}
	channel := func(i int) int { return i / max(1, need.Filter/channels) }
	if l.Op == layer.MatMul {
		channel = func(i int) int { return i % channels }
	}
	for i := range w.Filter {
		switch f {
		case layer.FormPalette:
			w.Filter[i] = kinds[r.IntN(len(kinds))]
		case layer.FormSparse:
			if r.IntN(4) == 0 {
				w.Filter[i] = float16.Fromfloat32(r.Float32() - 0.5)
			}
		case layer.FormInt8:
			s := w.Scale[min(channel(i), len(w.Scale)-1)]
			w.Filter[i] = float16.Fromfloat32(s.Float32() * float32(r.IntN(256)-128))
		}
	}
	return w
}

// formLayer is a layer with constant weights.
func formLayer(r *rand.Rand) layer.Layer {
	l := layer.Layer{Bias: r.IntN(2) == 0}
	switch r.IntN(5) {
	case 0, 1:
		op := []layer.Op{layer.MatMul, layer.Linear}[r.IntN(2)]
		l.Op, l.In, l.Second, l.Columns = op, layer.Shape{N: 1, C: 1, H: 1 + r.IntN(150), W: 16 + r.IntN(90)}, layer.Constant, 1+r.IntN(140)
	case 2:
		k := 1 + r.IntN(3)
		s := layer.Shape{N: 1, C: 16 + r.IntN(80), H: k + r.IntN(20), W: k + r.IntN(20)}
		bias := l.Bias
		l = layer.Depthwise(s, layer.Valid(k, 1))
		l.Bias = bias
	default:
		k, stride, groups := 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
		s := layer.Shape{N: 1, C: groups * (4 + r.IntN(40)), H: k + r.IntN(20), W: k + r.IntN(20)}
		bias := l.Bias
		l = layer.Conv(s, groups*(1+r.IntN(100)), layer.Valid(k, stride))
		l.Groups, l.Bias = groups, bias
	}
	if r.IntN(3) == 0 {
		l.Activation = []layer.Op{layer.ReLU, layer.GELU}[r.IntN(2)]
	}
	return l
}

// Coefficients in a form of the engine give the values of dense ones bit for bit, in no more
// bytes, and a program that is only timed has the descriptors of the one with values.
func TestFormsGiveTheValuesOfDense(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 15))
	seen := map[string]int{}
	for i := range 120 {
		l := formLayer(r)
		w := formed(r, &l, []layer.Form{layer.FormPalette, layer.FormSparse, layer.FormInt8}[i%3])
		x := &list.Layer{Lower: l, Weights: w}
		w, err := weights.Complete(x, 1)
		if err != nil {
			t.Fatal(err)
		}
		plain := w
		plain.Form, plain.Scale = layer.FormFP16, nil
		in := map[string][]float16.Float16{"x": halves(r, l.In.Elements())}
		want, err := run(l, plain, in)
		if err != nil {
			t.Fatalf("%+v dense: %v", l, err)
		}
		got, err := run(l, w, in)
		if err != nil {
			t.Fatalf("%+v as %v: %v", l, w.Form, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v as %v: other values than dense", l, w.Form)
		}
		form, bytes := timed(t, l, w)
		_, most := timed(t, l, plain)
		if bytes > most {
			t.Errorf("%+v as %v: %d bytes of coefficients, dense %d", l, w.Form, bytes, most)
		}
		if bytes < most {
			seen[form]++
		}
		values, err := Compile(l, w)
		if err != nil {
			t.Fatal(err)
		}
		w.SizesOnly = true
		sizes, err := Compile(l, w)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(values.Text, sizes.Text) || values.Builder.ConstantBytes != 0 && values.Builder.ConstantBytes != sizes.Builder.ConstantBytes {
			t.Errorf("%+v as %v: other descriptors where it is only timed", l, w.Form)
		}
	}
	for _, f := range []string{"palette", "masked", "int8"} {
		if seen[f] < 10 {
			t.Errorf("%d layers are smaller as %s: %v", seen[f], f, seen)
		}
	}
}

// timed is the form of a layer's coefficients and how many bytes of them are fetched.
func timed(t *testing.T, l layer.Layer, w layer.Weights) (form string, bytes uint64) {
	t.Helper()
	p, err := Lower(l, w)
	if err != nil {
		t.Fatal(err)
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Report.Descriptors {
		d := &res.Report.Descriptors[i]
		bytes += uint64(d.DMA.Kernel)
		if d.Packing != tiles.Dense {
			form = fmt.Sprint(d.Packing)
		}
	}
	return form, bytes
}

// What a form does not hold stays dense.
func TestFormsThatDoNotHold(t *testing.T) {
	l := layer.Conv(layer.Shape{N: 1, C: 64, H: 8, W: 8}, 64, layer.Valid(1, 1))
	many := make([]float16.Float16, 64*64)
	for i := range many {
		many[i] = float16.Float16(0x3000 + i)
	}
	for _, w := range []layer.Weights{
		{Filter: many, Form: layer.FormPalette},
		{Filter: many, Form: layer.FormSparse},
		{Filter: many, Form: layer.FormInt8},
		{Filter: many, Form: layer.FormInt8, Scale: []float16.Float16{0x1400}},
		{Filter: many, Form: layer.FormInt8, Scale: []float16.Float16{0x7c00}},
	} {
		if form, _ := timed(t, l, w); form != "" {
			t.Errorf("%v of 4,096 different weights are %s", w.Form, form)
		}
	}
}
