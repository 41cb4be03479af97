package exporters

import (
	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// torchImageForms are layers over images as PyTorch's exporters write them.
var torchImageForms = []form{
	{"convolution block", image, func(w *writer, x string) string {
		kernel := pick(w, 1, 3, 5)
		o := convolution{kernel: kernel, stride: pick(w, 1, 1, 2), pad: pick(w, kernel/2, kernel/2, 0)}
		if d := w.dims(x); min(d[2], d[3]) < kernel {
			return ""
		}
		return w.activation(w.batchNorm(w.conv(x, w.between(1, 16), o)))
	}},
	{"convolution and activation", image, func(w *writer, x string) string {
		return w.activation(w.conv(x, w.between(1, 24), convolution{kernel: 3, pad: 1}))
	}},
	{"dilated convolution", image, func(w *writer, x string) string {
		o := convolution{kernel: 3, dilation: w.between(2, 4), stride: pick(w, 1, 1, 2)}
		o.pad = o.dilation
		return w.activation(w.conv(x, w.between(1, 8), o))
	}},
	{"grouped convolution", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		group := pick(w, 2, 4)
		if c%group != 0 {
			return ""
		}
		return w.activation(w.conv(x, group*w.between(1, 4), convolution{kernel: pick(w, 1, 3), pad: 1, stride: pick(w, 1, 2), group: group}))
	}},
	{"depthwise convolution", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		kernel := pick(w, 3, 5, 7)
		return w.batchNorm(w.conv(x, c*pick(w, 1, 1, 2), convolution{kernel: kernel, pad: kernel / 2, stride: pick(w, 1, 2), group: c, dilation: 1}))
	}},
	{"asymmetric convolution", image, func(w *writer, x string) string {
		c, n, kernel := w.dims(x)[1], w.between(1, 8), pick(w, 3, 5, 7)
		y := w.node("Conv", in(x, w.weights(c*kernel, n, c, 1, kernel)), list("pads", 0, kernel/2, 0, kernel/2))
		return w.activation(w.node("Conv", in(y, w.weights(n*kernel, n, n, kernel, 1), w.offsets(n)), list("pads", kernel/2, 0, kernel/2, 0)))
	}},
	{"squeeze and excitation", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		p := w.node("GlobalAveragePool", in(x))
		if w.chance(40) {
			p = w.reduce("ReduceMean", x, 1, pick(w, 2, -2), pick(w, 3, -1))
		}
		p = w.activation(w.conv(p, max(1, c/4), convolution{}))
		p = w.conv(p, c, convolution{})
		p = pick(w, w.node("Sigmoid", in(p)), w.node("HardSigmoid", in(p), real("alpha", 1.0/6), real("beta", 0.5)), w.node("Div", in(w.clip(w.add(p, w.scalar(3)), 0, 6), w.scalar(6))))
		if w.chance(50) {
			return w.mul(p, x)
		}
		return w.mul(x, p)
	}},
	{"squeeze and excitation of linear layers", image, func(w *writer, x string) string {
		d := w.dims(x)
		p := w.node("Flatten", in(w.node("GlobalAveragePool", in(x))), number("axis", 1))
		p = w.node("Sigmoid", in(w.linear(w.node("Relu", in(w.linear(p, max(1, d[1]/4)))), d[1])))
		p = w.reshape(p, d[0], d[1], 1, 1)
		if w.chance(50) {
			p = w.node("Expand", in(p, w.node("Shape", in(x))))
		}
		return w.mul(x, p)
	}},
	{"inverted residual", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		y := w.activation(w.batchNorm(w.conv(x, 3*c, convolution{})))
		y = w.activation(w.batchNorm(w.conv(y, 3*c, convolution{kernel: 3, pad: 1, group: 3 * c})))
		return w.add(x, w.batchNorm(w.conv(y, c, convolution{})))
	}},
	{"residual block", image, func(w *writer, x string) string {
		n, stride := w.between(2, 12), pick(w, 1, 2)
		y := w.node("Relu", in(w.batchNorm(w.conv(x, n, convolution{kernel: 3, pad: 1, stride: stride}))))
		y = w.batchNorm(w.conv(y, n, convolution{kernel: 3, pad: 1}))
		return w.node("Relu", in(w.add(y, w.batchNorm(w.conv(x, n, convolution{stride: stride})))))
	}},
	{"dense block", image, func(w *writer, x string) string {
		features := in(x)
		growth := w.between(2, 8)
		for range w.between(2, 3) {
			y := features[0]
			if len(features) > 1 {
				y = w.concat(1, features...)
			}
			y = w.conv(w.node("Relu", in(w.batchNorm(y))), 2*growth, convolution{})
			y = w.conv(w.node("Relu", in(w.batchNorm(y))), growth, convolution{kernel: 3, pad: 1})
			features = append(features, y)
		}
		y := w.conv(w.node("Relu", in(w.batchNorm(w.concat(1, features...)))), w.between(1, 8), convolution{})
		return w.node("AveragePool", in(y), list("kernel_shape", 2, 2), list("strides", 2, 2))
	}},
	{"ghost block", image, func(w *writer, x string) string {
		n := w.between(1, 6)
		first := w.node("Relu", in(w.conv(x, n, convolution{})))
		cheap := w.node("Relu", in(w.conv(first, n, convolution{kernel: 3, pad: 1, group: n})))
		return w.slice(w.concat(1, first, cheap), 1, 0, 2*n-w.rng.IntN(2), 1)
	}},
	{"cross stage block", image, func(w *writer, x string) string {
		n := w.between(1, 6)
		y := w.conv(x, 2*n, convolution{})
		parts := w.split(y, 1, n, n)
		z := w.add(parts[1], w.activation(w.conv(parts[1], n, convolution{kernel: 3, pad: 1})))
		return w.conv(w.concat(1, parts[0], parts[1], z), w.between(1, 8), convolution{})
	}},
	{"pooling pyramid of one size", image, func(w *writer, x string) string {
		pool := func(v string) string {
			return w.node("MaxPool", in(v), list("kernel_shape", 5, 5), list("pads", 2, 2, 2, 2), list("strides", 1, 1))
		}
		a := pool(x)
		b := pool(a)
		return w.conv(w.concat(1, x, a, b, pool(b)), w.between(1, 8), convolution{})
	}},
	{"focus", image, func(w *writer, x string) string {
		d := w.dims(x)
		if d[2]%2+d[3]%2 > 0 {
			return ""
		}
		var parts []string
		for _, at := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			parts = append(parts, w.slice(w.slice(x, 2, at[0], 1<<62, 2), 3, at[1], d[3], 2))
		}
		return w.conv(w.concat(1, parts...), w.between(1, 8), convolution{kernel: 3, pad: 1})
	}},
	{"detector head", image, func(w *writer, x string) string {
		d := w.dims(x)
		classes, anchors := w.between(1, 3), pick(w, 1, 3)
		y := w.conv(x, anchors*(5+classes), convolution{})
		y = w.transpose(w.reshape(y, d[0], anchors, 5+classes, d[2], d[3]), 0, 1, 3, 4, 2)
		parts := w.split(w.node("Sigmoid", in(y)), 4, 2, 2, 1+classes)
		grid := w.offsets(1, 1, d[2], d[3], 2)
		xy := w.mul(w.add(w.mul(parts[0], w.scalar(2)), grid), w.scalar(8))
		wh := w.mul(w.node("Pow", in(w.mul(parts[1], w.scalar(2)), w.scalar(2))), w.scales(1, anchors, 1, 1, 2))
		return w.reshape(w.concat(4, xy, wh, parts[2]), d[0], -1, 5+classes)
	}},
	{"distribution of box distances", image, func(w *writer, x string) string {
		d := w.dims(x)
		const bins = 8
		y := w.reshape(w.conv(x, 4*bins, convolution{}), d[0], 4, bins, d[2]*d[3])
		if w.chance(50) {
			y = w.transpose(y, 0, 2, 1, 3)
		} else {
			y = w.transpose(w.transpose(y, 0, 3, 1, 2), 0, 3, 2, 1)
		}
		y = w.node("Softmax", in(y), number("axis", 1))
		if w.opset() < 13 {
			return "" // Softmax flattens the axes behind its own
		}
		values := make([]float64, bins)
		for i := range values {
			values[i] = float64(i)
		}
		y = w.node("Conv", in(y, w.constant(onnx.Float, []int{1, bins, 1, 1}, values...)))
		sides := w.split(w.reshape(y, d[0], 4, -1), 1, 2, 2)
		anchors := w.offsets(1, 2, 1)
		low, high := w.node("Sub", in(anchors, sides[0])), w.add(sides[1], anchors)
		center := w.node("Div", in(w.add(low, high), w.scalar(2)))
		return w.mul(w.concat(1, center, w.node("Sub", in(high, low))), w.scalar(0.5))
	}},
	{"pixel shuffle", image, func(w *writer, x string) string {
		d := w.dims(x)
		r, c := 2, w.between(1, 4)
		y := w.conv(x, c*r*r, convolution{kernel: 3, pad: 1})
		switch w.rng.IntN(3) {
		case 0:
			return w.node("DepthToSpace", in(y), number("blocksize", r), text("mode", pick(w, "CRD", "DCR")))
		case 1:
			y = w.transpose(w.reshape(y, d[0], c, r, r, d[2], d[3]), 0, 1, 4, 2, 5, 3)
		default:
			y = w.transpose(w.reshape(y, -1, r, r, c, d[2], d[3]), 0, 3, 4, 1, 5, 2)
		}
		return w.reshape(y, d[0], c, d[2]*r, d[3]*r)
	}},
	{"pixel unshuffle", image, func(w *writer, x string) string {
		d := w.dims(x)
		if d[2]%2+d[3]%2 > 0 {
			return ""
		}
		if w.chance(40) {
			return w.node("SpaceToDepth", in(x), number("blocksize", 2))
		}
		y := w.transpose(w.reshape(x, d[0], d[1], d[2]/2, 2, d[3]/2, 2), 0, 1, 3, 5, 2, 4)
		return w.reshape(y, d[0], d[1]*4, d[2]/2, d[3]/2)
	}},
	{"channel shuffle", image, func(w *writer, x string) string {
		d := w.dims(x)
		groups := pick(w, 2, 4)
		if d[1]%groups != 0 {
			return ""
		}
		y := w.transpose(w.reshape(x, d[0], groups, d[1]/groups, d[2], d[3]), 0, 2, 1, 3, 4)
		return w.conv(w.reshape(y, pick(w, d[0], -1), d[1], d[2], d[3]), w.between(1, 8), convolution{kernel: 1})
	}},
	{"upsampling by scales", image, func(w *writer, x string) string {
		scales := w.constant(onnx.Float, []int{4}, 1, 1, 2, pick(w, 2.0, 2, 1, 3))
		if w.chance(50) {
			return w.resize(x, scales, "", text("mode", "nearest"), text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor"), real("cubic_coeff_a", -0.75))
		}
		return w.resize(x, scales, "", text("mode", "linear"), text("coordinate_transformation_mode", pick(w, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")), text("nearest_mode", "floor"), real("cubic_coeff_a", -0.75))
	}},
	{"upsampling to a size that is computed", image, func(w *writer, x string) string {
		d := w.dims(x)
		shape := w.node("Shape", in(x))
		sizes := w.node("Concat", in(w.node("Slice", in(shape, w.ints(0), w.ints(2), w.ints(0))), w.ints(d[2]*2-w.rng.IntN(2), d[3]+w.rng.IntN(5))), number("axis", 0))
		return w.resize(x, "", sizes, text("mode", pick(w, "linear", "linear", "cubic")), text("coordinate_transformation_mode", pick(w, "pytorch_half_pixel", "align_corners", "half_pixel")), real("cubic_coeff_a", -0.75))
	}},
	{"padding as a list of pairs", image, func(w *writer, x string) string {
		// [left, right, top, bottom] becomes ONNX's order of all begins, then all ends.
		pads := w.ints(w.rng.IntN(3), w.rng.IntN(3), w.rng.IntN(3), w.rng.IntN(3))
		zeros := w.node("ConstantOfShape", in(w.ints(4)))
		if w.data[zeros].Type != onnx.Int64 {
			zeros = w.node("Cast", in(zeros), number("to", int(onnx.Int64)))
		}
		all := w.reshape(w.node("Concat", in(pads, zeros), number("axis", 0)), -1, 2)
		all = w.node("Slice", in(all, w.ints(-1), w.ints(-1<<62), w.ints(0), w.ints(-1)))
		all = w.node("Cast", in(w.reshape(w.transpose(all, 1, 0), -1)), number("to", int(onnx.Int64)))
		if mode := pick(w, "constant", "reflect", "edge"); mode != "constant" {
			return w.node("Pad", in(x, all), text("mode", mode))
		}
		return w.node("Pad", in(x, all, w.scalar(pick(w, 0, 0, 0.5))), text("mode", "constant"))
	}},
	{"group normalization", image, func(w *writer, x string) string {
		d := w.dims(x)
		groups := pick(w, 1, 2, d[1])
		if d[1]%groups != 0 {
			return ""
		}
		ones, zeros := make([]float64, groups), make([]float64, groups)
		for i := range ones {
			ones[i] = 1
		}
		y := w.node("InstanceNormalization", in(w.reshape(x, 0, groups, -1), w.constant(onnx.Float, []int{groups}, ones...), w.constant(onnx.Float, []int{groups}, zeros...)), real("epsilon", 1.0/64))
		y = w.node("Reshape", in(y, w.node("Shape", in(x))))
		return w.activation(w.add(w.mul(y, w.scales(d[1], 1, 1)), w.offsets(d[1], 1, 1)))
	}},
	{"instance normalization", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		return w.activation(w.node("InstanceNormalization", in(x, w.scales(c), w.offsets(c)), real("epsilon", 1.0/64)))
	}},
	{"layer normalization of channels", image, func(w *writer, x string) string {
		if w.chance(50) {
			return w.transpose(w.layerNorm(w.transpose(x, 0, 2, 3, 1)), 0, 3, 1, 2)
		}
		c := w.dims(x)[1]
		centered := w.node("Sub", in(x, w.reduce("ReduceMean", x, 1, 1)))
		deviation := w.node("Sqrt", in(w.add(w.reduce("ReduceMean", w.node("Pow", in(centered, w.scalar(2))), 1, 1), w.scalar(1.0/64))))
		return w.add(w.mul(w.node("Div", in(centered, deviation)), w.scales(c, 1, 1)), w.offsets(c, 1, 1))
	}},
	{"block of ConvNeXt", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		y := w.conv(x, c, convolution{kernel: 7, pad: 3, group: c})
		y = w.linear(w.gelu(w.linear(w.layerNorm(w.transpose(y, 0, 2, 3, 1)), 2*c)), c)
		return w.add(x, w.transpose(w.mul(y, w.scales(c)), 0, 3, 1, 2))
	}},
	{"patches of a transformer", image, func(w *writer, x string) string {
		d := w.dims(x)
		patch, n := pick(w, 2, 4), pick(w, 4, 8, 12)
		y := w.conv(x, n, convolution{kernel: patch, stride: patch})
		rows := (d[2] - patch) / patch
		y = w.transpose(w.reshape(y, d[0], n, (rows+1)*((d[3]-patch)/patch+1)), 0, 2, 1)
		if w.chance(60) {
			token := w.offsets(1, 1, n)
			if d[0] > 1 || w.chance(50) {
				token = w.node("Expand", in(token, w.ints(d[0], 1, n)))
			}
			y = w.concat(1, token, y)
		}
		return w.add(y, w.offsets(1, w.dims(y)[1], n))
	}},
	{"windows of a shifted transformer", image, func(w *writer, x string) string {
		d := w.dims(x)
		side := pick(w, 2, 3)
		if d[2]%side+d[3]%side > 0 {
			return ""
		}
		y := w.transpose(x, 0, 2, 3, 1)
		shifted := w.chance(60)
		if shifted {
			y = w.concat(1, w.slice(y, 1, 1, 1<<62, 1), w.slice(y, 1, 0, 1, 1))
			y = w.concat(2, w.slice(y, 2, 1, 1<<62, 1), w.slice(y, 2, 0, 1, 1))
		}
		y = w.transpose(w.reshape(y, d[0], d[2]/side, side, d[3]/side, side, d[1]), 0, 1, 3, 2, 4, 5)
		y = w.linear(w.reshape(y, -1, side*side, d[1]), d[1])
		y = w.transpose(w.reshape(y, d[0], d[2]/side, d[3]/side, side, side, d[1]), 0, 1, 3, 2, 4, 5)
		y = w.reshape(y, d[0], d[2], d[3], d[1])
		if shifted {
			y = w.concat(1, w.slice(y, 1, -1, 1<<62, 1), w.slice(y, 1, 0, -1, 1))
			y = w.concat(2, w.slice(y, 2, -1, 1<<62, 1), w.slice(y, 2, 0, -1, 1))
		}
		return w.add(x, w.transpose(y, 0, 3, 1, 2))
	}},
	{"merging of patches", image, func(w *writer, x string) string {
		d := w.dims(x)
		if d[2]%2+d[3]%2 > 0 {
			return ""
		}
		y := w.transpose(x, 0, 2, 3, 1)
		var parts []string
		for _, at := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			parts = append(parts, w.slice(w.slice(y, 1, at[0], 1<<62, 2), 2, at[1], 1<<62, 2))
		}
		y = w.reshape(w.concat(-1, parts...), d[0], -1, 4*d[1])
		return w.node("MatMul", in(w.layerNorm(y), w.weights(4*d[1], 4*d[1], 2*d[1])))
	}},
	{"head of a classifier", image, func(w *writer, x string) string {
		d := w.dims(x)
		y := ""
		switch w.rng.IntN(4) {
		case 0:
			y = w.node("Flatten", in(w.node("GlobalAveragePool", in(x))), number("axis", 1))
		case 1:
			y = w.reduce("ReduceMean", x, 0, 2, 3)
		case 2:
			y = w.squeeze("Squeeze", w.node("GlobalMaxPool", in(x)), 2, 3)
		default:
			y = w.reshape(w.node("GlobalAveragePool", in(x)), -1, d[1])
		}
		return w.softmax(w.linear(y, w.between(2, 12)))
	}},
	{"linear layer of a flattened image", image, func(w *writer, x string) string {
		d := w.dims(x)
		y := w.node("MaxPool", in(x), list("kernel_shape", 2, 2), list("strides", 2, 2))
		if w.chance(50) {
			y = w.node("Flatten", in(y), number("axis", 1))
		} else {
			y = w.reshape(y, d[0], -1)
		}
		return w.activation(w.linear(y, w.between(2, 12)))
	}},
	{"average pool that counts its padding", image, func(w *writer, x string) string {
		y := w.node("Pad", in(x, w.ints(0, 0, 1, 1, 0, 0, 1, 1), w.scalar(0)), text("mode", "constant"))
		if w.chance(50) {
			return w.node("AveragePool", in(x), list("kernel_shape", 3, 3), list("pads", 1, 1, 1, 1), list("strides", 1, 1), number("count_include_pad", w.rng.IntN(2)))
		}
		return w.node("AveragePool", in(y), list("kernel_shape", 3, 3), list("strides", 1+w.rng.IntN(2), 1))
	}},
	{"pool with a rest", image, func(w *writer, x string) string {
		return w.node(pick(w, "MaxPool", "MaxPool", "AveragePool"), in(x), list("kernel_shape", 3, 3), list("strides", 2, 2), number("ceil_mode", 1))
	}},
	{"transposed convolution", image, func(w *writer, x string) string {
		c, n, kernel := w.dims(x)[1], w.between(1, 6), pick(w, 2, 3, 4)
		a := []onnxgraph.Attribute{list("kernel_shape", kernel, kernel), list("strides", 2, 2), number("group", 1), list("dilations", 1, 1)}
		if kernel == 3 {
			a = append(a, list("pads", 1, 1, 1, 1), list("output_padding", 1, 1))
		} else {
			a = append(a, list("pads", kernel/2-1, kernel/2-1, kernel/2-1, kernel/2-1))
		}
		return w.activation(w.batchNorm(w.node("ConvTranspose", in(x, w.weights(c*kernel, c, n, kernel, kernel), w.offsets(n)), a...)))
	}},
	{"skip of a segmenter", image, func(w *writer, x string) string {
		d := w.dims(x)
		down := w.node("MaxPool", in(w.conv(x, 4, convolution{kernel: 3, pad: 1})), list("kernel_shape", 2, 2), list("strides", 2, 2))
		up := w.node("ConvTranspose", in(down, w.weights(8, 4, 3, 2, 2), w.offsets(3)), list("kernel_shape", 2, 2), list("strides", 2, 2))
		crop := w.slice(w.slice(x, 2, 0, d[2]/2*2, 1), 3, 0, d[3]/2*2, 1)
		return w.conv(w.concat(1, crop, up), w.between(1, 8), convolution{kernel: 3, pad: 1})
	}},
	{"attention of channels and places", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		k1, k2 := w.weights(c, max(1, c/2), c, 1, 1), w.weights(c, c, max(1, c/2), 1, 1)
		shared := func(p string) string { return w.node("Conv", in(w.node("Relu", in(w.node("Conv", in(p, k1)))), k2)) }
		y := w.mul(x, w.node("Sigmoid", in(w.add(shared(w.node("GlobalAveragePool", in(x))), shared(w.node("GlobalMaxPool", in(x)))))))
		maps := w.concat(1, w.reduce("ReduceMean", y, 1, 1), w.reduce("ReduceMax", y, 1, 1))
		return w.mul(y, w.node("Sigmoid", in(w.conv(maps, 1, convolution{kernel: 3, pad: 1}))))
	}},
	{"blocks by tables of indices", image, func(w *writer, x string) string {
		d := w.dims(x)
		kernel := 2
		padded := w.node("Pad", in(x, w.ints(0, 0, 1, 1, 0, 0, 1, 1)))
		table := func(n int) string {
			var at []float64
			for k := range kernel {
				for i := range n + 3 - kernel {
					at = append(at, float64(i+k))
				}
			}
			return w.constant(onnx.Int64, []int{kernel, n + 3 - kernel}, at...)
		}
		y := w.node("Gather", in(padded, table(d[2])), number("axis", 2))
		y = w.node("Gather", in(y, table(d[3])), number("axis", 4))
		return w.reshape(w.transpose(y, 0, 1, 2, 4, 3, 5), d[0], d[1]*kernel*kernel, -1)
	}},
	{"coordinates as channels", image, func(w *writer, x string) string {
		d := w.dims(x)
		return w.conv(w.concat(1, x, w.offsets(d[0], 2, d[2], d[3])), w.between(1, 6), convolution{kernel: 3, pad: 1})
	}},
	{"attention over places", image, func(w *writer, x string) string {
		d := w.dims(x)
		flat := func(y string) string { return w.reshape(y, d[0], -1, d[2]*d[3]) }
		n := max(1, d[1]/2)
		q, k, v := flat(w.conv(x, n, convolution{})), flat(w.conv(x, n, convolution{})), flat(w.conv(x, d[1], convolution{}))
		scores := w.softmax(w.mul(w.node("MatMul", in(w.transpose(q, 0, 2, 1), k)), w.scalar(0.25)))
		y := w.reshape(w.node("MatMul", in(v, w.transpose(scores, 0, 2, 1))), d...)
		return w.add(w.mul(y, w.scales(1)), x)
	}},
	{"normalized pixels", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		y := w.node("Div", in(w.node("Sub", in(x, w.offsets(1, c, 1, 1))), w.scales(1, c, 1, 1)))
		return w.conv(y, w.between(1, 8), convolution{kernel: 3, pad: 1, stride: 2})
	}},
	{"normalized channels", image, func(w *writer, x string) string {
		length := w.clip(w.reduce("ReduceL2", x, 1, 1), 1.0/64, 1e4)
		if w.chance(50) {
			length = w.node("Expand", in(length, w.node("Shape", in(x))))
		}
		return w.mul(w.node("Div", in(x, length)), w.scales(w.dims(x)[1], 1, 1))
	}},
	{"weighted fusion", image, func(w *writer, x string) string {
		a, b := w.scales(1), w.scales(1)
		total := w.add(w.add(a, b), w.scalar(1.0/64))
		y := w.conv(x, w.dims(x)[1], convolution{})
		return w.activation(w.add(w.mul(x, w.node("Div", in(a, total))), w.mul(w.node("Div", in(b, total)), y)))
	}},
	{"pyramid of dilations", image, func(w *writer, x string) string {
		d := w.dims(x)
		parts := in(w.conv(x, 2, convolution{}))
		for _, dilation := range []int{2, 3, pick(w, 6, 18, 36)} {
			parts = append(parts, w.node("Relu", in(w.conv(x, 2, convolution{kernel: 3, pad: dilation, dilation: dilation}))))
		}
		pooled := w.conv(w.node("GlobalAveragePool", in(x)), 2, convolution{})
		parts = append(parts, w.resize(pooled, "", w.ints(d[0], 2, d[2], d[3]), text("mode", "linear"), text("coordinate_transformation_mode", "pytorch_half_pixel")))
		return w.conv(w.concat(1, parts...), w.between(1, 6), convolution{})
	}},
	{"flip and turn", image, func(w *writer, x string) string {
		switch w.rng.IntN(3) {
		case 0:
			return w.add(x, w.slice(x, 3, -1, -1<<62, -1))
		case 1:
			return w.slice(w.transpose(x, 0, 1, 3, 2), 2, -1, -1<<62, -1)
		}
		return w.slice(w.slice(x, 2, -1, -1<<62, -1), 3, -1, -1<<62, -1)
	}},
	{"convolution of a volume", image, func(w *writer, x string) string {
		y := w.conv(w.squeeze("Unsqueeze", x, 1), 2, convolution{kernel: 3, pad: 1})
		return w.slice(w.activation(y), 1, 0, 1, 1)
	}},
	{"softmax of channels", image, func(w *writer, x string) string {
		if w.opset() < 13 {
			return ""
		}
		return w.node("Softmax", in(w.conv(x, w.between(2, 5), convolution{})), number("axis", 1))
	}},
	{"scores of pixels", image, func(w *writer, x string) string {
		d := w.dims(x)
		y := w.transpose(w.conv(x, 4, convolution{}), 0, 2, 3, 1)
		return w.node(pick(w, "Sigmoid", "Tanh"), in(w.reshape(y, d[0], -1, 2)))
	}},
	{"channels that are gathered", image, func(w *writer, x string) string {
		c := w.dims(x)[1]
		y := w.node("Gather", in(x, w.ints(c-1, 0, c/2)), number("axis", 1))
		one := w.node("Gather", in(x, w.index(w.rng.IntN(c))), number("axis", 1))
		return w.mul(y, w.squeeze("Unsqueeze", one, 1))
	}},
	{"gates from halves of channels", image, func(w *writer, x string) string {
		n := w.between(1, 8)
		parts := w.split(w.conv(x, 2*n, convolution{kernel: 3, pad: 1}), 1, n, n)
		return w.mul(w.node(pick(w, "Tanh", "Relu"), in(parts[0])), w.node("Sigmoid", in(parts[1])))
	}},
	{"statistics that modulate", image, func(w *writer, x string) string {
		d := w.dims(x)
		style := w.linear(w.input(d[0], 6), 2*d[1])
		parts := w.split(style, 1, d[1], d[1])
		up := func(v string) string { return w.squeeze("Unsqueeze", v, 2, 3) }
		y := w.node("InstanceNormalization", in(x, w.scales(d[1]), w.offsets(d[1])), real("epsilon", 1.0/64))
		return w.add(w.mul(y, w.add(up(parts[0]), w.scalar(1))), up(parts[1]))
	}},
}
