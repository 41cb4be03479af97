package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addQuantize adds a QuantizeLinear of x to 8-bit integers, and mostly an operator that reads them:
// DequantizeLinear, or a quantized convolution or matmul. It returns false if the elements of x are
// not exact, because rounding could then change a step.
func addQuantize(b *builder, x string) bool {
	v := b.findValue(x)
	if !v.Exact || v.Type != onnx.Float || len(v.Dims) == 0 {
		return false
	}
	if b.randomBool(25) {
		return addDynamicQuantize(b, x)
	}
	scale, zero := pickRandom(b, 0.0625, 0.03125, 0.125), float64(b.randomInt(100, 140))
	s := b.addConstant(onnx.Float, nil, []float64{scale})
	z := b.addConstant(onnx.Uint8, nil, []float64{zero})
	if b.randomBool(40) {
		return addQuantizePair(b, x, s, scale)
	}
	y := b.addNode("QuantizeLinear", []string{x, s, z}, onnxgraph.Value{Type: onnx.Uint8, Dims: v.Dims, High: 255, Exact: true})
	out := onnxgraph.Value{Type: onnx.Float, Dims: v.Dims, Low: max(v.Low-scale, (0-zero)*scale), High: min(v.High+scale, (255-zero)*scale), Exact: true}
	switch k := b.rng.IntN(100); {
	case k < 12: // the output stays uint8
	case k < 40 && len(v.Dims) == 4:
		return addQuantizedConv(b, y, s, z)
	case k < 50 && len(v.Dims) == 2:
		return addQuantizedMatMul(b, y, s, z)
	default:
		b.addNode("DequantizeLinear", []string{y, s, z}, out)
	}
	return true
}

// addQuantizePair adds a QuantizeLinear of x with the constant scale, followed by a
// DequantizeLinear; step is the value of the scale. The zero point is an int8 constant, or is left
// out, which means the uint8 0. It always returns true.
func addQuantizePair(b *builder, x, scale string, step float64) bool {
	v := b.findValue(x)
	tail, to, low, high := []string{scale}, onnx.Uint8, 0.0, 255.0
	if b.randomBool(50) {
		zero := float64(b.randomInt(-8, 8))
		tail = append(tail, b.addConstant(onnx.Int8, nil, []float64{zero}))
		to, low, high = onnx.Int8, -128-zero, 127-zero
	}
	clamp := func(f float64) float64 { return min(max(f, low*step), high*step) }
	y := b.addNode("QuantizeLinear", append([]string{x}, tail...), onnxgraph.Value{Type: to, Dims: v.Dims, Low: -128, High: 255, Exact: true})
	b.addNode("DequantizeLinear", append([]string{y}, tail...), onnxgraph.Value{Type: onnx.Float, Dims: v.Dims, Low: clamp(v.Low - step), High: clamp(v.High + step), Exact: true})
	return true
}

// addQuantizedConv adds a QLinearConv of y, which is quantized with scale s and zero point z, and
// often a DequantizeLinear. It adds nothing if the convolution would not fit or be too large. It
// always returns true.
func addQuantizedConv(b *builder, y, s, z string) bool {
	v := b.findValue(y)
	w, ok := randomWindow(b, v.Dims[2:], true, false)
	if !ok {
		return true
	}
	c, out := v.Dims[1], b.randomExtent(17)
	dims := append([]int{v.Dims[0], out}, w.extent...)
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*c*onnx.Elements(w.kernel) > maxProducts {
		return true
	}
	weights := b.addConstant(onnx.Int8, append([]int{out, c}, w.kernel...), onnxgraph.RandomMultiples(b.rng, out*c*onnx.Elements(w.kernel), -100, 100, 1))
	in := []string{y, s, z, weights, b.addConstant(onnx.Float, nil, []float64{1.0 / 128}), b.addConstant(onnx.Int8, nil, []float64{0}), b.addConstant(onnx.Float, nil, []float64{0.25}), b.addConstant(onnx.Uint8, nil, []float64{128})}
	if b.randomBool(50) {
		in = append(in, b.addConstant(onnx.Int32, []int{out}, onnxgraph.RandomMultiples(b.rng, out, -500, 500, 1)))
	}
	q := b.addNode("QLinearConv", in, onnxgraph.Value{Type: onnx.Uint8, Dims: dims, High: 255, Exact: true}, w.attributes(true)...)
	if b.randomBool(85) {
		b.addNode("DequantizeLinear", []string{q, in[6], in[7]}, onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: -32, High: 32})
	}
	return true
}

// addQuantizedMatMul adds a QLinearMatMul of weights and y, which is quantized with scale s and
// zero point z, and often a DequantizeLinear. It adds nothing if the product would be too large. It
// always returns true.
func addQuantizedMatMul(b *builder, y, s, z string) bool {
	v := b.findValue(y)
	k, n := v.Dims[1], b.randomExtent(40)
	dims := []int{v.Dims[0], n}
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts {
		return true
	}
	scalar := func(t onnx.DataType, f float64) string { return b.addConstant(t, nil, []float64{f}) }
	w := b.addConstant(onnx.Int8, []int{k, n}, onnxgraph.RandomMultiples(b.rng, k*n, -100, 100, 1))
	in := []string{y, s, z, w, scalar(onnx.Float, 1.0/128), scalar(onnx.Int8, 0), scalar(onnx.Float, 0.25), scalar(onnx.Uint8, 128)}
	q := b.addNode("QLinearMatMul", in, onnxgraph.Value{Type: onnx.Uint8, Dims: dims, High: 255, Exact: true})
	if b.randomBool(85) {
		b.addNode("DequantizeLinear", []string{q, in[6], in[7]}, onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: -32, High: 32})
	}
	return true
}

// addDynamicQuantize adds the nodes DynamicQuantizeLinear of x, MatMulInteger, Cast and Mul. It
// returns false if x has fewer than two axes or the product would be too large.
func addDynamicQuantize(b *builder, x string) bool {
	v := b.findValue(x)
	r := len(v.Dims)
	k, n := v.Dims[r-1], b.randomExtent(30)
	dims := append(slices.Clone(v.Dims[:r-1]), n)
	if r < 2 || onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts {
		return false
	}
	scalar := onnxgraph.Value{Type: onnx.Float, Dims: []int{}, Low: 0, High: 0.1}
	q := b.addNodeWithOutputs("DynamicQuantizeLinear", []string{x}, []onnxgraph.Value{{Type: onnx.Uint8, Dims: v.Dims, High: 255}, scalar, {Type: onnx.Uint8, Dims: []int{}, High: 255}})
	w := b.addConstant(onnx.Int8, []int{k, n}, onnxgraph.RandomMultiples(b.rng, k*n, -20, 20, 1))
	y := b.addNode("MatMulInteger", []string{q[0], w, q[2], b.addConstant(onnx.Int8, nil, []float64{0})}, onnxgraph.Value{Type: onnx.Int32, Dims: dims, Low: -1e5, High: 1e5})
	f := b.addNode("Cast", []string{y}, onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: -1e5, High: 1e5}, newIntAttribute("to", int(onnx.Float)))
	factor := b.addNode("Mul", []string{q[1], b.addConstant(onnx.Float, pickRandom(b, []int{}, []int{1}), []float64{1.0 / 64})}, onnxgraph.Value{Type: onnx.Float, Dims: []int{}, Low: 0, High: 0.01})
	b.graph.Values[factor] = onnxgraph.Value{Type: onnx.Float, Dims: binaryResultDims(b, factor), Low: 0, High: 0.01}
	b.addNode("Mul", []string{f, factor}, onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: -50, High: 50})
	return true
}

// binaryResultDims returns the shape of the named tensor. The tensor must be the result of a node
// whose two operands broadcast.
func binaryResultDims(b *builder, name string) []int {
	n := b.graph.Nodes[b.graph.IndexProducers()[name]]
	dims, _ := broadcastDims(b.tensorDims(n.Inputs[0]), b.tensorDims(n.Inputs[1]))
	return dims
}
