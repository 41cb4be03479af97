package exporters

import (
	"math"

	"anesim/internal/network/onnx"
)

// toChannelsFirst and toChannelsLast transpose an image between TensorFlow's order, channels last, and
// ONNX's. tf2onnx writes one before and one behind each operator that ONNX defines for channels that come
// second.
func (w *writer) toChannelsFirst(x string) string { return w.transpose(x, 0, 3, 1, 2) }
func (w *writer) toChannelsLast(x string) string  { return w.transpose(x, 0, 2, 3, 1) }

// tensorflowForms are layers as tf2onnx and Keras write them. Their images have the channels last.
var tensorflowForms = []form{
	{"convolution with channels last", imageLast, func(w *writer, x string) string {
		c, n := w.lastExtent(x), w.between(1, 8)
		y := w.node("Conv", in(w.toChannelsFirst(x), w.weights(9*c, n, c, 3, 3)), text("auto_pad", pick(w, "SAME_UPPER", "VALID")), list("strides", pick(w, 1, 2), 1), list("kernel_shape", 3, 3))
		if w.chance(50) {
			return w.activation(w.add(w.toChannelsLast(y), w.offsets(n)))
		}
		return w.toChannelsLast(w.activation(w.add(y, w.offsets(1, n, 1, 1))))
	}},
	{"pixels that are scaled", imageLast, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.node("Sub", in(w.node("Div", in(x, w.scalar(2))), w.scalar(0.5)))
		if w.chance(50) {
			y = w.add(w.scalar(0.25), w.mul(x, w.scalar(0.75)))
		}
		return w.toChannelsLast(w.node("Relu", in(w.node("Conv", in(w.toChannelsFirst(y), w.weights(9*c, 6, c, 3, 3))))))
	}},
	{"padding before a convolution", imageLast, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.node("Pad", in(x, w.ints(0, 0, 0, 0, 0, 1, 1, 0)))
		y = w.node("Conv", in(w.toChannelsFirst(y), w.weights(9*c, 4, c, 3, 3), w.offsets(4)), list("strides", 2, 2))
		return w.toChannelsLast(w.clip(y, 0, 6))
	}},
	{"depthwise convolution with channels last", imageLast, func(w *writer, x string) string {
		c := w.lastExtent(x)
		kernel := w.reshape(w.transpose(w.weights(9, 3, 3, c, 1), 2, 3, 0, 1), c, 1, 3, 3)
		y := w.node("Conv", in(w.toChannelsFirst(x), kernel), number("group", c), text("auto_pad", "SAME_UPPER"))
		y = w.batchNorm(y)
		return w.toChannelsLast(w.node("Min", in(w.node("Relu", in(y)), w.scalar(6))))
	}},
	{"batch norm of the last axis", imageLast, func(w *writer, x string) string {
		c := w.lastExtent(x)
		if w.chance(50) {
			return w.toChannelsLast(w.batchNorm(w.toChannelsFirst(x)))
		}
		return w.node("Relu", in(w.add(w.mul(x, w.scales(c)), w.offsets(c))))
	}},
	{"mean of an image with channels last", imageLast, func(w *writer, x string) string {
		if w.chance(50) {
			return w.linear(w.reduce("ReduceMean", x, 0, 1, 2), w.between(2, 8))
		}
		y := w.node("GlobalAveragePool", in(w.toChannelsFirst(x)))
		return w.linear(w.squeeze("Squeeze", y, 2, 3), w.between(2, 8))
	}},
	{"pools with channels last", imageLast, func(w *writer, x string) string {
		y := w.node(pick(w, "MaxPool", "AveragePool"), in(w.toChannelsFirst(x)), list("kernel_shape", 2, 2), list("strides", 2, 2), text("auto_pad", pick(w, "SAME_UPPER", "VALID")))
		return w.toChannelsLast(y)
	}},
	{"resize with channels last", imageLast, func(w *writer, x string) string {
		mode := pick(w, "linear", "nearest")
		a := []string{"asymmetric", "half_pixel"}
		if mode == "linear" {
			a = append(a, "align_corners")
		}
		return w.toChannelsLast(w.node("Resize", in(w.toChannelsFirst(x), w.constant(onnx.Float, []int{0}), w.constant(onnx.Float, []int{4}, 1, 1, 2, 2)), text("mode", mode), text("coordinate_transformation_mode", pick(w, a...)), text("nearest_mode", "floor")))
	}},
	{"residual with channels last", imageLast, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.toChannelsLast(w.node("Relu", in(w.node("Conv", in(w.toChannelsFirst(x), w.weights(c, c, c, 1, 1), w.offsets(c))))))
		z := w.toChannelsLast(w.node("Conv", in(w.toChannelsFirst(y), w.weights(9*c, c, c, 3, 3)), text("auto_pad", "SAME_UPPER")))
		return w.node("Relu", in(w.add(x, z)))
	}},
	{"channels last that are joined", imageLast, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.toChannelsLast(w.node("Conv", in(w.toChannelsFirst(x), w.weights(c, 3, c, 1, 1))))
		return w.concat(3, y, x, w.node("Relu", in(y)))
	}},
	{"dilation by batches", imageLast, func(w *writer, x string) string {
		// SpaceToBatchND, a convolution without padding, BatchToSpaceND
		d := w.dims(x)
		if d[1]%2+d[2]%2 > 0 {
			return ""
		}
		y := w.node("Pad", in(x, w.ints(0, 2, 2, 0, 0, 2, 2, 0)))
		h, v := d[1]+4, d[2]+4
		y = w.transpose(w.reshape(y, d[0], h/2, 2, v/2, 2, d[3]), 2, 4, 0, 1, 3, 5)
		y = w.reshape(y, 4*d[0], h/2, v/2, d[3])
		y = w.toChannelsLast(w.node("Conv", in(w.toChannelsFirst(y), w.weights(9*d[3], 3, d[3], 3, 3))))
		h, v = h/2-2, v/2-2
		y = w.transpose(w.reshape(y, 2, 2, d[0], h, v, 3), 2, 3, 0, 4, 1, 5)
		return w.reshape(y, d[0], 2*h, 2*v, 3)
	}},
	{"slices with strides", imageLast, func(w *writer, x string) string {
		y := w.node("Slice", in(x, w.ints(1, 0), w.ints(1<<31-1, -1), w.ints(1, 2), w.ints(2, 1)))
		return w.mul(y, w.scales(w.lastExtent(x)))
	}},
	{"one row of an image", imageLast, func(w *writer, x string) string {
		return w.squeeze("Squeeze", w.slice(x, 1, 1, 2, 1), 1)
	}},
	{"tiles", imageLast, func(w *writer, x string) string {
		return w.add(w.node("Tile", in(x, w.ints(1, 1, 2, 1))), w.offsets(1))
	}},
	{"space to depth with channels last", imageLast, func(w *writer, x string) string {
		d := w.dims(x)
		if d[1]%2+d[2]%2 > 0 {
			return ""
		}
		return w.toChannelsLast(w.node("SpaceToDepth", in(w.toChannelsFirst(x)), number("blocksize", 2)))
	}},
	{"transposed convolution with channels last", imageLast, func(w *writer, x string) string {
		d := w.dims(x)
		y := w.node("ConvTranspose", in(w.toChannelsFirst(x), w.weights(9*d[3], d[3], 3, 3, 3)), list("strides", 2, 2), list("kernel_shape", 3, 3), text("auto_pad", "SAME_UPPER"))
		return w.add(w.toChannelsLast(y), w.offsets(3))
	}},
	{"normalization of Keras", sequence, func(w *writer, x string) string {
		// gamma/sqrt(variance+epsilon) once, for the tensor and for the mean
		c := w.lastExtent(x)
		mean := w.reduce("ReduceMean", x, 1, 2)
		difference := w.node("Sub", in(x, mean))
		variance := w.reduce("ReduceMean", w.mul(difference, difference), 1, 2)
		factor := w.mul(w.node("Reciprocal", in(w.node("Sqrt", in(w.add(variance, w.scalar(1.0/64)))))), w.scales(c))
		return w.add(w.mul(x, factor), w.node("Sub", in(w.offsets(c), w.mul(mean, factor))))
	}},
	{"dense layer of rows", sequence, func(w *writer, x string) string {
		d, n := w.dims(x), w.between(2, 9)
		y := w.node("MatMul", in(w.reshape(x, -1, d[2]), w.weights(d[2], d[2], n)))
		return w.activation(w.add(w.reshape(y, d[0], d[1], n), w.offsets(n)))
	}},
	{"convolution of a sequence as an image", sequence, func(w *writer, x string) string {
		c := w.lastExtent(x)
		y := w.squeeze("Unsqueeze", w.transpose(x, 0, 2, 1), 2)
		y = w.node("Conv", in(y, w.weights(3*c, 5, c, 1, 3)), list("strides", 1, pick(w, 1, 2)), text("auto_pad", "SAME_UPPER"))
		return w.transpose(w.squeeze("Squeeze", y, 2), 0, 2, 1)
	}},
	{"attention of Keras", sequence, func(w *writer, x string) string {
		d, heads := w.dims(x), w.chooseHeads(x)
		size := d[2] / heads
		dense := func() string {
			y := w.node("MatMul", in(x, w.reshape(w.weights(d[2], d[2], heads, size), d[2], d[2])))
			return w.add(w.reshape(y, d[0], d[1], heads, size), w.offsets(heads, size))
		}
		q, k, v := w.mul(dense(), w.scalar(1/math.Sqrt(float64(size)))), dense(), dense()
		scores := w.node("MatMul", in(w.transpose(k, 0, 2, 1, 3), w.transpose(q, 0, 2, 3, 1))) // keys by queries
		p := w.softmax(w.transpose(scores, 0, 1, 3, 2))
		y := w.transpose(w.node("MatMul", in(p, w.transpose(v, 0, 2, 1, 3))), 0, 2, 1, 3)
		return w.linear(w.reshape(y, d[0], d[1], d[2]), d[2])
	}},
	{"recurrent layer of Keras", sequence, func(w *writer, x string) string {
		d, hidden := w.dims(x), w.between(2, 8)
		op := pick(w, "LSTM", "GRU")
		gates := map[string]int{"LSTM": 4, "GRU": 3}[op]
		inputs := in(w.transpose(x, 1, 0, 2), w.weights(d[2], 1, gates*hidden, d[2]), w.weights(hidden, 1, gates*hidden, hidden), w.offsets(1, 2*gates*hidden))
		out := w.nodeOf(2, op, inputs, number("hidden_size", hidden))
		return w.squeeze("Squeeze", out[1], 0)
	}},
	{"mean over time", sequence, func(w *writer, x string) string {
		return w.reduce(pick(w, "ReduceMean", "ReduceMax"), x, 0, 1)
	}},
	{"swish of rows", rows, func(w *writer, x string) string {
		y := w.linear(x, w.between(2, 9))
		return w.mul(w.node("Sigmoid", in(w.mul(y, w.scalar(1)))), y)
	}},
	{"hard sigmoid of rows", rows, func(w *writer, x string) string {
		y := w.clip(w.add(w.mul(w.linear(x, w.between(2, 9)), w.scalar(0.2)), w.scalar(0.5)), 0, 1)
		return w.mul(y, w.scales(1))
	}},
	{"difference of squares", rows, func(w *writer, x string) string {
		y := w.node("Sub", in(w.linear(x, 4), w.linear(x, 4)))
		return w.reduce("ReduceMean", w.mul(y, y), 1, 1)
	}},
	{"leaky maximum", rows, func(w *writer, x string) string {
		y := w.linear(x, w.between(2, 9))
		return w.node("Max", in(y, w.mul(y, w.scalar(0.25))))
	}},
}
