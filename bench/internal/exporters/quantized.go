package exporters

import (
	"slices"

	"anesim/internal/network/onnx"
)

// A scale of a quantized tensor is a power of two and its values are steps of it, mostly: what lies
// halfway between two steps goes either way in fp16.

// quantizer returns the scale and zero point of a tensor of bytes.
func (w *writer) quantizer(scale float64, signed bool) (names []string) {
	if signed {
		return in(w.scalar(scale), w.constant(onnx.Int8, []int{}, 0))
	}
	return in(w.scalar(scale), w.constant(onnx.Uint8, []int{}, 128))
}

// roundToSixteenths returns x rounded to steps of 1/16, as QDQ files write it, and the quantizer.
func (w *writer) roundToSixteenths(x string) (y string, q []string) {
	q = w.quantizer(1.0/16, w.chance(50))
	bytes := w.node("QuantizeLinear", in(x, q[0], q[1]))
	return w.node("DequantizeLinear", in(bytes, q[0], q[1])), q
}

// newPackedWeights returns constant weights of bytes, with a scale for each index of an axis or one for all, and
// the node that dequantizes them.
func (w *writer) newPackedWeights(axis int, dims ...int) string {
	values := w.randomBytes(onnx.Elements(dims))
	n := dims[axis]
	bytes := w.constant(onnx.Int8, dims, values...)
	if w.opset() < 13 || w.chance(40) {
		return w.node("DequantizeLinear", in(bytes, w.scalar(1.0/256), w.constant(onnx.Int8, []int{}, 0)))
	}
	scales := make([]float64, n)
	for i := range scales {
		scales[i] = float64(w.between(1, 4)) / 1024
	}
	inputs := in(bytes, w.constant(onnx.Float, []int{n}, scales...))
	if w.chance(70) {
		inputs = append(inputs, w.constant(onnx.Int8, []int{n}, make([]float64, n)...))
	}
	return w.node("DequantizeLinear", inputs, number("axis", axis))
}

// randomBytes returns n random numbers of type int8.
func (w *writer) randomBytes(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(w.between(-100, 100))
	}
	return v
}

// quantizedBias returns the bias of n channels as quantizers write it, int32 with the product of two scales.
func (w *writer) quantizedBias(n int) string {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(w.between(-2000, 2000))
	}
	return w.node("DequantizeLinear", in(w.constant(onnx.Int32, []int{n}, v...), w.scalar(1.0/4096)))
}

// quantizedForms are layers of quantized files. A file has floats between pairs of QuantizeLinear and
// DequantizeLinear, or operators of bytes.
var quantizedForms = []form{
	{"quantized convolution", image, func(w *writer, x string) string {
		y, _ := w.roundToSixteenths(x)
		c, n := w.dims(x)[1], w.between(1, 8)
		inputs := in(y, w.newPackedWeights(0, n, c, 3, 3))
		if w.chance(60) {
			inputs = append(inputs, w.quantizedBias(n))
		}
		y = w.node("Conv", inputs, list("pads", 1, 1, 1, 1))
		if w.chance(50) {
			y = w.node("Relu", in(y))
		}
		return y
	}},
	{"quantized depthwise convolution", image, func(w *writer, x string) string {
		y, _ := w.roundToSixteenths(x)
		c := w.dims(x)[1]
		return w.clip(w.node("Conv", in(y, w.newPackedWeights(0, c, 1, 3, 3)), list("pads", 1, 1, 1, 1), number("group", c)), 0, 6)
	}},
	{"quantized product", rows, func(w *writer, x string) string {
		y, _ := w.roundToSixteenths(x)
		k, n := w.lastExtent(x), w.between(2, 9)
		if w.chance(50) {
			return w.node("Gemm", in(y, w.newPackedWeights(0, n, k), w.quantizedBias(n)), number("transB", 1))
		}
		return w.add(w.node("MatMul", in(y, w.newPackedWeights(1, k, n))), w.offsets(n))
	}},
	{"quantized product of a sequence", sequence, func(w *writer, x string) string {
		y, _ := w.roundToSixteenths(x)
		k, n := w.lastExtent(x), w.between(2, 9)
		weights := w.newPackedWeights(1, k, n)
		if w.chance(40) {
			weights = w.transpose(w.newPackedWeights(0, n, k), 1, 0)
		}
		return w.gelu(w.node("MatMul", in(y, weights)))
	}},
	{"quantized table", sequence, func(w *writer, x string) string {
		d := w.dims(x)
		table := w.newPackedWeights(0, 9, d[2])
		return w.add(x, w.node("Gather", in(table, w.indices(9, d[0], d[1]))))
	}},
	{"quantized sum", image, func(w *writer, x string) string {
		a, _ := w.roundToSixteenths(x)
		b, _ := w.roundToSixteenths(w.input(w.dims(x)...))
		return w.node("Relu", in(w.add(a, b)))
	}},
	{"quantized pools", image, func(w *writer, x string) string {
		y, q := w.roundToSixteenths(x)
		y = w.node("MaxPool", in(y), list("kernel_shape", 2, 2), list("strides", 2, 2))
		y = w.node("DequantizeLinear", in(w.node("QuantizeLinear", in(y, q[0], q[1])), q[0], q[1]))
		return w.node("GlobalAveragePool", in(y))
	}},
	{"quantized concatenation", image, func(w *writer, x string) string {
		a, _ := w.roundToSixteenths(x)
		b, _ := w.roundToSixteenths(w.input(w.dims(x)...))
		return w.conv(w.concat(1, a, b), 3, convolution{})
	}},
	{"convolution of bytes", image, func(w *writer, x string) string {
		c, n := w.dims(x)[1], w.between(1, 6)
		q, out := w.quantizer(1.0/16, false), w.quantizer(pick(w, 1.0/8, 0.25), false)
		bytes := w.node("QuantizeLinear", in(x, q[0], q[1]))
		scales := make([]float64, n)
		for i := range scales {
			scales[i] = float64(w.between(1, 4)) / 512
		}
		weights := w.constant(onnx.Int8, []int{n, c, 1, 1}, w.randomBytes(n*c)...)
		inputs := in(bytes, q[0], q[1], weights, w.constant(onnx.Float, []int{n}, scales...), w.constant(onnx.Int8, []int{n}, make([]float64, n)...), out[0], out[1])
		if w.chance(60) {
			inputs = append(inputs, w.constant(onnx.Int32, []int{n}, w.randomBytes(n)...))
		}
		return w.node("DequantizeLinear", in(w.node("QLinearConv", inputs), out[0], out[1]))
	}},
	{"product of bytes", rows, func(w *writer, x string) string {
		k, n := w.lastExtent(x), w.between(2, 6)
		q, out := w.quantizer(1.0/16, false), w.quantizer(0.125, false)
		bytes := w.node("QuantizeLinear", in(x, q[0], q[1]))
		weights := w.constant(onnx.Int8, []int{k, n}, w.randomBytes(n*k)...)
		y := w.node("QLinearMatMul", in(bytes, q[0], q[1], weights, w.scalar(1.0/256), w.constant(onnx.Int8, []int{}, 0), out[0], out[1]))
		return w.node("DequantizeLinear", in(y, out[0], out[1]))
	}},
	{"operators of bytes", image, func(w *writer, x string) string {
		q := w.quantizer(1.0/16, false)
		bytes := w.node("QuantizeLinear", in(x, q[0], q[1]))
		other := w.node("QuantizeLinear", in(w.input(w.dims(x)...), q[0], q[1]))
		out := w.quantizer(1.0/8, false)
		y := ""
		switch w.rng.IntN(5) {
		case 0:
			y = w.node(ms+"QLinearAdd", in(bytes, q[0], q[1], other, q[0], q[1], out[0], out[1]))
		case 1:
			y = w.node(ms+"QLinearMul", in(bytes, q[0], q[1], other, q[0], q[1], out[0], out[1]))
		case 2:
			y = w.node(ms+"QLinearGlobalAveragePool", in(bytes, q[0], q[1], out[0], out[1]))
		case 3:
			y = w.node(ms+"QLinearConcat", in(out[0], out[1], bytes, q[0], q[1], other, q[0], q[1]), number("axis", 1))
		default:
			y = w.node(ms+"QLinearLeakyRelu", in(bytes, q[0], q[1], out[0], out[1]), real("alpha", 0.25))
		}
		return w.node("DequantizeLinear", in(y, out[0], out[1]))
	}},
	{"product quantized while it runs", rows, func(w *writer, x string) string {
		k, n := w.lastExtent(x), w.between(2, 6)
		parts := w.nodeOf(3, "DynamicQuantizeLinear", in(x))
		weights := w.constant(onnx.Int8, []int{k, n}, w.randomBytes(n*k)...)
		y := w.node("MatMulInteger", in(parts[0], weights, parts[2], w.constant(onnx.Int8, []int{}, 0)))
		scale := w.mul(parts[1], w.scalar(1.0/256))
		return w.add(w.mul(w.node("Cast", in(y), number("to", int(onnx.Float))), scale), w.offsets(n))
	}},
	{"product of weights of four bits", sequence, func(w *writer, x string) string {
		k, n := w.lastExtent(x), w.between(2, 6)
		if k%16 != 0 {
			return ""
		}
		blocks := k / 16
		bytes := make([]float64, n*blocks*8)
		for i := range bytes {
			bytes[i] = float64(w.rng.IntN(256))
		}
		scales := make([]float64, n*blocks)
		for i := range scales {
			scales[i] = float64(w.between(1, 4)) / 64
		}
		return w.node(ms+"MatMulNBits", in(x, w.constant(onnx.Uint8, []int{n, blocks, 8}, bytes...), w.constant(onnx.Float, []int{n * blocks}, scales...)),
			number("K", k), number("N", n), number("bits", 4), number("block_size", 16))
	}},
	{"weights of half precision", sequence, func(w *writer, x string) string {
		k, n := w.lastExtent(x), w.between(2, 9)
		half := w.constant(onnx.Float16, []int{k, n}, slices.Clone(w.data[w.weights(k, k, n)].Data)...)
		return w.node("MatMul", in(x, w.node("Cast", in(half), number("to", int(onnx.Float)))))
	}},
	{"half precision within", sequence, func(w *writer, x string) string {
		k, n := w.lastExtent(x), w.between(2, 9)
		half := w.constant(onnx.Float16, []int{k, n}, slices.Clone(w.data[w.weights(k, k, n)].Data)...)
		y := w.node("MatMul", in(w.node("Cast", in(x), number("to", int(onnx.Float16))), half))
		return w.node("Cast", in(w.node("Relu", in(y))), number("to", int(onnx.Float)))
	}},
}
