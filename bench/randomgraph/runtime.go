package randomgraph

import (
	"math"
	"math/rand/v2"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// Runtimes have operators that ONNX of version 22 lacks: those that onnxruntime writes when it fuses
// nodes, in the domain com.microsoft, and those of versions 23 and 24. Every eighth graph begins
// with one of them. These graphs draw their numbers from a stream of their own, so that the other
// graphs do not depend on them.

// isRuntimeSeed reports whether the graph of a seed begins with an operator of runtimeChoices.
func isRuntimeSeed(seed uint64, o Options) bool { return seed%8 == 3 && o.Opset == 0 }

// runtimeChoices add an operator with inputs of its own. The result is false if the operator set of
// the graph lacks the operator.
var runtimeChoices = [...]func(b *builder) bool{
	addStandardAttention, addStandardAttention, addMicrosoftAttention, addMicrosoftAttention, addGroupQueryAttention, addGroupQueryAttention, addProjectedAttention, addRotary,
	addSwishOrRMSNorm, addSwishOrRMSNorm, addFusedConv, addFusedGemm, addMatMulNBits, addQuantizedGemm, addIntegerProduct, addBiasedOperator,
}

// newRuntimeGraph returns a graph that begins with an operator of runtimeChoices and goes on like
// other graphs.
func newRuntimeGraph(rng *rand.Rand, o Options) *onnxgraph.Graph {
	most := o.MaxNodes
	if most == 0 {
		most = 5
	}
	for {
		b := newBuilder(rng, []int{17, 21, 22, 23, 24, 24}[rng.IntN(6)])
		if !runtimeChoices[rng.IntN(len(runtimeChoices))](b) || b.tooNew {
			continue
		}
		first := b.names[len(b.names)-1]
		want := b.randomInt(1, most)
		for tries := 4 * want; len(b.graph.Nodes) < want && tries > 0; tries-- {
			b.tryRandomNodes(b.chooseStartTensor(first))
		}
		b.chooseOutputs()
		return b.graph
	}
}

// addSmallInput adds an input of shape dims with elements from -1 to 1, so that a softmax of
// products of two such inputs has no sharp steps.
func (b *builder) addSmallInput(dims ...int) string {
	name := b.addInput(dims...)
	t := b.graph.Input(name)
	t.Values = onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), -64, 64, 64)
	v := b.graph.Values[name]
	v.Low, v.High = -1, 1
	b.graph.Values[name] = v
	return name
}

func (b *builder) addMicrosoftNode(op string, inputs []string, out []onnxgraph.Value, attributes ...onnxgraph.Attribute) []string {
	names := b.addNodeWithOutputs(op, inputs, out, attributes...)
	b.graph.Nodes[len(b.graph.Nodes)-1].Domain = "com.microsoft"
	return names
}

// padInputs returns the inputs with omitted ones up to n, and then next.
func padInputs(inputs []string, n int, next ...string) []string {
	for len(inputs) < n {
		inputs = append(inputs, "")
	}
	return append(inputs, next...)
}

// describeFloats describes a float32 tensor with elements from -high to high.
func describeFloats(high float64, dims ...int) onnxgraph.Value {
	return onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: -high, High: high}
}

// addStandardAttention adds ONNX's Attention, with heads apart or joined, and some of its options.
func addStandardAttention(b *builder) bool {
	if b.graph.Opset < 23 {
		return false
	}
	batch, rows, keys, heads, groups, size := b.randomInt(1, 2), b.randomInt(1, 9), b.randomInt(1, 9), 4, pickRandom(b, 1, 2, 4), pickRandom(b, 4, 8)
	var a []onnxgraph.Attribute
	past := 0
	apart := b.randomBool(50)
	dims := func(length, n int) []int {
		if apart {
			return []int{batch, n, length, size}
		}
		return []int{batch, length, n * size}
	}
	in := []string{b.addSmallInput(dims(rows, heads)...), b.addSmallInput(dims(keys, groups)...), b.addSmallInput(dims(keys, groups)...)}
	if !apart {
		a = append(a, newIntAttribute("q_num_heads", heads), newIntAttribute("kv_num_heads", groups))
	}
	filled := b.graph.Opset >= 24 && b.randomBool(30)
	if !filled && b.randomBool(30) {
		past = b.randomInt(1, 5)
		in = padInputs(in, 4, b.addSmallInput(batch, groups, past, size), b.addSmallInput(batch, groups, past, size))
	}
	out := []onnxgraph.Value{describeFloats(1, dims(rows, heads)...)}
	if past > 0 {
		out = append(out, describeFloats(1, batch, groups, past+keys, size), describeFloats(1, batch, groups, past+keys, size))
	}
	switch {
	case filled:
		last := make([]int, batch)
		for i := range last {
			last[i] = b.randomInt(1, keys)
			if keys >= rows { // a query of a causal attention then sees a key
				last[i] = b.randomInt(rows, keys)
			}
		}
		if keys >= rows && b.randomBool(40) {
			a = append(a, newIntAttribute("is_causal", 1))
		}
		in = padInputs(in, 6, b.addIntVector(last...))
	case b.randomBool(40) && (rows > 1 || keys == 1): // onnxruntime 1.30 hides nothing from a single query, against the definition
		a = append(a, newIntAttribute("is_causal", 1))
	}
	if b.randomBool(40) {
		in = padInputs(in, 4)
		in[3] = b.addAddendConstant(rows, past+keys)
	}
	if b.randomBool(30) {
		a = append(a, newFloatAttribute("scale", 0.25))
	}
	if b.randomBool(30) {
		a = append(a, newFloatAttribute("softcap", 2))
	}
	b.addNodeWithOutputs("Attention", in, out, a...)
	return true
}

// addMicrosoftAttention adds com.microsoft's MultiHeadAttention with some of its options.
func addMicrosoftAttention(b *builder) bool {
	batch, rows, heads, size := b.randomInt(1, 2), b.randomInt(1, 9), pickRandom(b, 1, 2, 4), pickRandom(b, 4, 8)
	keys := rows
	a := []onnxgraph.Attribute{newIntAttribute("num_heads", heads)}
	if b.randomBool(50) {
		a = append(a, newIntAttribute("unidirectional", 1))
	} else {
		keys = b.randomInt(1, 9)
	}
	width := heads * size
	in := []string{b.addSmallInput(batch, rows, width), b.addSmallInput(batch, keys, width), b.addSmallInput(batch, keys, width)}
	if b.randomBool(40) {
		in = append(in, b.addAddendConstant(3*width))
	}
	if b.randomBool(40) {
		in = padInputs(in, 5, b.addAddendConstant(pickRandom(b, 1, batch), heads, rows, keys))
	}
	if b.randomBool(30) {
		a = append(a, newFloatAttribute("scale", 0.25))
	}
	b.addMicrosoftNode("MultiHeadAttention", in, []onnxgraph.Value{describeFloats(3, batch, rows, width)}, a...)
	return true
}

// addGroupQueryAttention adds com.microsoft's GroupQueryAttention, without past keys or with a cache that may
// be longer than they are, and some of its options.
func addGroupQueryAttention(b *builder) bool {
	batch, rows, groups, size := b.randomInt(1, 2), b.randomInt(2, 6), pickRandom(b, 1, 2), 16
	heads := groups * pickRandom(b, 1, 2)
	room, past := 0, 0
	if b.randomBool(50) {
		batch, rows = 1, b.randomInt(1, 3)
		past = b.randomInt(1, 5)
		room = past + pickRandom(b, 0, 0, rows, rows+3)
	}
	in := []string{b.addSmallInput(batch, rows, heads*size), b.addSmallInput(batch, rows, groups*size), b.addSmallInput(batch, rows, groups*size)}
	if room > 0 {
		in = append(in, b.addSmallInput(batch, groups, room, size), b.addSmallInput(batch, groups, room, size))
	}
	total := past + rows
	last := make([]float64, batch)
	for i := range last {
		last[i] = float64(total - 1)
	}
	in = padInputs(in, 5, b.addConstant(onnx.Int32, []int{batch}, last), b.addConstant(onnx.Int32, []int{}, []float64{float64(total)}))
	a := []onnxgraph.Attribute{newIntAttribute("num_heads", heads), newIntAttribute("kv_num_heads", groups)}
	if b.randomBool(40) {
		angles := make([]float64, total*size)
		for i := range angles {
			// Rounded, because math.Sin may differ in its last bit between machines.
			angles[i] = math.Round(64*math.Sin(float64(i))) / 64
		}
		dims := []int{2 * total, size / 2}
		in = append(in, b.addConstant(onnx.Float, dims, angles), b.addConstant(onnx.Float, dims, angles))
		a = append(a, newIntAttribute("do_rotary", 1), newIntAttribute("rotary_interleaved", b.rng.IntN(2)))
	}
	if b.randomBool(30) {
		in = padInputs(in, 10, b.addAddendConstant(1, heads, rows, total))
	}
	if b.randomBool(30) {
		in = padInputs(in, 11, b.addAddendConstant(heads))
	} else if b.randomBool(20) {
		a = append(a, newIntAttribute("smooth_softmax", 1))
	}
	if b.randomBool(30) {
		a = append(a, newIntAttribute("local_window_size", b.randomInt(1, 4)))
	}
	if b.randomBool(30) {
		a = append(a, newFloatAttribute("softcap", 2))
	}
	cache := describeFloats(2, batch, groups, max(room, total), size)
	b.addMicrosoftNode("GroupQueryAttention", in, []onnxgraph.Value{describeFloats(1, batch, rows, heads*size), cache, cache}, a...)
	return true
}

// addProjectedAttention adds com.microsoft's Attention, which has its own weights.
func addProjectedAttention(b *builder) bool {
	batch, rows, heads, size, width := b.randomInt(1, 2), b.randomInt(1, 9), pickRandom(b, 1, 2, 4), pickRandom(b, 4, 8), pickRandom(b, 8, 16)
	in := []string{b.addSmallInput(batch, rows, width), b.addWeightConstant(width, width, 3*heads*size), b.addAddendConstant(3 * heads * size)}
	a := []onnxgraph.Attribute{newIntAttribute("num_heads", heads), newIntAttribute("unidirectional", b.rng.IntN(2))}
	if b.randomBool(40) {
		in = padInputs(in, 5, b.addAddendConstant(1, heads, rows, rows))
	}
	b.addMicrosoftNode("Attention", in, []onnxgraph.Value{describeFloats(4, batch, rows, heads*size)}, a...)
	return true
}

// addRotary adds a RotaryEmbedding of ONNX or, before operator set 23, of com.microsoft.
func addRotary(b *builder) bool {
	batch, heads, rows, size, most := b.randomInt(1, 2), b.randomInt(1, 3), b.randomInt(1, 7), pickRandom(b, 4, 8), 12
	x := b.addInput(batch, heads, rows, size)
	cos, sin := b.addWeightConstant(1, most, size/2), b.addWeightConstant(1, most, size/2)
	places := make([]float64, batch*rows)
	for i := range places {
		places[i] = float64(b.rng.IntN(most))
	}
	at := b.addConstant(onnx.Int64, []int{batch, rows}, places)
	a := newIntAttribute("interleaved", b.rng.IntN(2))
	out := []onnxgraph.Value{describeFloats(8, batch, heads, rows, size)}
	if b.graph.Opset >= 23 && b.randomBool(70) {
		b.addNodeWithOutputs("RotaryEmbedding", []string{x, cos, sin, at}, out, a)
	} else {
		b.addMicrosoftNode("RotaryEmbedding", []string{x, at, cos, sin}, out, a)
	}
	return true
}

// addSwishOrRMSNorm adds one of two operators that are new in operator sets 23 and 24.
func addSwishOrRMSNorm(b *builder) bool {
	x := b.addInput(b.randomShape(3)...)
	v := b.findValue(x)
	if b.graph.Opset >= 24 && b.randomBool(50) {
		b.addNode("Swish", []string{x}, v.WithRange(-1, 4), newFloatAttribute("alpha", pickRandom(b, float32(1), 0.5, 2)))
		return true
	}
	if b.graph.Opset < 23 {
		return false
	}
	axis := b.randomInt(1, 2)
	b.addNode("RMSNormalization", []string{x, b.addFactorConstant(v.Dims[axis:]...)}, v.WithRange(-20, 20), newIntAttribute("axis", axis), newFloatAttribute("epsilon", 0.0625))
	return true
}

// addFusedConv adds com.microsoft's FusedConv, which may add another tensor before its activation.
func addFusedConv(b *builder) bool {
	n, c, h, out := b.randomInt(1, 2), b.randomInt(1, 5), b.randomInt(3, 8), b.randomInt(1, 6)
	x, w := b.addInput(n, c, h, h), b.addWeightConstant(9*c, out, c, 3, 3)
	in := []string{x, w, b.addAddendConstant(out)}
	a := []onnxgraph.Attribute{newIntsAttribute("pads", 1, 1, 1, 1), newIntsAttribute("kernel_shape", 3, 3)}
	if b.randomBool(40) {
		in = append(in, b.addInput(n, out, h, h))
	}
	switch b.rng.IntN(3) {
	case 0:
		a = append(a, newTextAttribute("activation", "Relu"))
	case 1:
		a = append(a, newTextAttribute("activation", "LeakyRelu"), onnxgraph.Attribute{Name: "activation_params", Kind: onnxgraph.FloatsKind, Floats: []float32{0.25}})
	}
	b.addMicrosoftNode("FusedConv", in, []onnxgraph.Value{describeFloats(60, n, out, h, h)}, a...)
	return true
}

// addFusedGemm adds com.microsoft's FusedGemm.
func addFusedGemm(b *builder) bool {
	m, k, n := b.randomInt(1, 20), b.randomInt(1, 20), b.randomInt(1, 20)
	w, transposed := []int{k, n}, b.rng.IntN(2)
	if transposed == 1 {
		w = []int{n, k}
	}
	a := []onnxgraph.Attribute{newTextAttribute("activation", pickRandom(b, "Relu", "Sigmoid", "Tanh")), newIntAttribute("transB", transposed)}
	if b.randomBool(40) {
		a = append(a, newFloatAttribute("alpha", 0.5))
	}
	in := []string{b.addInput(m, k), b.addWeightConstant(k, w...), b.addAddendConstant(n)}
	b.addMicrosoftNode("FusedGemm", in, []onnxgraph.Value{describeFloats(20, m, n)}, a...)
	return true
}

// addMatMulNBits adds com.microsoft's MatMulNBits: a product with weights of a few bits, in blocks
// with a scale each.
func addMatMulNBits(b *builder) bool {
	m, blocks, n, bits := b.randomInt(1, 6), b.randomInt(1, 3), b.randomInt(1, 9), pickRandom(b, 4, 8)
	const block = 16
	row := block * bits / 8
	packed := b.addConstant(onnx.Uint8, []int{n, blocks, row}, onnxgraph.RandomMultiples(b.rng, n*blocks*row, 0, 255, 1))
	scales := onnxgraph.RandomMultiples(b.rng, n*blocks, 1, 8, float64(int(8)<<bits))
	in := []string{b.addSmallInput(m, block*blocks), packed, b.addConstant(onnx.Float, []int{n * blocks}, scales)}
	if b.randomBool(40) {
		each := (blocks*bits + 7) / 8
		in = append(in, b.addConstant(onnx.Uint8, []int{n * each}, onnxgraph.RandomMultiples(b.rng, n*each, 0, 255, 1)))
	}
	b.addMicrosoftNode("MatMulNBits", in, []onnxgraph.Value{describeFloats(50, m, n)}, newIntAttribute("K", block*blocks), newIntAttribute("N", n), newIntAttribute("bits", bits), newIntAttribute("block_size", block))
	return true
}

// addQuantizedBytes adds a constant of bytes near the zero point 128, and its scale and zero point.
func (b *builder) addQuantizedBytes(scale float64, dims ...int) []string {
	q := b.addConstant(onnx.Uint8, dims, onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), 110, 146, 1))
	return []string{q, b.addConstant(onnx.Float, nil, []float64{scale}), b.addConstant(onnx.Uint8, nil, []float64{128})}
}

// addQuantizedGemm adds a QuantizeLinear and com.microsoft's QGemm with a float result.
func addQuantizedGemm(b *builder) bool {
	m, k, n := b.randomInt(1, 8), b.randomInt(1, 16), b.randomInt(1, 8)
	scale, zero := b.addConstant(onnx.Float, nil, []float64{0.0625}), b.addConstant(onnx.Uint8, nil, []float64{128})
	q := b.addNode("QuantizeLinear", []string{b.addInput(m, k), scale, zero}, onnxgraph.Value{Type: onnx.Uint8, Dims: []int{m, k}, High: 255, Exact: true})
	w, transposed := []int{k, n}, b.rng.IntN(2)
	if transposed == 1 {
		w = []int{n, k}
	}
	in := append([]string{q, scale, zero}, b.addQuantizedBytes(0.03125, w...)...)
	if b.randomBool(40) { // a scale for each column
		zeros := make([]float64, n)
		for i := range zeros {
			zeros[i] = 128
		}
		in[4] = b.addConstant(onnx.Float, []int{n}, onnxgraph.RandomMultiples(b.rng, n, 1, 4, 64))
		in[5] = b.addConstant(onnx.Uint8, []int{n}, zeros)
	}
	if b.randomBool(60) {
		in = append(in, b.addConstant(onnx.Int32, []int{n}, onnxgraph.RandomMultiples(b.rng, n, -200, 200, 1)))
	}
	b.addMicrosoftNode("QGemm", in, []onnxgraph.Value{describeFloats(60, m, n)}, newIntAttribute("transB", transposed), newFloatAttribute("alpha", pickRandom(b, float32(1), 0.5)))
	return true
}

// addIntegerProduct adds a QuantizeLinear and com.microsoft's MatMulIntegerToFloat.
func addIntegerProduct(b *builder) bool {
	m, k, n := b.randomInt(1, 8), b.randomInt(1, 16), b.randomInt(1, 8)
	w := b.addQuantizedBytes(0.03125, k, n)
	scale, zero := b.addConstant(onnx.Float, nil, []float64{0.0625}), b.addConstant(onnx.Uint8, nil, []float64{128})
	q := b.addNode("QuantizeLinear", []string{b.addInput(m, k), scale, zero}, onnxgraph.Value{Type: onnx.Uint8, Dims: []int{m, k}, High: 255, Exact: true})
	in := []string{q, w[0], scale, w[1], zero, w[2]}
	if b.randomBool(50) {
		in = append(in, b.addAddendConstant(n))
	}
	b.addMicrosoftNode("MatMulIntegerToFloat", in, []onnxgraph.Value{describeFloats(60, m, n)})
	return true
}

// addBiasedOperator adds com.microsoft's BiasSoftmax.
func addBiasedOperator(b *builder) bool {
	n, rows, columns := b.randomInt(1, 3), b.randomInt(1, 6), b.randomInt(2, 20)
	x := b.addSmallInput(n, rows, columns)
	b.addMicrosoftNode("BiasSoftmax", []string{x, b.addAddendConstant(n, rows, columns)}, []onnxgraph.Value{{Type: onnx.Float, Dims: []int{n, rows, columns}, High: 1}},
		newIntAttribute("axis", 2), newIntAttribute("is_inner_broadcast", 1))
	return true
}
