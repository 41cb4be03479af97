package exporters

import (
	"math"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addAttention adds the attention of queries q over keys k and values v, [N,T,C] each, in heads. The mask is
// added to the scores if it is not empty.
func (w *writer) addAttention(q, k, v string, heads int, mask string) string {
	c := w.lastExtent(q)
	size := c / heads
	apart := func(x string, perm ...int) string {
		d := w.dims(x)
		first := pick(w, d[0], 0)
		return w.transpose(w.reshape(x, first, d[1], heads, size), perm...)
	}
	d := w.dims(q)
	scale := 1 / math.Sqrt(float64(size))
	var scores string
	switch a, b := apart(q, 0, 2, 1, 3), apart(k, 0, 2, 3, 1); w.rng.IntN(5) {
	case 0:
		scores = w.node("Div", in(w.node("MatMul", in(a, b)), w.scalar(1/scale)))
	case 1:
		scores = w.mul(w.node("MatMul", in(a, b)), w.scalar(scale))
	case 2: // scaled_dot_product_attention scales both sides
		root := w.node("Sqrt", in(w.scalar(scale)))
		scores = w.node("MatMul", in(w.mul(a, root), w.mul(b, root)))
	case 3:
		scores = w.node("MatMul", in(w.mul(a, w.scalar(scale)), b))
	default:
		scores = w.mul(w.node("MatMul", in(a, w.transpose(apart(k, 0, 2, 1, 3), 0, 1, 3, 2))), w.scalar(scale))
	}
	if mask != "" {
		scores = w.add(scores, mask)
	}
	y := w.transpose(w.node("MatMul", in(w.softmax(scores), apart(v, 0, 2, 1, 3))), 0, 2, 1, 3)
	return w.reshape(y, d[0], d[1], c)
}

// chooseHeads returns a number of heads that divides the channels of x.
func (w *writer) chooseHeads(x string) int {
	c := w.lastExtent(x)
	if c%4 == 0 {
		return pick(w, 1, 2, 4)
	}
	if c%2 == 0 {
		return pick(w, 1, 2)
	}
	return 1
}

// newCausalMask returns a mask of [rows][keys] that hides later keys.
func (w *writer) newCausalMask(rows, keys int, hidden float64) string {
	values := make([]float64, rows*keys)
	for i := range values {
		if i%keys > i/keys+keys-rows {
			values[i] = hidden
		}
	}
	return w.constant(onnx.Float, []int{1, 1, rows, keys}, values...)
}

// torchSequenceForms are layers over sequences as PyTorch's exporters write them.
var torchSequenceForms = []form{
	{"attention of three products", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.addAttention(w.linear(x, c), w.linear(x, c), w.linear(x, c), w.chooseHeads(x), "")
		return w.add(x, w.linear(y, c))
	}},
	{"causal attention", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		return w.linear(w.addAttention(w.linear(x, d[2]), w.linear(x, d[2]), w.linear(x, d[2]), w.chooseHeads(x), w.newCausalMask(d[1], d[1], pick(w, -1e4, -1e9, math.Inf(-1), -math.MaxFloat32))), d[2])
	}},
	{"attention of one product, split", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		parts := w.split(w.linear(x, 3*c), pick(w, 2, -1), c, c, c)
		return w.linear(w.addAttention(parts[0], parts[1], parts[2], w.chooseHeads(x), ""), c)
	}},
	{"attention of one product, gathered", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		size := d[2] / heads
		all := w.transpose(w.reshape(w.linear(x, 3*d[2]), d[0], d[1], 3, heads, size), 2, 0, 3, 1, 4)
		part := func(i int) string { return w.node("Gather", in(all, w.index(i)), number("axis", 0)) }
		q, k, v := part(0), part(1), part(2)
		if w.chance(40) {
			parts := w.split(all, 0, 1, 1, 1)
			q, k, v = w.squeeze("Squeeze", parts[0], 0), w.squeeze("Squeeze", parts[1], 0), w.squeeze("Squeeze", parts[2], 0)
		}
		scores := w.node("MatMul", in(w.mul(q, w.scalar(1/math.Sqrt(float64(size)))), w.transpose(k, 0, 1, 3, 2)))
		y := w.transpose(w.node("MatMul", in(w.softmax(scores), v)), 0, 2, 1, 3)
		return w.linear(w.reshape(y, d[0], d[1], d[2]), d[2])
	}},
	{"attention with a mask of the caller", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		keep := make([]float64, d[0]*d[1])
		for i := range keep {
			keep[i] = 1
			if i%d[1] > 0 && w.chance(30) {
				keep[i] = 0
			}
		}
		mask := w.inputOf(onnx.Int64, []int{d[0], d[1]}, keep)
		mask = w.squeeze("Unsqueeze", w.squeeze("Unsqueeze", mask, 1), 2)
		float := w.node("Cast", in(mask), number("to", int(onnx.Float)))
		added := w.mul(w.node("Sub", in(w.scalar(1), float)), w.scalar(pick(w, -1e4, -math.MaxFloat32)))
		return w.addAttention(w.linear(x, d[2]), w.linear(x, d[2]), w.linear(x, d[2]), w.chooseHeads(x), added)
	}},
	{"attention that a condition masks", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		heads := w.chooseHeads(x)
		size := d[2] / heads
		apart := func(y string, perm ...int) string { return w.transpose(w.reshape(y, d[0], d[1], heads, size), perm...) }
		scores := w.node("MatMul", in(apart(w.linear(x, d[2]), 0, 2, 1, 3), apart(w.linear(x, d[2]), 0, 2, 3, 1)))
		see := make([]float64, d[1]*d[1])
		for i := range see {
			if i%d[1] <= i/d[1] {
				see[i] = 1
			}
		}
		scores = w.node("Where", in(w.constant(onnx.Bool, []int{1, 1, d[1], d[1]}, see...), scores, w.scalar(pick(w, -1e4, -math.MaxFloat32))))
		p := w.softmax(scores)
		if w.chance(40) { // the exporter of 2024 guards rows without keys
			p = w.node("Where", in(w.node("IsNaN", in(p)), w.scalar(0), p))
		}
		return w.reshape(w.transpose(w.node("MatMul", in(p, apart(w.linear(x, d[2]), 0, 2, 1, 3))), 0, 2, 1, 3), d[0], d[1], d[2])
	}},
	{"attention to another sequence", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		other := w.input(d[0], w.between(1, 9), pick(w, 4, 6, 8))
		return w.linear(w.addAttention(w.linear(x, d[2]), w.linear(other, d[2]), w.linear(other, d[2]), w.chooseHeads(x), ""), d[2])
	}},
	{"attention of grouped queries", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		if d[2]%4 != 0 {
			return ""
		}
		size, groups := d[2]/4, pick(w, 1, 2)
		q := w.transpose(w.reshape(w.linear(x, d[2]), d[0], d[1], 4, size), 0, 2, 1, 3)
		repeated := func() string {
			k := w.transpose(w.reshape(w.linear(x, groups*size), d[0], d[1], groups, size), 0, 2, 1, 3)
			k = w.node("Expand", in(w.squeeze("Unsqueeze", k, 2), w.ints(d[0], groups, 4/groups, d[1], size)))
			return w.reshape(k, d[0], 4, d[1], size)
		}
		scores := w.mul(w.node("MatMul", in(q, w.transpose(repeated(), 0, 1, 3, 2))), w.scalar(1/math.Sqrt(float64(size))))
		scores = w.add(scores, w.newCausalMask(d[1], d[1], -1e4))
		y := w.transpose(w.node("MatMul", in(w.softmax(scores), repeated())), 0, 2, 1, 3)
		return w.linear(w.reshape(y, d[0], d[1], d[2]), d[2])
	}},
	{"attention with a bias of places", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		table := w.offsets(2*d[1]-1, heads)
		at := make([]float64, d[1]*d[1])
		for i := range at {
			at[i] = float64(i/d[1] - i%d[1] + d[1] - 1)
		}
		bias := w.transpose(w.node("Gather", in(table, w.constant(onnx.Int64, []int{d[1], d[1]}, at...)), number("axis", 0)), 2, 0, 1)
		return w.addAttention(w.linear(x, d[2]), w.linear(x, d[2]), w.linear(x, d[2]), heads, w.squeeze("Unsqueeze", bias, 0))
	}},
	{"attention with keys from before", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		size, past := d[2]/heads, w.between(1, 6)
		apart := func(y string) string { return w.transpose(w.reshape(y, d[0], d[1], heads, size), 0, 2, 1, 3) }
		k := w.concat(2, w.input(d[0], heads, past, size), apart(w.linear(x, d[2])))
		v := w.concat(pick(w, 2, -2), w.input(d[0], heads, past, size), apart(w.linear(x, d[2])))
		scores := w.mul(w.node("MatMul", in(apart(w.linear(x, d[2])), w.transpose(k, 0, 1, 3, 2))), w.scalar(1/math.Sqrt(float64(size))))
		scores = w.add(scores, w.newCausalMask(d[1], past+d[1], -1e4))
		return w.reshape(w.transpose(w.node("MatMul", in(w.softmax(scores), v)), 0, 2, 1, 3), d[0], d[1], d[2])
	}},
	{"rotated positions", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		size := d[2] / heads
		if size%2 != 0 {
			return ""
		}
		q := w.transpose(w.reshape(w.linear(x, d[2]), d[0], d[1], heads, size), 0, 2, 1, 3)
		cos, sin := w.offsets(1, 1, d[1], size), w.offsets(1, 1, d[1], size)
		if w.chance(60) { // halves
			low, high := w.slice(q, 3, 0, size/2, 1), w.slice(q, 3, size/2, 1<<62, 1)
			return w.add(w.mul(q, cos), w.mul(w.concat(-1, w.node("Neg", in(high)), low), sin))
		}
		even, odd := w.slice(q, 3, 0, 1<<62, 2), w.slice(q, 3, 1, 1<<62, 2) // pairs
		turned := w.concat(-1, w.squeeze("Unsqueeze", w.node("Neg", in(odd)), 4), w.squeeze("Unsqueeze", even, 4))
		return w.add(w.mul(q, cos), w.mul(w.reshape(turned, d[0], heads, d[1], size), sin))
	}},
	{"layer of an encoder, norm last", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.layerNorm(w.add(x, w.linear(w.addAttention(w.linear(x, c), w.linear(x, c), w.linear(x, c), w.chooseHeads(x), ""), c)))
		return w.layerNorm(w.add(y, w.linear(w.activation(w.linear(y, 2*c)), c)))
	}},
	{"layer of an encoder, norm first", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		n := w.layerNorm(x)
		y := w.add(x, w.linear(w.addAttention(w.linear(n, c), w.linear(n, c), w.linear(n, c), w.chooseHeads(x), ""), c))
		return w.add(y, w.linear(w.gelu(w.linear(w.layerNorm(y), 2*c)), c))
	}},
	{"layer norm", sequence, func(w *writer, x string) string { return w.layerNorm(x) }},
	{"norm of the mean square", sequence, func(w *writer, x string) string { return w.normalizeByRMS(x) }},
	{"gated products", sequence, func(w *writer, x string) string {
		c, n := w.lastExtent(x), w.between(4, 20)
		gate := w.linear(x, n)
		switch w.rng.IntN(3) {
		case 0:
			gate = w.gelu(gate)
		case 1:
			gate = w.node("Sigmoid", in(gate))
		default:
			gate = w.mul(gate, w.node("Sigmoid", in(gate)))
		}
		return w.add(x, w.linear(w.mul(gate, w.linear(x, n)), c))
	}},
	{"gate of halves", sequence, func(w *writer, x string) string {
		n := w.between(2, 10)
		parts := w.split(w.linear(x, 2*n), pick(w, -1, 2), n, n)
		return w.mul(parts[0], w.node("Sigmoid", in(parts[1])))
	}},
	{"recurrent layer", sequence, func(w *writer, x string) string { return w.recurrent(x, pick(w, "LSTM", "GRU", "RNN")) }},
	{"convolution along a sequence", sequence, func(w *writer, x string) string {
		kernel := pick(w, 1, 3, 5)
		y := w.conv(w.transpose(x, 0, 2, 1), w.between(2, 12), convolution{kernel: kernel, pad: kernel / 2, dilation: 1})
		return w.activation(w.transpose(y, 0, 2, 1))
	}},
	{"convolution of the past", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		dilation := w.between(1, 2)
		y := w.transpose(x, 0, 2, 1)
		if w.chance(50) {
			y = w.node("Pad", in(y, w.ints(0, 0, 2*dilation, 0, 0, 0)))
			y = w.conv(y, d[2], convolution{kernel: 3, dilation: dilation, group: d[2]})
		} else {
			y = w.slice(w.conv(y, d[2], convolution{kernel: 3, dilation: dilation, pad: 2 * dilation, group: d[2]}), 2, 0, -2*dilation, 1)
		}
		y = w.mul(y, w.node("Sigmoid", in(y)))
		return w.transpose(y, 0, 2, 1)
	}},
	{"convolution module of a conformer", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.conv(w.transpose(w.layerNorm(x), 0, 2, 1), 2*c, convolution{})
		parts := w.split(y, 1, c, c)
		y = w.mul(parts[0], w.node("Sigmoid", in(parts[1])))
		y = w.batchNorm(w.conv(y, c, convolution{kernel: 5, pad: 2, group: c}))
		y = w.conv(w.mul(y, w.node("Sigmoid", in(y))), c, convolution{})
		return w.add(x, w.transpose(y, 0, 2, 1))
	}},
	{"frames stacked", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		if d[1]%2 != 0 {
			return ""
		}
		return w.linear(w.reshape(x, d[0], d[1]/2, 2*d[2]), w.between(2, 12))
	}},
	{"relative shift", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		positions := w.weights(d[2], 1, d[2], 2*d[1]-1)
		scores := w.node("MatMul", in(x, positions)) // [N,T,2T-1]
		y := w.node("Pad", in(scores, w.ints(0, 0, 1, 0, 0, 0)))
		y = w.reshape(y, d[0], 2*d[1], d[1])
		y = w.reshape(w.slice(y, 1, 1, 1<<62, 1), d[0], d[1], 2*d[1]-1)
		return w.softmax(w.slice(y, 2, 0, d[1], 1))
	}},
	{"first token", sequence, func(w *writer, x string) string {
		token := w.node("Gather", in(x, w.index(0)), number("axis", 1))
		if w.chance(40) {
			token = w.squeeze("Squeeze", w.slice(x, 1, 0, 1, 1), 1)
		}
		return w.node("Tanh", in(w.linear(token, w.between(2, 12))))
	}},
	{"mean of the tokens that a mask keeps", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		keep := make([]float64, d[0]*d[1])
		for i := range keep {
			keep[i] = 1
			if i%d[1] > 0 && w.chance(30) {
				keep[i] = 0
			}
		}
		mask := w.node("Cast", in(w.squeeze("Unsqueeze", w.inputOf(onnx.Int64, []int{d[0], d[1]}, keep), 2)), number("to", int(onnx.Float)))
		mask = w.node("Expand", in(mask, w.node("Shape", in(x))))
		total := w.reduce("ReduceSum", w.mul(x, mask), 0, 1)
		return w.node("Div", in(total, w.clip(w.reduce("ReduceSum", mask, 0, 1), 1.0/64, 1e4)))
	}},
	{"pool by attention", sequence, func(w *writer, x string) string {
		if w.opset() < 13 {
			return ""
		}
		weight := w.node("Softmax", in(w.linear(w.node("Tanh", in(w.linear(x, 4))), 1)), number("axis", 1))
		if w.chance(50) {
			return w.squeeze("Squeeze", w.node("MatMul", in(w.transpose(weight, 0, 2, 1), x)), 1)
		}
		return w.reduce("ReduceSum", w.mul(weight, x), 0, 1)
	}},
	{"embedding of tokens", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		ids := w.indices(9, d[0], d[1])
		y := w.add(w.node("Gather", in(w.offsets(9, d[2]), ids)), x)
		y = w.add(y, w.node("Gather", in(w.offsets(2, d[2]), w.indices(2, d[0], d[1])), number("axis", 0)))
		return w.layerNorm(y)
	}},
	{"shape that is computed", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		if d[2]%2 != 0 {
			return ""
		}
		shape := w.node("Shape", in(x))
		dim := func(i int) string {
			v := w.node("Gather", in(shape, w.index(i)), number("axis", 0))
			return w.squeeze("Unsqueeze", v, 0)
		}
		y := w.node("Reshape", in(x, w.node("Concat", in(dim(0), dim(1), w.ints(2), w.ints(-1)), number("axis", 0))))
		y = w.activation(w.transpose(y, 0, 2, 1, 3))
		return w.node("Reshape", in(w.transpose(y, 0, 2, 1, 3), w.node("Concat", in(dim(0), dim(1), w.ints(d[2])), number("axis", 0))))
	}},
	{"expansion that a comparison chooses", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		shape := w.ints(-1, d[1], -1)
		ones := w.node("ConstantOfShape", in(w.ints(3)))
		if w.data[ones].Type != onnx.Int64 {
			ones = w.node("Cast", in(ones), number("to", int(onnx.Int64)))
		}
		ones = w.add(ones, w.ints(1))
		full := w.node("Where", in(w.node("Equal", in(shape, w.mul(ones, w.ints(-1)))), ones, shape))
		return w.add(x, w.node("Expand", in(w.offsets(1, 1, d[2]), full)))
	}},
	{"sum so far", sequence, func(w *writer, x string) string {
		return w.mul(w.node("CumSum", in(x, w.index(1))), w.scalar(0.25))
	}},
	{"mix of tokens", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		y := w.transpose(w.layerNorm(x), 0, 2, 1)
		y = w.transpose(w.linear(w.gelu(w.linear(y, 6)), d[1]), 0, 2, 1)
		return w.add(x, y)
	}},
	{"linear attention", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		feature := func(v string) string { return w.add(w.node("Elu", in(v)), w.scalar(1)) }
		q, k, v := feature(w.linear(x, c)), feature(w.linear(x, c)), w.linear(x, c)
		state := w.node("MatMul", in(w.transpose(k, 0, 2, 1), v))
		norm := w.node("MatMul", in(q, w.transpose(w.reduce("ReduceSum", k, 1, 1), 0, 2, 1)))
		return w.node("Div", in(w.node("MatMul", in(q, state)), w.add(norm, w.scalar(1))))
	}},
	{"products by letters", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		size := d[2] / heads
		if w.opset() < 12 {
			return ""
		}
		apart := func() string {
			return w.node("Einsum", in(x, w.weights(d[2], d[2], heads, size)), text("equation", "btc,chd->bthd"))
		}
		q, k, v := apart(), apart(), apart()
		scores := w.mul(w.node("Einsum", in(q, k), text("equation", "bqhd,bkhd->bhqk")), w.scalar(1/math.Sqrt(float64(size))))
		y := w.node("Einsum", in(w.softmax(scores), v), text("equation", "bhqk,bkhd->bqhd"))
		return w.node("Einsum", in(y, w.weights(d[2], heads, size, d[2])), text("equation", "bthd,hdc->btc"))
	}},
	{"state that is modulated", sequence, func(w *writer, x string) string { // a diffusion transformer's
		d := w.dims(x)
		c := w.input(d[0], 6)
		c = w.linear(w.mul(c, w.node("Sigmoid", in(c))), 3*d[2])
		parts := w.split(c, 1, d[2], d[2], d[2])
		up := func(v string) string { return w.squeeze("Unsqueeze", v, 1) }
		y := w.add(w.mul(w.layerNorm(x), w.add(w.scalar(1), up(parts[0]))), up(parts[1]))
		return w.add(x, w.mul(up(parts[2]), w.linear(y, d[2])))
	}},
}

// recurrent adds a recurrent layer over x, [N,T,C], as PyTorch writes it: with the time first, and both
// directions side by side.
func (w *writer) recurrent(x, op string) string {
	d := w.dims(x)
	hidden, directions := w.between(2, 8), pick(w, 1, 2)
	gates := map[string]int{"LSTM": 4, "GRU": 3, "RNN": 1}[op]
	attributes := []onnxgraph.Attribute{number("hidden_size", hidden)}
	if directions == 2 {
		attributes = append(attributes, text("direction", "bidirectional"))
	} else if w.chance(20) {
		attributes = append(attributes, text("direction", "reverse"))
	}
	if op == "GRU" {
		attributes = append(attributes, number("linear_before_reset", 1))
	}
	zeros := func() string {
		return w.constant(onnx.Float, []int{directions, d[0], hidden}, make([]float64, directions*d[0]*hidden)...)
	}
	inputs := in(w.transpose(x, 1, 0, 2), w.weights(d[2], directions, gates*hidden, d[2]), w.weights(hidden, directions, gates*hidden, hidden), w.offsets(directions, 2*gates*hidden), "", zeros())
	if op == "LSTM" {
		inputs = append(inputs, zeros())
	}
	y := w.nodeOf(pick(w, 1, 2), op, inputs, attributes...)[0]
	if directions == 1 {
		y = w.squeeze("Squeeze", y, 1)
	} else {
		y = w.reshape(w.transpose(y, 0, 2, 1, 3), 0, 0, -1)
	}
	return w.transpose(y, 1, 0, 2)
}

// torchRowForms are layers over rows as PyTorch's exporters write them.
var torchRowForms = []form{
	{"perceptron", rows, func(w *writer, x string) string {
		return w.linear(w.activation(w.linear(x, w.between(2, 20))), w.between(2, 12))
	}},
	{"normalized rows of a batch", rows, func(w *writer, x string) string {
		return w.activation(w.batchNorm(w.linear(x, w.between(2, 20))))
	}},
	{"unit length", rows, func(w *writer, x string) string {
		length := w.clip(w.reduce("ReduceL2", x, 1, pick(w, 1, -1)), 1.0/64, 1e4)
		if w.chance(60) {
			length = w.node("Expand", in(length, w.node("Shape", in(x))))
		}
		return w.node("Div", in(x, length))
	}},
	{"similarity to prototypes", rows, func(w *writer, x string) string {
		length := w.node("Sqrt", in(w.add(w.reduce("ReduceSum", w.mul(x, x), 1, 1), w.scalar(1.0/64))))
		return w.mul(w.node("MatMul", in(w.node("Div", in(x, length)), w.weights(w.lastExtent(x), w.lastExtent(x), 5))), w.scales(1))
	}},
	{"distance to prototypes", rows, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.node("Sub", in(w.squeeze("Unsqueeze", x, 1), w.offsets(1, 3, c)))
		return w.node("Sqrt", in(w.add(w.reduce("ReduceSum", w.node("Pow", in(y, w.scalar(2))), 0, 2), w.scalar(1.0/64))))
	}},
	{"softmax in pieces", rows, func(w *writer, x string) string {
		y := w.linear(x, w.between(2, 9))
		e := w.node("Exp", in(w.node("Sub", in(y, w.reduce("ReduceMax", y, 1, 1)))))
		return w.node("Div", in(e, w.reduce("ReduceSum", e, 1, 1)))
	}},
	{"log of probabilities", rows, func(w *writer, x string) string {
		return w.node("LogSoftmax", in(w.linear(x, w.between(2, 9))), number("axis", pick(w, 1, -1)))
	}},
	{"interactions of factors", rows, func(w *writer, x string) string {
		c, k := w.lastExtent(x), w.between(2, 4)
		v := w.weights(c, c, k)
		sum := w.node("Pow", in(w.node("MatMul", in(x, v)), w.scalar(2)))
		squares := w.node("MatMul", in(w.node("Pow", in(x, w.scalar(2))), w.mul(v, v)))
		return w.mul(w.reduce("ReduceSum", w.node("Sub", in(sum, squares)), 1, 1), w.scalar(0.5))
	}},
	{"mixture of experts", rows, func(w *writer, x string) string {
		d := w.dims(x)
		gate := w.softmax(w.linear(x, 3))
		all := w.reshape(w.linear(x, 3*4), d[0], 3, 4)
		return w.reduce("ReduceSum", w.mul(w.squeeze("Unsqueeze", gate, 2), all), 0, 1)
	}},
	{"features side by side", rows, func(w *writer, x string) string {
		d := w.dims(x)
		deep := w.node("Relu", in(w.linear(x, 6)))
		row := w.node("Gather", in(w.offsets(7, 4), w.indices(7, d[0])), number("axis", 0))
		return w.node("Sigmoid", in(w.linear(w.concat(1, x, deep, row), 2)))
	}},
	{"one step of a recurrent layer", rows, func(w *writer, x string) string {
		n := w.between(2, 8)
		h, c := w.input(w.dims(x)[0], n), w.input(w.dims(x)[0], n)
		parts := w.split(w.add(w.linear(x, 4*n), w.linear(h, 4*n)), 1, n, n, n, n)
		s := func(v string) string { return w.node("Sigmoid", in(v)) }
		next := w.add(w.mul(s(parts[1]), c), w.mul(s(parts[0]), w.node("Tanh", in(parts[2]))))
		return w.mul(s(parts[3]), w.node("Tanh", in(next)))
	}},
	{"noise around a mean", rows, func(w *writer, x string) string {
		d, n := w.dims(x), w.between(2, 6)
		deviation := w.node("Exp", in(w.mul(w.linear(x, n), w.scalar(0.5))))
		if w.magnitude(deviation) > 100 {
			return ""
		}
		return w.add(w.linear(x, n), w.mul(deviation, w.input(d[0], n)))
	}},
	{"waves of a time", rows, func(w *writer, x string) string {
		d := w.dims(x)
		angle := w.mul(w.squeeze("Unsqueeze", w.node("Gather", in(x, w.index(0)), number("axis", 1)), 1), w.scales(1, 4))
		return w.linear(w.mul(w.concat(1, w.node("Sin", in(angle)), w.node("Cos", in(angle))), w.scalar(1)), max(1, d[1]))
	}},
	{"residual of rows", rows, func(w *writer, x string) string {
		return w.add(w.linear(w.node("Relu", in(w.linear(w.layerNorm(x), 8))), w.lastExtent(x)), x)
	}},
}
