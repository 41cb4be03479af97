package exporters

import (
	"math"

	"anesim/internal/network/onnx"
)

// paddleForms are layers as Paddle2ONNX writes them.
var paddleForms = []form{
	{"scale layers", image, func(w *writer, x string) string {
		y := w.add(w.mul(x, w.constant(onnx.Float, []int{1}, 0.5)), w.constant(onnx.Float, []int{1}, 0.25))
		return w.conv(w.add(w.mul(y, w.scalar(1)), w.scalar(0)), w.between(1, 6), convolution{kernel: 3, pad: 1})
	}},
	{"mobile block", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		y := w.batchNorm(w.conv(x, 2*c, convolution{kernel: pick(w, 1, 3), pad: 1}))
		y = w.mul(y, w.node("HardSigmoid", in(y), real("alpha", 1.0/6), real("beta", 0.5)))
		return w.batchNorm(w.conv(y, c, convolution{kernel: 5, pad: 2, group: c, stride: 1}))
	}},
	{"learnable affine block", image, func(w *writer, x string) string {
		one := func(v float64) string { return w.constant(onnx.Float, []int{1}, v) }
		y := w.add(w.mul(one(0.75), w.conv(x, w.between(1, 6), convolution{kernel: 3, pad: 1})), one(-0.25))
		y = w.hardSwish(y)
		return w.add(w.mul(one(1.25), y), one(0.5))
	}},
	{"head of a line reader", image, func(w *writer, x string) string {
		d := w.dims(x)
		y := w.node("AveragePool", in(x), list("kernel_shape", d[2], 2), list("strides", d[2], 2))
		y = w.transpose(w.squeeze("Squeeze", y, 2), 0, 2, 1)
		return w.softmax(w.linear(y, w.between(3, 9)))
	}},
	{"upsampling by a shape", image, func(w *writer, x string) string {
		d := w.dims(x)
		shape := w.node("Cast", in(w.node("Shape", in(x))), number("to", int(onnx.Int64)))
		sizes := w.node("Concat", in(w.node("Slice", in(shape, w.ints(0), w.ints(2), w.ints(0))), w.ints(2*d[2], 2*d[3])), number("axis", 0))
		return w.resize(x, "", sizes, text("mode", "nearest"), text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor"))
	}},
	{"image as a sequence", image, func(w *writer, x string) string {
		d := w.dims(x)
		return w.transpose(w.node("Reshape", in(x, w.ints(0, d[1], -1))), 0, 2, 1)
	}},
	{"dropout in an inference", image, func(w *writer, x string) string {
		y := w.node("Dropout", in(w.conv(x, w.between(1, 6), convolution{})))
		return w.node("Identity", in(y))
	}},
	{"fully connected layer", sequence, func(w *writer, x string) string {
		d, n := w.dims(x), w.between(2, 9)
		y := w.add(w.node("MatMul", in(x, w.weights(d[2], d[2], n))), w.offsets(n))
		return w.node("Relu", in(w.reshape(y, 0, 0, n)))
	}},
	{"attention by slices of a product", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		size := d[2] / heads
		all := w.transpose(w.reshape(w.linear(x, 3*d[2]), 0, -1, 3, heads, size), 2, 0, 3, 1, 4)
		part := func(i int) string { return w.squeeze("Squeeze", w.slice(all, 0, i, i+1, 1), 0) }
		q := w.mul(part(0), w.constant(onnx.Float, []int{1}, 1/math.Sqrt(float64(size))))
		p := w.softmax(w.node("MatMul", in(q, w.transpose(part(1), 0, 1, 3, 2))))
		y := w.transpose(w.node("MatMul", in(p, part(2))), 0, 2, 1, 3)
		return w.linear(w.reshape(y, 0, -1, d[2]), d[2])
	}},
	{"layer norm over a flat row", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		mean := w.reduce("ReduceMean", x, 1, 2)
		y := w.node("Sub", in(x, mean))
		variance := w.reduce("ReduceMean", w.node("Pow", in(y, w.constant(onnx.Float, []int{1}, 2))), 1, 2)
		y = w.node("Div", in(y, w.node("Sqrt", in(w.add(variance, w.constant(onnx.Float, []int{1}, 1.0/64))))))
		return w.add(w.mul(y, w.reshape(w.scales(c), c)), w.offsets(c))
	}},
}

// sklearnForms are models as skl2onnx writes them.
var sklearnForms = []form{
	{"scaler", rows, func(w *writer, x string) string {
		c := w.lastExtent(x)
		return w.linear(w.node("Div", in(w.node("Sub", in(x, w.offsets(c))), w.scales(c))), w.between(2, 5))
	}},
	{"scaler of the runtime", rows, func(w *writer, x string) string {
		return w.node("Mul", in(w.node("Sub", in(x, w.offsets(1, w.lastExtent(x)))), w.scales(1, w.lastExtent(x))))
	}},
	{"network of layers", rows, func(w *writer, x string) string {
		for range w.between(1, 3) {
			k, n := w.lastExtent(x), w.between(2, 9)
			x = w.node(pick(w, "Relu", "Tanh", "Sigmoid"), in(w.add(w.node("MatMul", in(x, w.weights(k, k, n))), w.offsets(1, n))))
		}
		return x
	}},
	{"two classes of one logit", rows, func(w *writer, x string) string {
		p := w.node("Sigmoid", in(w.add(w.node("MatMul", in(x, w.weights(w.lastExtent(x), w.lastExtent(x), 1))), w.offsets(1))))
		return w.concat(1, w.node("Sub", in(w.scalar(1), p)), p)
	}},
	{"principal components", rows, func(w *writer, x string) string {
		c := w.lastExtent(x)
		return w.node("MatMul", in(w.node("Sub", in(x, w.offsets(c))), w.weights(c, c, max(1, c/2))))
	}},
	{"naive Bayes", rows, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.node("Sub", in(w.reshape(x, -1, 1, c), w.offsets(1, 3, c)))
		y = w.node("Div", in(w.node("Pow", in(y, w.scalar(2))), w.scales(1, 3, c)))
		return w.add(w.mul(w.reduce("ReduceSum", y, 0, 2), w.scalar(-0.5)), w.offsets(3))
	}},
	{"kernel of radial functions", rows, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.node("Sub", in(w.squeeze("Unsqueeze", x, 1), w.offsets(1, 4, c)))
		y = w.node("Exp", in(w.mul(w.reduce("ReduceSumSquare", y, 0, 2), w.scalar(-0.125))))
		return w.node("MatMul", in(y, w.weights(4, 4, 2)))
	}},
	{"powers of features", rows, func(w *writer, x string) string {
		c := w.lastExtent(x)
		first := w.slice(x, 1, 0, 1, 1)
		rest := w.slice(x, 1, 0, c, 1)
		return w.concat(1, x, w.mul(first, rest))
	}},
	{"clusters", rows, func(w *writer, x string) string {
		c := w.lastExtent(x)
		centers := w.offsets(3, c)
		cross := w.node("Gemm", in(x, centers), number("transB", 1), real("alpha", -2))
		y := w.add(w.add(w.reduce("ReduceSumSquare", x, 1, 1), cross), w.reshape(w.reduce("ReduceSumSquare", centers, 0, 1), 1, 3))
		return w.node("Sqrt", in(w.node("Max", in(y, w.scalar(1.0/64)))))
	}},
	{"votes of classifiers", rows, func(w *writer, x string) string {
		a, b := w.softmax(w.linear(x, 3)), w.softmax(w.linear(x, 3))
		return w.node("Div", in(w.node("Sum", in(a, b)), w.scalar(2)))
	}},
}
