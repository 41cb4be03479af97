package translate

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/onnx"
)

// operations holds the conversion of each MIL operation.
var operations = newOperations()

func newOperations() map[string]func(x *operation) {
	t := map[string]func(x *operation){
		"conv": emitConv, "conv_transpose": emitConvTranspose, "linear": emitLinearLayer, "matmul": emitMatMul, "einsum": emitEinsum,
		"max_pool": emitPool, "avg_pool": emitPool,
		"batch_norm": emitBatchNorm, "instance_norm": emitInstanceNorm, "layer_norm": emitLayerNorm, "l2_norm": emitL2Norm,
		"softmax": func(x *operation) { x.emit("Softmax", []string{x.inputName("x")}, intAttr("axis", x.int("axis", -1))) },
		"relu6":   func(x *operation) { x.emitClip(0, 6) }, "clip": func(x *operation) { x.emitClip(x.float("alpha", 0), x.float("beta", 0)) },
		"clamped_relu": emitClampedReLU, "leaky_relu": alphaEmitter("LeakyRelu", 0.01), "elu": alphaEmitter("Elu", 1), "prelu": emitPReLU,
		"thresholded_relu": emitThresholdedReLU, "floor_div": emitFloorDivision,
		"sigmoid_hard": func(x *operation) {
			x.emit("HardSigmoid", []string{x.inputName("x")}, floatAttr("alpha", x.float("alpha", 0.2)), floatAttr("beta", x.float("beta", 0.5)))
		},
		"cumsum": emitCumSum, "band_part": emitBand, "local_response_norm": emitLocalNorm, "crop": emitCrop, "not_equal": emitNotEqual,
		"gelu": emitGELU, "linear_activation": emitLinearActivation, "scaled_tanh": emitScaledTanh,
		"square": func(x *operation) { x.emit("Mul", []string{x.inputName("x"), x.inputName("x")}) },
		"rsqrt": func(x *operation) {
			x.emit("Rsqrt", []string{x.inputName("x")}, floatAttr("epsilon", x.float("epsilon", 1e-12)))
		},
		"inverse": func(x *operation) {
			x.emit("Reciprocal", []string{x.emitStep("Add", []string{x.inputName("x"), x.newFloat(x.float("epsilon", 1e-4))})})
		},
		"log": func(x *operation) {
			x.emit("Log", []string{x.emitStep("Add", []string{x.inputName("x"), x.newFloat(x.float("epsilon", 1e-45))})})
		},
		"exp2": func(x *operation) {
			x.emit("Exp", []string{x.emitStep("Mul", []string{x.inputName("x"), x.newFloat(0.6931471805599453)})})
		},
		"threshold":   func(x *operation) { x.emit("Max", []string{x.inputName("x"), x.newFloat(x.float("alpha", 0))}) },
		"cast":        emitCast,
		"reshape":     func(x *operation) { x.emit("Reshape", []string{x.inputName("x"), x.inputName("shape")}) },
		"expand_dims": func(x *operation) { x.emit("Unsqueeze", []string{x.inputName("x"), x.inputName("axes")}) },
		"squeeze": func(x *operation) {
			in := []string{x.inputName("x")}
			if x.hasArgument("axes") {
				in = append(in, x.inputName("axes"))
			}
			x.emit("Squeeze", in)
		},
		"flatten2d": func(x *operation) { x.emit("Flatten", []string{x.inputName("x")}, intAttr("axis", x.int("axis", 1))) },
		"transpose": func(x *operation) {
			x.emit("Transpose", []string{x.inputName("x")}, intsAttr("perm", x.countAxesFromFront(x.ints("perm"), x.rankOf(x.inputName("x")))...))
		},
		"concat": emitConcat, "stack": emitStack, "split": emitSplit, "slice_by_index": emitSlice, "slice_by_size": emitSliceBySize,
		"pad": emitPad, "tile": func(x *operation) { x.emit("Tile", []string{x.inputName("x"), x.inputName("reps")}) }, "reverse": emitReverse,
		"depth_to_space": func(x *operation) {
			x.emit("DepthToSpace", []string{x.inputName("x")}, intAttr("blocksize", x.int("block_size", 1)))
		},
		"space_to_depth": func(x *operation) {
			x.emit("SpaceToDepth", []string{x.inputName("x")}, intAttr("blocksize", x.int("block_size", 1)))
		},
		"pixel_shuffle": func(x *operation) {
			x.emit("DepthToSpace", []string{x.inputName("x")}, intAttr("blocksize", x.int("upscale_factor", 1)), textAttr("mode", "CRD"))
		},
		"pixel_unshuffle": func(x *operation) {
			x.emit("SpaceToDepth", []string{x.inputName("x")}, intAttr("blocksize", x.int("downscale_factor", 1)), textAttr("mode", "CRD"))
		},
		"upsample_nearest_neighbor": upsampleEmitter("nearest"), "upsample_bilinear": upsampleEmitter("linear"),
		"resize_nearest_neighbor": resizeEmitter("nearest"), "resize_bilinear": resizeEmitter("linear"), "resize": emitResize,
		"gather": func(x *operation) {
			x.emit("Gather", []string{x.inputName("x"), x.inputName("indices")}, intAttr("axis", x.int("axis", 0)))
			if x.int("batch_dims", 0) != 0 {
				x.err = errors.New("batch_dims other than 0 is not supported")
			}
		},
		"select": func(x *operation) { x.emit("Where", []string{x.inputName("cond"), x.inputName("a"), x.inputName("b")}) },
		"shape":  func(x *operation) { x.emit("Shape", []string{x.inputName("x")}) },
		"fill": func(x *operation) {
			x.emit("Expand", []string{x.newFloat(x.float("value", 0)), x.inputName("shape")})
		},
		"range_1d": func(x *operation) {
			x.emit("Range", []string{x.inputName("start"), x.inputName("end"), x.inputName("step")})
		},
		"scaled_dot_product_attention": emitAttention,
		"constexpr_affine_dequantize":  unpackAffineWeights, "constexpr_lut_to_dense": unpackPalette, "constexpr_sparse_to_dense": unpackSparseTensor,
		"constexpr_cast": func(x *operation) { x.setResultTensor(x.constantTensor("source_val")) }, "constexpr_blockwise_shift_scale": unpackBlocks,
		"constexpr_lut_to_sparse": unpackSparsePalette, "constexpr_sparse_blockwise_shift_scale": unpackSparseBlocks,
		"dequantize": func(x *operation) {
			in := []string{x.inputName("input"), x.inputName("scale")}
			if x.hasArgument("zero_point") {
				in = append(in, x.inputName("zero_point"))
			}
			x.emit("DequantizeLinear", in, intAttr("axis", x.int("axis", 0)))
		},
	}
	for mil, op := range map[string]string{
		"relu": "Relu", "sigmoid": "Sigmoid", "silu": "SiLU", "tanh": "Tanh", "softplus": "Softplus", "softsign": "Softsign",
		"erf": "Erf", "exp": "Exp", "sqrt": "Sqrt", "abs": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round",
		"sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
		"atanh": "Atanh", "logical_not": "Not", "identity": "Identity",
	} {
		t[mil] = func(x *operation) { x.emit(op, []string{x.inputName("x")}) }
	}
	for mil, op := range map[string]string{
		"add": "Add", "sub": "Sub", "mul": "Mul", "real_div": "Div", "maximum": "Max", "minimum": "Min", "pow": "Pow", "mod": "Mod",
		"equal": "Equal", "less": "Less", "greater": "Greater", "less_equal": "LessOrEqual", "greater_equal": "GreaterOrEqual",
		"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
	} {
		t[mil] = func(x *operation) { x.emit(op, []string{x.inputName("x"), x.inputName("y")}) }
	}
	for mil, op := range map[string]string{
		"reduce_mean": "ReduceMean", "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd",
		"reduce_l1_norm": "ReduceL1", "reduce_l2_norm": "ReduceL2", "reduce_sum_square": "ReduceSumSquare",
		"reduce_log_sum": "ReduceLogSum", "reduce_log_sum_exp": "ReduceLogSumExp",
	} {
		t[mil] = func(x *operation) {
			a := []attribute{intAttr("keepdims", x.int("keep_dims", 0))}
			if x.hasArgument("axes") {
				a = append(a, intsAttr("axes", x.ints("axes")...))
			}
			x.emit(op, []string{x.inputName("x")}, a...)
		}
	}
	return t
}

// countAxesFromFront returns axes with rank added to each negative number, so that all axes count
// from the front.
func (x *operation) countAxesFromFront(axes []int64, rank int) []int64 {
	out := slices.Clone(axes)
	for i := range out {
		if out[i] < 0 {
			out[i] += int64(rank)
		}
	}
	return out
}

func (x *operation) emitClip(low, high float64) {
	x.emit("Clip", []string{x.inputName("x"), x.newFloat(low), x.newFloat(high)})
}

func alphaEmitter(op string, fallback float64) func(x *operation) {
	return func(x *operation) {
		x.emit(op, []string{x.inputName("x")}, floatAttr("alpha", x.float("alpha", fallback)))
	}
}

// windowAttrs returns the ONNX attributes for the strides, dilations, extents and padding of a
// convolution's or pool's window. axes is the number of spatial axes.
func (x *operation) windowAttrs(axes int) []attribute {
	var a []attribute
	for from, to := range map[string]string{"strides": "strides", "dilations": "dilations", "kernel_sizes": "kernel_shape"} {
		if x.hasArgument(from) {
			a = append(a, intsAttr(to, x.ints(from)...))
		}
	}
	switch kind := x.text("pad_type", "valid"); kind {
	case "valid":
	case "custom":
		p := x.ints("pad")
		if len(p) != 2*axes {
			x.err = fmt.Errorf("found pads %v for %d axes; want two per axis", p, axes)
			return a
		}
		pads := make([]int64, 2*axes)
		for i := range axes {
			pads[i], pads[axes+i] = p[2*i], p[2*i+1]
		}
		a = append(a, intsAttr("pads", pads...))
	case "same":
		a = append(a, textAttr("auto_pad", "SAME_UPPER"))
	case "same_lower":
		a = append(a, textAttr("auto_pad", "SAME_LOWER"))
	default:
		x.err = fmt.Errorf("unknown pad_type %q; want valid, custom, same or same_lower", kind)
	}
	if x.hasArgument("groups") {
		a = append(a, intAttr("group", x.int("groups", 1)))
	}
	return a
}

func emitConv(x *operation) {
	in := []string{x.inputName("x"), x.inputName("weight")}
	if x.hasArgument("bias") {
		in = append(in, x.inputName("bias"))
	}
	x.emit("Conv", in, x.windowAttrs(x.rankOf(in[1])-2)...)
}

func emitConvTranspose(x *operation) {
	in := []string{x.inputName("x"), x.inputName("weight")}
	if x.hasArgument("bias") {
		in = append(in, x.inputName("bias"))
	}
	a := x.windowAttrs(x.rankOf(in[1]) - 2)
	if x.hasArgument("output_shape") {
		// Keep the padding, and add the missing elements at the end.
		want, have := x.ints("output_shape"), x.dims[in[0]]
		var full, extra []int64 // extents of the result without output padding, and the padding
		w := x.dims[in[1]]
		strides, dilations, pads := x.ints("strides"), x.ints("dilations"), x.ints("pad")
		for i := range len(w) - 2 {
			at := func(list []int64, k int, missing int64) int64 {
				if k < len(list) {
					return list[k]
				}
				return missing
			}
			if i+2 >= len(want) || i+2 >= len(have) {
				x.err = fmt.Errorf("output_shape %v has too few dimensions; want %d", want, len(have))
				return
			}
			size := (have[i+2]-1)*at(strides, i, 1) + at(dilations, i, 1)*(w[i+2]-1) + 1
			if x.text("pad_type", "valid") == "custom" {
				size -= at(pads, 2*i, 0) + at(pads, 2*i+1, 0)
			}
			full = append(full, size)
			extra = append(extra, want[i+2]-size)
		}
		if t := x.text("pad_type", "valid"); t == "valid" || t == "custom" {
			for _, e := range extra {
				if e < 0 {
					x.err = fmt.Errorf("output_shape %v is smaller than the computed spatial extents %v", want, full)
				}
			}
			a = append(a, intsAttr("output_padding", extra...))
		}
	}
	x.emit("ConvTranspose", in, a...)
}

func emitLinearLayer(x *operation) {
	in := []string{x.inputName("x"), x.inputName("weight")}
	if x.hasArgument("bias") {
		in = append(in, x.inputName("bias"))
	}
	x.emit("Linear", in)
}

// transposeMatrix emits a Transpose that swaps the last two axes of the named tensor, and returns
// the name of its result.
func (x *operation) transposeMatrix(name string) string {
	perm := make([]int64, x.rankOf(name))
	for i := range perm {
		perm[i] = int64(i)
	}
	if k := len(perm); k >= 2 {
		perm[k-1], perm[k-2] = perm[k-2], perm[k-1]
	}
	return x.emitStep("Transpose", []string{name}, intsAttr("perm", perm...))
}

func emitMatMul(x *operation) {
	a, b := x.inputName("x"), x.inputName("y")
	if x.bool("transpose_x") {
		a = x.transposeMatrix(a)
	}
	if x.bool("transpose_y") {
		b = x.transposeMatrix(b)
	}
	x.emit("MatMul", []string{a, b})
}

func emitEinsum(x *operation) {
	x.emit("Einsum", x.inputNames("values"), textAttr("equation", x.text("equation", "")))
}

// emitAttention emits nodes that compute the attention softmax(q k'/sqrt(d) + mask) v, where k' is
// k with its last two axes swapped and d is the last extent of q. The mask is optional.
func emitAttention(x *operation) {
	q, k, v := x.inputName("query"), x.inputName("key"), x.inputName("value")
	d := x.dims[q]
	if len(d) < 2 || d[len(d)-1] < 1 {
		x.err = fmt.Errorf("shape of query %q is %v; want a known last dimension", q, d)
		return
	}
	s := x.emitStep("MatMul", []string{q, x.transposeMatrix(k)})
	s = x.emitStep("Div", []string{s, x.emitStep("Sqrt", []string{x.newFloat(float64(d[len(d)-1]))})})
	if x.hasArgument("attn_mask") {
		mask := x.inputName("attn_mask")
		if x.elems[mask] == onnx.Bool {
			mask = x.emitStep("Where", []string{mask, x.newFloat(0), x.newFloat(-60000)})
		}
		s = x.emitStep("Add", []string{s, mask})
	}
	x.emit("MatMul", []string{x.emitStep("Softmax", []string{s}, intAttr("axis", -1)), v})
}

func emitPool(x *operation) {
	op := "MaxPool"
	var a []attribute
	if x.Type == "avg_pool" {
		op = "AveragePool"
		a = append(a, intAttr("count_include_pad", int64(1-graph.Truth(x.bool("exclude_padding_from_average")))))
	}
	a = append(a, x.windowAttrs(x.rankOf(x.inputName("x"))-2)...)
	x.emit(op, []string{x.inputName("x")}, append(a, intAttr("ceil_mode", int64(graph.Truth(x.bool("ceil_mode")))))...)
}

// channelValues returns the name of the constant argument with the given key, which has one value
// per channel. If the operation lacks it, channelValues adds a constant with the value fallback for
// every channel.
func (x *operation) channelValues(key string, fallback float64) string {
	if x.hasArgument(key) {
		return x.inputName(key)
	}
	d := x.dims[x.inputName("x")]
	if len(d) < 2 || d[1] < 1 || d[1] > list.MaxExtent {
		x.err = fmt.Errorf("input has shape %v; want a known number of channels in axis 1", d)
		return ""
	}
	if x.generated += int(d[1]); x.generated > maxUnpackedElements(x) {
		x.err = fmt.Errorf("%s is missing, and default values for %d channels exceed the limit of %d", key, d[1], maxUnpackedElements(x))
		return ""
	}
	return x.newConstant(onnx.Float, []int64{d[1]}, slices.Repeat([]float64{fallback}, int(d[1]))...)
}

func emitBatchNorm(x *operation) {
	in := []string{x.inputName("x"), x.channelValues("gamma", 1), x.channelValues("beta", 0), x.inputName("mean"), x.inputName("variance")}
	x.emit("BatchNormalization", in, floatAttr("epsilon", x.float("epsilon", 1e-5)))
}

func emitInstanceNorm(x *operation) {
	x.emit("InstanceNormalization", []string{x.inputName("x"), x.channelValues("gamma", 1), x.channelValues("beta", 0)}, floatAttr("epsilon", x.float("epsilon", 1e-5)))
}

// emitLayerNorm converts a layer norm. If its axes are not the last ones, transposes move them
// there and back.
func emitLayerNorm(x *operation) {
	in, rank := x.inputName("x"), x.rankOf(x.inputName("x"))
	var axes []int64
	if x.hasArgument("axes") {
		axes = x.countAxesFromFront(x.ints("axes"), rank)
	} else {
		for i := range rank {
			axes = append(axes, int64(i))
		}
	}
	slices.Sort(axes)
	if len(axes) == 0 || rank == 0 || axes[0] < 0 || axes[len(axes)-1] >= int64(rank) {
		x.err = fmt.Errorf("axes %v are out of range for %d dimensions", axes, rank)
		return
	}
	var perm []int64
	for i := range int64(rank) {
		if !slices.Contains(axes, i) {
			perm = append(perm, i)
		}
	}
	first := int64(len(perm))
	perm = append(perm, axes...)
	at := []attribute{intAttr("axis", first), floatAttr("epsilon", x.float("epsilon", 1e-5))}
	args := []string{in, "", ""}
	if x.hasArgument("gamma") {
		args[1] = x.inputName("gamma")
	}
	if x.hasArgument("beta") {
		args[2] = x.inputName("beta")
	}
	if slices.IsSorted(perm) {
		x.emit("LayerNormalization", args, at...)
		return
	}
	back := make([]int64, rank)
	for i, p := range perm {
		back[p] = int64(i)
	}
	args[0] = x.emitStep("Transpose", args[:1], intsAttr("perm", perm...))
	x.emit("Transpose", []string{x.emitStep("LayerNormalization", args, at...)}, intsAttr("perm", back...))
}

// emitL2Norm emits nodes that divide the input by sqrt(s + epsilon), where s is the sum of squares
// over the last three axes.
func emitL2Norm(x *operation) {
	in := x.inputName("x")
	s := x.emitStep("ReduceSumSquare", []string{in}, intsAttr("axes", -3, -2, -1))
	r := x.emitStep("Rsqrt", []string{s}, floatAttr("epsilon", x.float("epsilon", 1e-6)))
	x.emit("Mul", []string{in, r})
}

// emitThresholdedReLU emits nodes that replace elements below alpha by 0. Unlike in ONNX, an element
// equal to alpha stays.
func emitThresholdedReLU(x *operation) {
	in := x.inputName("x")
	kept := x.emitStep("GreaterOrEqual", []string{in, x.newFloat(x.float("alpha", 1))})
	x.emit("Where", []string{kept, in, x.newFloat(0)})
}

// emitFloorDivision emits nodes that divide x by y and round down.
func emitFloorDivision(x *operation) {
	in, by := x.inputName("x"), x.inputName("y")
	if x.elems[in] != 0 && !x.elems[in].IsFloat() { // the remainder has the sign of y
		rest := x.emitStep("Mod", []string{in, by})
		x.emit("Div", []string{x.emitStep("Sub", []string{in, rest}), by})
		return
	}
	x.emit("Floor", []string{x.emitStep("Div", []string{in, by})})
}

func emitClampedReLU(x *operation) {
	y := x.emitStep("LeakyRelu", []string{x.inputName("x")}, floatAttr("alpha", x.float("alpha", 0)))
	x.emit("Min", []string{y, x.newFloat(x.float("beta", 6))})
}

func emitPReLU(x *operation) {
	d := x.dims[x.inputName("alpha")]
	shape := []int64{-1}
	for range x.rankOf(x.inputName("x")) - 2 {
		shape = append(shape, 1)
	}
	if len(d) != 1 {
		x.err = fmt.Errorf("slopes have shape %v; want one axis", d)
	}
	x.emit("PRelu", []string{x.inputName("x"), x.emitStep("Reshape", []string{x.inputName("alpha"), x.newInts(shape...)})})
}

func emitGELU(x *operation) {
	if x.text("mode", "EXACT") == "SIGMOID_APPROXIMATION" {
		x.emit("QuickGelu", []string{x.inputName("x")}, floatAttr("alpha", 1.702))
		return
	}
	x.emit("Gelu", []string{x.inputName("x")})
}

func emitLinearActivation(x *operation) {
	y := x.emitStep("Mul", []string{x.inputName("x"), x.newFloat(x.float("alpha", 1))})
	x.emit("Add", []string{y, x.newFloat(x.float("beta", 0))})
}

func emitScaledTanh(x *operation) {
	y := x.emitStep("Tanh", []string{x.emitStep("Mul", []string{x.inputName("x"), x.newFloat(x.float("beta", 1))})})
	x.emit("Mul", []string{y, x.newFloat(x.float("alpha", 1))})
}

// castTypes maps the type names of a cast to element types.
var castTypes = map[string]onnx.DataType{
	"fp16": onnx.Float16, "fp32": onnx.Float, "fp64": onnx.Double, "int32": onnx.Int32, "int64": onnx.Int64, "int8": onnx.Int8,
	"uint8": onnx.Uint8, "int16": onnx.Int16, "uint16": onnx.Uint16, "bool": onnx.Bool,
}

func emitCast(x *operation) {
	to, ok := castTypes[x.text("dtype", "")]
	if !ok {
		x.err = fmt.Errorf("cannot cast to unknown type %q", x.text("dtype", ""))
	}
	x.emit("Cast", []string{x.inputName("x")}, intAttr("to", int64(to)))
}
