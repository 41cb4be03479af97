package randomgraph

import (
	"slices"

	"anesim/loader/network/onnx"
)

// quantize adds QuantizeLinear of exact values and an operator of the result.
func quantize(b *builder, x string) bool {
	v := b.value(x)
	if !v.Exact || v.Type != onnx.Float || len(v.Dims) == 0 {
		return false
	}
	if b.chance(25) {
		return quantizeDynamically(b, x)
	}
	scale, zero := pick(b, 0.0625, 0.03125, 0.125), float64(b.between(100, 140))
	s := b.constant(onnx.Float, nil, []float64{scale})
	z := b.constant(onnx.Uint8, nil, []float64{zero})
	y := b.add("QuantizeLinear", []string{x, s, z}, Value{Type: onnx.Uint8, Dims: v.Dims, High: 255, Exact: true})
	out := Value{Type: onnx.Float, Dims: v.Dims, Low: max(v.Low-scale, (0-zero)*scale), High: min(v.High+scale, (255-zero)*scale), Exact: true}
	switch k := b.rng.IntN(100); {
	case k < 12: // the output stays uint8
	case k < 40 && len(v.Dims) == 4:
		return quantizedConvolve(b, y, s, z)
	case k < 50 && len(v.Dims) == 2:
		return quantizedMultiply(b, y, s, z)
	default:
		b.add("DequantizeLinear", []string{y, s, z}, out)
	}
	return true
}

// quantizedConvolve adds QLinearConv of y and DequantizeLinear.
func quantizedConvolve(b *builder, y, s, z string) bool {
	v := b.value(y)
	w, ok := b.window(v.Dims[2:], true, false)
	if !ok {
		return true
	}
	c, out := v.Dims[1], b.extent(17)
	dims := append([]int{v.Dims[0], out}, w.extent...)
	if elements(dims) > maxElements || elements(dims)*c*elements(w.kernel) > maxProducts {
		return true
	}
	weights := b.constant(onnx.Int8, append([]int{out, c}, w.kernel...), multiples(b.rng, out*c*elements(w.kernel), -100, 100, 1))
	in := []string{y, s, z, weights, b.constant(onnx.Float, nil, []float64{1.0 / 128}), b.constant(onnx.Int8, nil, []float64{0}), b.constant(onnx.Float, nil, []float64{0.25}), b.constant(onnx.Uint8, nil, []float64{128})}
	if b.chance(50) {
		in = append(in, b.constant(onnx.Int32, []int{out}, multiples(b.rng, out, -500, 500, 1)))
	}
	q := b.add("QLinearConv", in, Value{Type: onnx.Uint8, Dims: dims, High: 255, Exact: true}, w.attributes(b, true)...)
	if b.chance(85) {
		b.add("DequantizeLinear", []string{q, in[6], in[7]}, Value{Type: onnx.Float, Dims: dims, Low: -32, High: 32})
	}
	return true
}

// quantizedMultiply adds QLinearMatMul of y and weights, and DequantizeLinear.
func quantizedMultiply(b *builder, y, s, z string) bool {
	v := b.value(y)
	k, n := v.Dims[1], b.extent(40)
	dims := []int{v.Dims[0], n}
	if elements(dims) > maxElements || elements(dims)*k > maxProducts {
		return true
	}
	scalar := func(t onnx.DataType, f float64) string { return b.constant(t, nil, []float64{f}) }
	w := b.constant(onnx.Int8, []int{k, n}, multiples(b.rng, k*n, -100, 100, 1))
	in := []string{y, s, z, w, scalar(onnx.Float, 1.0/128), scalar(onnx.Int8, 0), scalar(onnx.Float, 0.25), scalar(onnx.Uint8, 128)}
	q := b.add("QLinearMatMul", in, Value{Type: onnx.Uint8, Dims: dims, High: 255, Exact: true})
	if b.chance(85) {
		b.add("DequantizeLinear", []string{q, in[6], in[7]}, Value{Type: onnx.Float, Dims: dims, Low: -32, High: 32})
	}
	return true
}

// quantizeDynamically adds DynamicQuantizeLinear, MatMulInteger, Cast and Mul.
func quantizeDynamically(b *builder, x string) bool {
	v := b.value(x)
	r := len(v.Dims)
	k, n := v.Dims[r-1], b.extent(30)
	dims := append(slices.Clone(v.Dims[:r-1]), n)
	if r < 2 || elements(dims) > maxElements || elements(dims)*k > maxProducts {
		return false
	}
	scalar := Value{Type: onnx.Float, Dims: []int{}, Low: 0, High: 0.1}
	q := b.addAll("DynamicQuantizeLinear", []string{x}, []Value{{Type: onnx.Uint8, Dims: v.Dims, High: 255}, scalar, {Type: onnx.Uint8, Dims: []int{}, High: 255}})
	w := b.constant(onnx.Int8, []int{k, n}, multiples(b.rng, k*n, -20, 20, 1))
	y := b.add("MatMulInteger", []string{q[0], w, q[2], b.constant(onnx.Int8, nil, []float64{0})}, Value{Type: onnx.Int32, Dims: dims, Low: -1e5, High: 1e5})
	f := b.add("Cast", []string{y}, Value{Type: onnx.Float, Dims: dims, Low: -1e5, High: 1e5}, intAttribute("to", int(onnx.Float)))
	factor := b.add("Mul", []string{q[1], b.constant(onnx.Float, pick(b, []int{}, []int{1}), []float64{1.0 / 64})}, Value{Type: onnx.Float, Dims: []int{}, Low: 0, High: 0.01})
	b.graph.Values[factor] = Value{Type: onnx.Float, Dims: b.factorDims(factor), Low: 0, High: 0.01}
	b.add("Mul", []string{f, factor}, Value{Type: onnx.Float, Dims: dims, Low: -50, High: 50})
	return true
}

// factorDims returns the dims of the product that the node of the given output makes.
func (b *builder) factorDims(name string) []int {
	n := b.graph.Nodes[b.graph.producers()[name]]
	dims, _ := broadcast(b.dims(n.Inputs[0]), b.dims(n.Inputs[1]))
	return dims
}
