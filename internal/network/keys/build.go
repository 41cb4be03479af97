package keys

import (
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

func singleInputShapes(a *args) []layer.Shape {
	return []layer.Shape{{N: a.intValue("n", 1, 1), C: a.intValue("c", 1, 1), H: a.intValue("h", 1, 1), W: a.intValue("w", 1, 1)}}
}

func convInputShapes(a *args) []layer.Shape {
	return []layer.Shape{{N: a.intValue("n", 1, 1), C: a.requiredIntValue("cin"), H: a.intValue("h", 1, 1), W: a.intValue("w", 1, 1)}}
}

func linearInputShapes(a *args) []layer.Shape {
	if a.boolValue("tx") {
		return []layer.Shape{{N: 1, C: a.intValue("c", 1, 1), H: a.requiredIntValue("k"), W: a.requiredIntValue("m")}}
	}
	return []layer.Shape{{N: 1, C: a.intValue("c", 1, 1), H: a.requiredIntValue("m"), W: a.requiredIntValue("k")}}
}

func matmulInputShapes(a *args) []layer.Shape {
	in := linearInputShapes(a)
	if a.choiceValue("rhs", "constant", "runtime") == "runtime" {
		right := layer.Shape{N: 1, C: in[0].C, H: a.requiredIntValue("k"), W: a.requiredIntValue("n")}
		if a.boolValue("ty") {
			right.H, right.W = right.W, right.H
		}
		in = append(in, right)
	}
	return in
}

func binaryOpInputShapes(a *args) []layer.Shape {
	in := singleInputShapes(a)
	if a.choiceValue("second", "runtime", "constant", "scalar", "itself") != "runtime" || a.isGiven("value") && !a.isGiven("second") {
		return in
	}
	second := in[0]
	batch, repeats := a.parseRepeatedAxes("broadcast")
	if batch {
		second.N = 1
	}
	for axis, n := range map[layer.Axes]*int{layer.AxisC: &second.C, layer.AxisH: &second.H, layer.AxisW: &second.W} {
		if repeats&axis != 0 {
			*n = 1
		}
	}
	return append(in, second)
}

func concatInputShapes(a *args) []layer.Shape {
	var parts []int
	switch {
	case a.isGiven("parts"):
		parts = a.parsePartSizes("parts")
	case a.isGiven("c"):
		c := a.intValue("c", 1, 1)
		parts = []int{c, c}
	default:
		a.recordError("parts", "missing key; want parts or c")
	}
	var in []layer.Shape
	for _, c := range parts {
		in = append(in, layer.Shape{N: a.intValue("n", 1, 1), C: c, H: a.intValue("h", 1, 1), W: a.intValue("w", 1, 1)})
	}
	return in
}

// onlyInput returns in[0]. It records an error unless the layer has exactly one input.
func (a *args) onlyInput(in []layer.Shape) layer.Shape {
	if len(in) != 1 {
		a.recordError("from", "layer has %d inputs; want 1", len(in))
	}
	return in[0]
}

// parseActivation returns the activation that ends a layer, from the key act. A relu is part of the
// layer's own descriptor, and other activations follow it.
func (a *args) parseActivation() layer.Op {
	v, ok := a.values["act"]
	if !ok || v == "none" {
		return 0
	}
	words := []string{"none"}
	for _, op := range activations {
		if op.TableCount() > 1 {
			continue
		}
		if v == op.String() {
			return op
		}
		words = append(words, op.String())
	}
	a.recordError("act", "invalid value %q; want one of %s", v, strings.Join(words, ", "))
	return 0
}

func newConvLayer(a *args, in []layer.Shape) list.Layer {
	s := a.onlyInput(in)
	groups, cout := 1, 0
	if a.values["groups"] == "cin" {
		groups = s.C
		cout = a.intValue("cout", 1, s.C)
	} else {
		groups = a.intValue("groups", 1, 1)
		cout = a.requiredIntValue("cout")
	}
	w, dilation := a.parseDilatedWindow(s, 1)
	l := layer.Conv(s, cout, w)
	l.Dilation = dilation
	l.Groups, l.Bias, l.Activation = groups, a.boolValue("bias"), a.parseActivation()
	return list.Layer{Lower: l}
}

// parseDilatedWindow returns the window over an input of shape s that the keys describe, and its
// dilation, which is 0 if its taps are adjacent. The window has its full extent, including the gaps
// between taps. k is the default number of taps per side.
func (a *args) parseDilatedWindow(s layer.Shape, k int) (w layer.Window, dilation int) {
	w = a.parseWindow(s, k)
	d := a.intValue("dilation", 1, 1)
	if d == 1 {
		return w, 0
	}
	w = w.Dilate(d)
	if a.values["pad"] == "same" {
		w.Py, w.Qy = layer.SamePad(w.Kh, w.Sy, s.H)
		w.Px, w.Qx = layer.SamePad(w.Kw, w.Sx, s.W)
	}
	return w, d
}

// newDeconvLayer returns a transposed convolution with one group, as the keys describe it.
func newDeconvLayer(a *args, in []layer.Shape) list.Layer {
	s := a.onlyInput(in)
	l := layer.Conv(s, a.requiredIntValue("cout"), a.parseWindow(s, 1))
	l.Op, l.Bias, l.Activation = layer.Deconvolution, a.boolValue("bias"), a.parseActivation()
	return list.Layer{Lower: l}
}

func newMatMulLayer(a *args, in []layer.Shape) list.Layer {
	l := layer.Layer{Op: layer.MatMul, In: in[0], Second: layer.Constant, Bias: a.boolValue("bias"), Activation: a.parseActivation()}
	l.TransposeX, l.TransposeY = a.boolValue("tx"), a.boolValue("ty")
	// The keys give shapes as stored; a layer has them as multiplied.
	if l.TransposeX {
		in[0].H, in[0].W = in[0].W, in[0].H
		l.In = in[0]
	}
	switch len(in) {
	case 1:
		if a.choiceValue("rhs", "constant", "runtime") == "runtime" {
			a.recordError("from", "layer has 1 input; want 2 for rhs=runtime")
		}
		l.Columns = a.requiredIntValue("n")
	case 2:
		if a.choiceValue("rhs", "runtime", "constant") == "constant" {
			a.recordError("rhs", "cannot combine rhs=constant with 2 inputs; want rhs=runtime or 1 input")
		}
		if l.TransposeY {
			in[1].H, in[1].W = in[1].W, in[1].H
		}
		l.Second, l.Columns = layer.Runtime, in[1].W
		if n := a.intValue("n", 1, l.Columns); n != l.Columns {
			a.recordError("n", "value is %d; want %d, the number of columns of the second input", n, l.Columns)
		}
		if want := (layer.Shape{N: in[0].N, C: in[0].C, H: in[0].W, W: in[1].W}); in[1] != want {
			a.recordError("from", "cannot multiply %s by %s; want %s as the second input", list.ShapeText(in[0]), list.ShapeText(in[1]), list.ShapeText(want))
		}
		if l.Bias {
			a.recordError("bias", "matmul of two inputs cannot have a bias")
		}
	default:
		a.recordError("from", "layer has %d inputs; want 1 or 2", len(in))
	}
	return list.Layer{Lower: l}
}

func newLinearLayer(a *args, in []layer.Shape) list.Layer {
	return list.Layer{Lower: layer.Layer{
		Op: layer.Linear, In: a.onlyInput(in), Second: layer.Constant, Columns: a.requiredIntValue("n"),
		Bias: a.boolValue("bias"), Activation: a.parseActivation(),
	}}
}

func newBinaryLayerFunc(op layer.Op) func(*args, []layer.Shape) list.Layer {
	return func(a *args, in []layer.Shape) list.Layer {
		l := list.Layer{Lower: layer.Layer{Op: op, In: in[0], Activation: a.parseActivation()}}
		if len(in) > 2 {
			a.recordError("from", "layer has %d inputs; want 1 or 2", len(in))
		}
		if len(in) == 2 {
			a.choiceValue("second", "runtime")
			if a.isGiven("value") {
				a.recordError("value", "cannot combine value with 2 inputs; want 1 input and second=scalar")
			}
			if !broadcastsTo(in[1], in[0]) {
				a.recordError("from", "cannot broadcast %s to %s", list.ShapeText(in[1]), list.ShapeText(in[0]))
			}
			l.Lower.SecondShape = in[1]
			return l
		}
		if !a.isGiven("second") && !a.isGiven("value") {
			a.recordError("from", "layer has 1 input; want 2, or second=itself, second=constant or second=scalar")
		}
		second := a.choiceValue("second", "itself", "constant", "scalar")
		if a.isGiven("value") && second != "scalar" {
			if a.isGiven("second") {
				a.recordError("value", "cannot combine value with second=%s; want second=scalar", second)
			}
			// value=2 alone is enough: it implies second=scalar.
			second = "scalar"
		}
		switch second {
		case "itself":
			l.Lower.Second, l.Lower.SecondShape = layer.Itself, in[0]
		case "constant":
			l.Lower.Second, l.Lower.SecondShape = layer.Constant, layer.Shape{N: 1, C: in[0].C, H: 1, W: 1}
		case "scalar":
			l.Lower.Second, l.Lower.SecondShape = layer.Scalar, layer.Shape{N: 1, C: 1, H: 1, W: 1}
			l.Weights.Second = []float16.Float16{a.fp16Value("value", 0.5)}
		}
		return l
	}
}

// broadcastsTo reports whether every extent of s is 1 or equal to the extent of t.
func broadcastsTo(s, t layer.Shape) bool {
	same := func(a, b int) bool { return a == b || a == 1 }
	return same(s.N, t.N) && same(s.C, t.C) && same(s.H, t.H) && same(s.W, t.W)
}

func newUnaryLayerFunc(op layer.Op) func(*args, []layer.Shape) list.Layer {
	return func(a *args, in []layer.Shape) list.Layer {
		l := layer.Unary(op, a.onlyInput(in))
		switch op {
		case layer.Rsqrt:
			l.Epsilon = float32(a.floatValue("eps", 0))
		case layer.LeakyReLU:
			l.Alpha = float32(a.floatValue("alpha", 0.01))
		case layer.ELU:
			l.Alpha = float32(a.floatValue("alpha", 1))
		case layer.Clip:
			l.Low, l.High = float32(a.floatValue("low", -1)), float32(a.floatValue("high", 1))
		}
		return list.Layer{Lower: l}
	}
}

func powInputShapes(a *args) []layer.Shape {
	in := singleInputShapes(a)
	if a.isGiven("value") {
		return in
	}
	return append(in, in[0])
}

func newPowLayer(a *args, in []layer.Shape) list.Layer {
	if a.isGiven("value") {
		l := layer.Layer{Op: layer.Pow, In: a.onlyInput(in), Second: layer.Scalar, SecondShape: layer.Shape{N: 1, C: 1, H: 1, W: 1}}
		return list.Layer{Lower: l, Weights: layer.Weights{Second: []float16.Float16{a.fp16Value("value", 1)}}}
	}
	if len(in) != 2 {
		a.recordError("from", "number of inputs is %d; want 2 for %s", len(in), a.op)
		return list.Layer{}
	}
	if in[0] != in[1] {
		a.recordError("from", "input shapes %s and %s differ", list.ShapeText(in[0]), list.ShapeText(in[1]))
	}
	return list.Layer{Lower: layer.Binary(layer.Pow, in[0], in[1])}
}

func newTransposeLayer(a *args, in []layer.Shape) list.Layer {
	l := layer.Unary(layer.Transpose, a.onlyInput(in))
	l.Order = a.parseAxisOrder("perm", "whc")
	return list.Layer{Lower: l}
}

func newTileLayer(a *args, in []layer.Shape) list.Layer {
	l := layer.Unary(layer.Tile, a.onlyInput(in))
	l.Reps, l.Activation = a.parseRepetitions("reps"), a.parseActivation()
	return list.Layer{Lower: l}
}

func newPoolLayer(a *args, in []layer.Shape) list.Layer {
	s := a.onlyInput(in)
	w, dilation := a.parseDilatedWindow(s, 2)
	l := list.Pooling(s, w, a.choiceValue("kind", "max", "avg") == "avg")
	l.Lower.Dilation = dilation
	return l
}

func newSoftmaxLayer(a *args, in []layer.Shape) list.Layer {
	return list.Layer{Lower: layer.Reduction(layer.Softmax, a.onlyInput(in), a.parseAxes("axis", "c"))}
}

func newReductionLayer(a *args, in []layer.Shape) list.Layer {
	op := map[string]layer.Op{
		"sum": layer.ReduceSum, "mean": layer.ReduceMean, "max": layer.ReduceMax, "min": layer.ReduceMin,
	}[a.choiceValue("kind", "sum", "mean", "max", "min")]
	return list.Layer{Lower: layer.Reduction(op, a.onlyInput(in), a.parseAxes("axis", "hw"))}
}

func newLayerNorm(a *args, in []layer.Shape) list.Layer {
	l := layer.Reduction(layer.LayerNorm, a.onlyInput(in), a.parseAxes("axis", "w"))
	l.Epsilon = float32(a.floatValue("eps", 1e-5))
	return list.Layer{Lower: l}
}

func newConcatLayer(a *args, in []layer.Shape) list.Layer {
	l := layer.Layer{Op: layer.Concat, In: in[0]}
	l.In.C = 0
	for _, s := range in {
		if s.N != in[0].N || s.H != in[0].H || s.W != in[0].W {
			a.recordError("from", "cannot concatenate %s and %s; want shapes that differ only in channels", list.ShapeText(in[0]), list.ShapeText(s))
		}
		l.In.C += s.C
		l.Parts = append(l.Parts, s.C)
	}
	return list.Layer{Lower: l}
}

func newSliceLayer(a *args, in []layer.Shape) list.Layer {
	s := a.onlyInput(in)
	l := newAxisSliceLayer(s, a.choiceValue("axis", "c", "h", "w"), a.intValue("begin", 0, 0), a.requiredIntValue("size"), a)
	l.Lower.Skew = a.intValue("skew", 0, 0)
	return l
}

func newPadLayer(a *args, in []layer.Shape) list.Layer {
	l := layer.Unary(layer.Pad, a.onlyInput(in))
	w := &l.Window
	w.Py, w.Qy, w.Px, w.Qx = 1, 1, 1, 1
	if a.isGiven("pad") {
		w.Py, w.Qy, w.Px, w.Qx = a.parsePadding(a.values["pad"])
	}
	l.Fill = map[string]layer.Fill{"value": layer.FillValue, "edge": layer.FillEdge, "reflect": layer.FillReflect}[a.choiceValue("fill", "value", "edge", "reflect")]
	l.Value = float32(a.floatValue("value", 0))
	return list.Layer{Lower: l}
}

// newAxisSliceLayer returns a layer that selects size elements along an axis of a tensor of shape
// s, starting with element begin.
func newAxisSliceLayer(s layer.Shape, axis string, begin, size int, a *args) list.Layer {
	l := layer.Layer{Op: layer.Slice, In: s, Size: s}
	first, extent := &l.Begin.C, &l.Size.C
	switch axis {
	case "h":
		first, extent = &l.Begin.H, &l.Size.H
	case "w":
		first, extent = &l.Begin.W, &l.Size.W
	}
	if begin+size > *extent {
		a.recordError("size", "slice of %d elements from index %d exceeds the axis size of %d", size, begin, *extent)
	}
	*first, *extent = begin, size
	return list.Layer{Lower: l}
}
