package exporters

import "anesim/bench/internal/onnxgraph"

const ms = "com.microsoft."

// runtimeForms are the fusions of onnxruntime's optimizer, beside what it leaves of a network.
var runtimeForms = []form{
	{"fused convolution", image, func(w *writer, x string) string {
		c, n := w.dims(x)[1], w.between(1, 8)
		a := []onnxgraph.Attribute{list("kernel_shape", 3, 3), list("pads", 1, 1, 1, 1), list("strides", pick(w, 1, 2), 1), list("dilations", 1, 1), number("group", 1)}
		inputs := in(x, w.weights(9*c, n, c, 3, 3), w.offsets(n))
		switch w.rng.IntN(5) {
		case 0:
			a = append(a, text("activation", "Relu"))
		case 1:
			a = append(a, text("activation", "LeakyRelu"), onnxgraph.Attribute{Name: "activation_params", Kind: onnxgraph.FloatsKind, Floats: []float32{0.25}})
		case 2:
			a = append(a, text("activation", "Clip"), onnxgraph.Attribute{Name: "activation_params", Kind: onnxgraph.FloatsKind, Floats: []float32{0, 6}})
		case 3:
			a = append(a, text("activation", pick(w, "Sigmoid", "Tanh")))
		default:
			a = append(a, text("activation", "HardSigmoid"), onnxgraph.Attribute{Name: "activation_params", Kind: onnxgraph.FloatsKind, Floats: []float32{0.2, 0.5}})
		}
		return w.node(ms+"FusedConv", inputs, a...)
	}},
	{"fused product", rows, func(w *writer, x string) string {
		k, n := w.lastExtent(x), w.between(2, 9)
		return w.node(ms+"FusedGemm", in(x, w.weights(k, n, k), w.offsets(n)), number("transB", 1), text("activation", pick(w, "Relu", "Tanh", "Sigmoid")), real("alpha", 1), real("beta", 1))
	}},
	{"scaled product of heads", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		size := d[2] / heads
		apart := func() string { return w.transpose(w.reshape(w.linear(x, d[2]), d[0], d[1], heads, size), 0, 2, 1, 3) }
		scores := w.node(ms+"FusedMatMul", in(apart(), apart()), real("alpha", 0.25), number("transA", 0), number("transB", 1))
		return w.reshape(w.transpose(w.node("MatMul", in(w.softmax(scores), apart())), 0, 2, 1, 3), d[0], d[1], d[2])
	}},
	{"functions with a bias", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		switch w.rng.IntN(4) {
		case 0:
			return w.node(ms+"BiasGelu", in(w.node("MatMul", in(x, w.weights(c, c, c))), w.offsets(c)))
		case 1:
			return w.node(ms+"FastGelu", in(x, w.offsets(c)))
		case 2:
			return w.node(ms+"QuickGelu", in(w.linear(x, c)), real("alpha", pick(w, 1.702, 1)))
		}
		return w.node(ms+"Gelu", in(w.linear(x, c)))
	}},
	{"layer of an optimized encoder", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.node(ms+"Attention", in(x, w.weights(c, c, 3*c), w.offsets(3*c)), number("num_heads", w.chooseHeads(x)))
		y = w.node(ms+"SkipLayerNormalization", in(w.node("MatMul", in(y, w.weights(c, c, c))), x, w.scales(c), w.offsets(c), w.offsets(c)), real("epsilon", 1.0/64))
		z := w.node(ms+"BiasGelu", in(w.node("MatMul", in(y, w.weights(c, c, 2*c))), w.offsets(2*c)))
		return w.node(ms+"SkipLayerNormalization", in(w.node("MatMul", in(z, w.weights(2*c, 2*c, c))), y, w.scales(c), w.offsets(c)), real("epsilon", 1.0/64))
	}},
	{"layer of an optimized decoder", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		heads := w.chooseHeads(x)
		n := w.node("SimplifiedLayerNormalization", in(x, w.scales(c)), number("axis", -1), real("epsilon", 1.0/64))
		product := func(columns int) string { return w.node("MatMul", in(n, w.weights(c, c, columns))) }
		y := w.node(ms+"MultiHeadAttention", in(product(c), product(c), product(c)), number("num_heads", heads), number("unidirectional", 1))
		skip := w.nodeTo(in(w.newName(), "", "", w.newName()), ms+"SkipSimplifiedLayerNormalization", in(x, w.node("MatMul", in(y, w.weights(c, c, c))), w.scales(c)), real("epsilon", 1.0/64))
		n = skip[0]
		gate := product(2 * c)
		z := w.node("MatMul", in(w.mul(w.mul(gate, w.node("Sigmoid", in(gate))), product(2*c)), w.weights(2*c, 2*c, c)))
		return w.add(z, skip[3])
	}},
	{"norm of groups and swish", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		if c%2 != 0 {
			return ""
		}
		y := w.node(ms+"GroupNorm", in(w.toChannelsLast(x), w.scales(c), w.offsets(c)), number("groups", 2), number("activation", w.rng.IntN(2)), real("epsilon", 1.0/64))
		return w.toChannelsFirst(y)
	}},
	{"softmax of biased scores", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		return w.node(ms+"BiasSoftmax", in(x, w.offsets(d...)), number("axis", pick(w, 1, 2, -1)), number("is_inner_broadcast", w.rng.IntN(2)))
	}},
	{"embedding with its norm", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		i32 := func(n int) string { return w.node("Cast", in(w.indices(n, d[0], d[1])), number("to", 6)) }
		out := w.nodeOf(2, ms+"EmbedLayerNormalization", in(i32(9), i32(2), w.offsets(9, d[2]), w.offsets(max(16, d[1]), d[2]), w.offsets(2, d[2]), w.scales(d[2]), w.offsets(d[2])), real("epsilon", 1.0/64))
		return w.add(out[0], x)
	}},
}
