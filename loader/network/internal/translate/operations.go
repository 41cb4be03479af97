package translate

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/internal/network/onnx"
	"anesim/loader/network/list"
)

// operations holds the conversion of each MIL operation.
var operations = newEmitterTable()

func newEmitterTable() map[string]func(x *operation) {
	t := map[string]func(x *operation){
		"conv": emitConv, "conv_transpose": emitConvTranspose, "linear": emitLinearLayer, "matmul": emitMatMul, "einsum": emitEinsum,
		"max_pool": emitPool, "avg_pool": emitPool,
		"batch_norm": emitBatchNorm, "instance_norm": emitInstanceNorm, "layer_norm": emitLayerNorm, "l2_norm": emitL2Norm,
		"softmax": func(x *operation) {
			x.emitNode("Softmax", []string{x.inputName("x")}, newIntAttr("axis", x.intArgument("axis", -1)))
		},
		"relu6": func(x *operation) { x.emitClip(0, 6) }, "clip": func(x *operation) { x.emitClip(x.floatArgument("alpha", 0), x.floatArgument("beta", 0)) },
		"clamped_relu": emitClampedReLU, "leaky_relu": newAlphaEmitter("LeakyRelu", 0.01), "elu": newAlphaEmitter("Elu", 1), "prelu": emitPReLU,
		"thresholded_relu": emitThresholdedReLU, "floor_div": emitFloorDivision,
		"sigmoid_hard": func(x *operation) {
			x.emitNode("HardSigmoid", []string{x.inputName("x")}, newFloatAttr("alpha", x.floatArgument("alpha", 0.2)), newFloatAttr("beta", x.floatArgument("beta", 0.5)))
		},
		"cumsum": emitCumSum, "band_part": emitBandPart, "local_response_norm": emitLocalNorm, "crop": emitCrop, "not_equal": emitNotEqual,
		"gelu": emitGELU, "linear_activation": emitLinearActivation, "scaled_tanh": emitScaledTanh,
		"square": func(x *operation) { x.emitNode("Mul", []string{x.inputName("x"), x.inputName("x")}) },
		"rsqrt": func(x *operation) {
			x.emitNode("Rsqrt", []string{x.inputName("x")}, newFloatAttr("epsilon", x.floatArgument("epsilon", 1e-12)))
		},
		"inverse": func(x *operation) {
			x.emitNode("Reciprocal", []string{x.emitIntermediateNode("Add", []string{x.inputName("x"), x.newFloatConstant(x.floatArgument("epsilon", 1e-4))})})
		},
		// Defaults here are those of MIL's operators, which differ from ONNX's. This one keeps the
		// logarithm of 0 finite in fp32, and rounds to 0 in fp16.
		"log": func(x *operation) {
			x.emitNode("Log", []string{x.emitIntermediateNode("Add", []string{x.inputName("x"), x.newFloatConstant(x.floatArgument("epsilon", 1e-45))})})
		},
		"exp2": func(x *operation) {
			x.emitNode("Exp", []string{x.emitIntermediateNode("Mul", []string{x.inputName("x"), x.newFloatConstant(0.6931471805599453)})})
		},
		"threshold": func(x *operation) {
			x.emitNode("Max", []string{x.inputName("x"), x.newFloatConstant(x.floatArgument("alpha", 0))})
		},
		"cast":        emitCast,
		"reshape":     func(x *operation) { x.emitNode("Reshape", []string{x.inputName("x"), x.inputName("shape")}) },
		"expand_dims": func(x *operation) { x.emitNode("Unsqueeze", []string{x.inputName("x"), x.inputName("axes")}) },
		"squeeze": func(x *operation) {
			in := []string{x.inputName("x")}
			if x.hasArgument("axes") {
				in = append(in, x.inputName("axes"))
			}
			x.emitNode("Squeeze", in)
		},
		"flatten2d": func(x *operation) {
			x.emitNode("Flatten", []string{x.inputName("x")}, newIntAttr("axis", x.intArgument("axis", 1)))
		},
		"transpose": func(x *operation) {
			x.emitNode("Transpose", []string{x.inputName("x")}, newIntsAttr("perm", x.resolveNegativeAxes(x.intsArgument("perm"), x.declaredRank(x.inputName("x")))...))
		},
		"concat": emitConcat, "stack": emitStack, "split": emitSplit, "slice_by_index": emitSlice, "slice_by_size": emitSliceBySize, "slice_update": emitSliceUpdate,
		"pad": emitPad, "tile": func(x *operation) { x.emitNode("Tile", []string{x.inputName("x"), x.inputName("reps")}) }, "reverse": emitReverse,
		"depth_to_space": func(x *operation) {
			x.emitNode("DepthToSpace", []string{x.inputName("x")}, newIntAttr("blocksize", x.intArgument("block_size", 1)))
		},
		"space_to_depth": func(x *operation) {
			x.emitNode("SpaceToDepth", []string{x.inputName("x")}, newIntAttr("blocksize", x.intArgument("block_size", 1)))
		},
		// The same rearrangement as depth_to_space, but the channels of the result are the outer axis
		// (CRD).
		"pixel_shuffle": func(x *operation) {
			x.emitNode("DepthToSpace", []string{x.inputName("x")}, newIntAttr("blocksize", x.intArgument("upscale_factor", 1)), newTextAttr("mode", "CRD"))
		},
		"pixel_unshuffle": func(x *operation) {
			x.emitNode("SpaceToDepth", []string{x.inputName("x")}, newIntAttr("blocksize", x.intArgument("downscale_factor", 1)), newTextAttr("mode", "CRD"))
		},
		"upsample_nearest_neighbor": newUpsampleEmitter("nearest"), "upsample_bilinear": newUpsampleEmitter("linear"),
		"resize_nearest_neighbor": newResizeEmitter("nearest"), "resize_bilinear": newResizeEmitter("linear"), "resize": emitResize,
		"gather": emitGather, "classify": emitClassify,
		"select": func(x *operation) {
			x.emitNode("Where", []string{x.inputName("cond"), x.inputName("a"), x.inputName("b")})
		},
		"shape": func(x *operation) { x.emitNode("Shape", []string{x.inputName("x")}) },
		"fill": func(x *operation) {
			x.emitNode("Expand", []string{x.newFloatConstant(x.floatArgument("value", 0)), x.inputName("shape")})
		},
		"range_1d": func(x *operation) {
			x.emitNode("Range", []string{x.inputName("start"), x.inputName("end"), x.inputName("step")})
		},
		"scaled_dot_product_attention": emitAttention,
		"constexpr_affine_dequantize":  unpackAffineWeights, "constexpr_lut_to_dense": unpackPalette, "constexpr_sparse_to_dense": unpackSparseTensor,
		"constexpr_cast": func(x *operation) { x.setResultTensor(x.constantTensor("source_val")) }, "constexpr_blockwise_shift_scale": unpackBlockwiseWeights,
		"constexpr_lut_to_sparse": unpackSparsePalette, "constexpr_sparse_blockwise_shift_scale": unpackSparseBlocks,
		"quantize": emitQuantize, "reduce_argmax": newArgEmitter("ArgMax"), "reduce_argmin": newArgEmitter("ArgMin"), "topk": emitTopK,
		"gather_along_axis": func(x *operation) {
			x.emitNode("GatherElements", []string{x.inputName("x"), x.inputName("indices")}, newIntAttr("axis", x.intArgument("axis", 0)))
		},
		"gather_nd": func(x *operation) {
			x.emitNode("GatherND", []string{x.inputName("x"), x.inputName("indices")}, newIntAttr("batch_dims", x.intArgument("batch_dims", 0)))
		},
		"one_hot": emitOneHot, "scatter_nd": emitScatter, "scatter_along_axis": emitScatter,
		"argsort": emitArgSort, "scatter": emitScatterAlongAxis, "reverse_sequence": emitReverseSequence, "sliding_windows": emitSlidingWindows,
		"space_to_batch": emitSpaceToBatch, "batch_to_space": emitBatchToSpace, "resample": emitResample,
		// MIL gives a row for each element, and ONNX a column.
		"non_zero": func(x *operation) {
			x.emitNode("Transpose", []string{x.emitIntermediateNode("NonZero", []string{x.inputName("x")})}, newIntsAttr("perm", 1, 0))
		},
		// Work of the host that no operator of ONNX states: the boxes and their scores, padded to a fixed number.
		"non_maximum_suppression": newHostWork("number of boxes depends on values; the CPU computes it, and values behind it are not computed"),
		"crop_resize":             emitCropResize,
		"lstm":                    emitLSTM, "rnn": emitRNN, "gru": emitGRU, "l2_pool": emitPool, "softplus_parametric": emitParametricSoftplus,
		"fill_like": func(x *operation) {
			x.emitNode("Expand", []string{x.newFloatConstant(x.floatArgument("value", 0)), x.emitIntermediateNode("Shape", []string{x.inputName("ref_tensor")})})
		},
		"dequantize": func(x *operation) {
			in := []string{x.inputName("input"), x.inputName("scale")}
			if x.hasArgument("zero_point") {
				in = append(in, x.inputName("zero_point"))
			}
			x.emitNode("DequantizeLinear", in, newIntAttr("axis", x.intArgument("axis", 0)))
		},
	}
	for mil, op := range map[string]string{
		"relu": "Relu", "sigmoid": "Sigmoid", "silu": "SiLU", "tanh": "Tanh", "softplus": "Softplus", "softsign": "Softsign",
		"erf": "Erf", "exp": "Exp", "sqrt": "Sqrt", "abs": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round",
		"sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
		"atanh": "Atanh", "logical_not": "Not", "identity": "Identity",
	} {
		t[mil] = func(x *operation) { x.emitNode(op, []string{x.inputName("x")}) }
	}
	for mil, op := range map[string]string{
		"add": "Add", "sub": "Sub", "mul": "Mul", "real_div": "Div", "maximum": "Max", "minimum": "Min", "pow": "Pow", "mod": "Mod",
		"equal": "Equal", "less": "Less", "greater": "Greater", "less_equal": "LessOrEqual", "greater_equal": "GreaterOrEqual",
		"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
	} {
		t[mil] = func(x *operation) { x.emitNode(op, []string{x.inputName("x"), x.inputName("y")}) }
	}
	for mil, op := range map[string]string{
		"reduce_mean": "ReduceMean", "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd",
		"reduce_l1_norm": "ReduceL1", "reduce_l2_norm": "ReduceL2", "reduce_sum_square": "ReduceSumSquare",
		"reduce_log_sum": "ReduceLogSum", "reduce_log_sum_exp": "ReduceLogSumExp",
	} {
		t[mil] = func(x *operation) {
			// Always written, because ONNX keeps reduced axes unless told otherwise, and MIL drops them.
			a := []attribute{newIntAttr("keepdims", x.intArgument("keep_dims", 0))}
			if x.hasArgument("axes") {
				a = append(a, newIntsAttr("axes", x.intsArgument("axes")...))
			}
			x.emitNode(op, []string{x.inputName("x")}, a...)
		}
	}
	return t
}

// newHostWork returns a function that leaves an operation to the host, for the given reason. Nothing computes
// its values.
func newHostWork(why string) func(x *operation) {
	return func(x *operation) { x.fail(errors.New(why)) }
}

// resolveNegativeAxes returns axes with rank added to each negative number, so that all axes count
// from the front.
func (x *operation) resolveNegativeAxes(axes []int64, rank int) []int64 {
	out := slices.Clone(axes)
	for i := range out {
		if out[i] < 0 {
			out[i] += int64(rank)
		}
	}
	return out
}

func (x *operation) emitClip(low, high float64) {
	x.emitNode("Clip", []string{x.inputName("x"), x.newFloatConstant(low), x.newFloatConstant(high)})
}

func newAlphaEmitter(op string, fallback float64) func(x *operation) {
	return func(x *operation) {
		x.emitNode(op, []string{x.inputName("x")}, newFloatAttr("alpha", x.floatArgument("alpha", fallback)))
	}
}

// newWindowAttrs returns the ONNX attributes for the strides, dilations, extents and padding of a
// convolution's or pool's window. axes is the number of spatial axes.
func (x *operation) newWindowAttrs(axes int) []attribute {
	var a []attribute
	for from, to := range map[string]string{"strides": "strides", "dilations": "dilations", "kernel_sizes": "kernel_shape"} {
		if x.hasArgument(from) {
			a = append(a, newIntsAttr(to, x.intsArgument(from)...))
		}
	}
	x.arguments("pad") // which only custom padding uses
	switch kind := x.textArgument("pad_type", "valid"); kind {
	case "valid":
	case "custom":
		p := x.intsArgument("pad")
		if !x.hasArgument("pad") {
			p = make([]int64, 2*axes)
		}
		if len(p) != 2*axes {
			x.err = fmt.Errorf("pads %v do not match %d axes; want two per axis", p, axes)
			return a
		}
		pads := make([]int64, 2*axes)
		for i := range axes {
			// MIL has the pads of an axis together, and ONNX all starts before all ends.
			pads[i], pads[axes+i] = p[2*i], p[2*i+1]
		}
		a = append(a, newIntsAttr("pads", pads...))
	case "same":
		a = append(a, newTextAttr("auto_pad", "SAME_UPPER"))
	case "same_lower":
		a = append(a, newTextAttr("auto_pad", "SAME_LOWER"))
	default:
		x.err = fmt.Errorf("unknown pad_type %q; want valid, custom, same or same_lower", kind)
	}
	if x.hasArgument("groups") {
		a = append(a, newIntAttr("group", x.intArgument("groups", 1)))
	}
	return a
}

func emitConv(x *operation) {
	in := []string{x.inputName("x"), x.inputName("weight")}
	if x.hasArgument("bias") {
		in = append(in, x.inputName("bias"))
	}
	x.emitNode("Conv", in, x.newWindowAttrs(x.declaredRank(in[1])-2)...)
}

func emitConvTranspose(x *operation) {
	in := []string{x.inputName("x"), x.inputName("weight")}
	if x.hasArgument("bias") {
		in = append(in, x.inputName("bias"))
	}
	a := x.newWindowAttrs(x.declaredRank(in[1]) - 2)
	if x.hasArgument("output_shape") {
		// Keep the padding, and add the missing elements at the end. The padding "same" depends on
		// the shape.
		want, have := x.intsArgument("output_shape"), x.dims[in[0]]
		var full, extra []int64 // extents of the result without output padding, and the padding
		w := x.dims[in[1]]
		strides, dilations, pads := x.intsArgument("strides"), x.intsArgument("dilations"), x.intsArgument("pad")
		for i := range len(w) - 2 {
			at := func(list []int64, k int, missing int64) int64 {
				if k < len(list) {
					return list[k]
				}
				return missing
			}
			if i+2 >= len(want) || i+2 >= len(have) {
				x.err = fmt.Errorf("output_shape has %d dimensions and the input has %d; want at least %d each", len(want), len(have), len(w))
				return
			}
			size := (have[i+2]-1)*at(strides, i, 1) + at(dilations, i, 1)*(w[i+2]-1) + 1
			if x.textArgument("pad_type", "valid") == "custom" {
				size -= at(pads, 2*i, 0) + at(pads, 2*i+1, 0)
			}
			full = append(full, size)
			extra = append(extra, want[i+2]-size)
		}
		if t := x.textArgument("pad_type", "valid"); t == "same" || t == "same_lower" {
			a = append(a, newIntsAttr("output_shape", want...))
		} else if t == "valid" || t == "custom" {
			for _, e := range extra {
				if e < 0 {
					x.err = fmt.Errorf("output_shape %v is smaller than the computed spatial output size %v", want, full)
				}
			}
			a = append(a, newIntsAttr("output_padding", extra...))
		}
	}
	x.emitNode("ConvTranspose", in, a...)
}

func emitLinearLayer(x *operation) {
	in := []string{x.inputName("x"), x.inputName("weight")}
	if x.hasArgument("bias") {
		in = append(in, x.inputName("bias"))
	}
	x.emitNode("Linear", in)
}

// transposeMatrix emits a Transpose that swaps the last two axes of the named tensor, and returns
// the name of its result.
func (x *operation) transposeMatrix(name string) string {
	perm := make([]int64, x.declaredRank(name))
	for i := range perm {
		perm[i] = int64(i)
	}
	if k := len(perm); k >= 2 {
		perm[k-1], perm[k-2] = perm[k-2], perm[k-1]
	}
	return x.emitIntermediateNode("Transpose", []string{name}, newIntsAttr("perm", perm...))
}

func emitMatMul(x *operation) {
	a, b := x.inputName("x"), x.inputName("y")
	if x.boolArgument("transpose_x") {
		a = x.transposeMatrix(a)
	}
	if x.boolArgument("transpose_y") {
		b = x.transposeMatrix(b)
	}
	x.emitNode("MatMul", []string{a, b})
}

func emitEinsum(x *operation) {
	x.emitNode("Einsum", x.inputNames("values"), newTextAttr("equation", x.textArgument("equation", "")))
}

// emitAttention emits nodes that compute the attention softmax(q k'/sqrt(d) + mask) v, where k' is
// k with its last two axes swapped and d is the last extent of q. The mask is optional.
func emitAttention(x *operation) {
	q, k, v := x.inputName("query"), x.inputName("key"), x.inputName("value")
	d := x.dims[q]
	if len(d) < 2 || d[len(d)-1] < 1 {
		x.err = fmt.Errorf("query %q has shape %v; want at least 2 axes and a known last dimension", q, d)
		return
	}
	s := x.emitIntermediateNode("MatMul", []string{q, x.transposeMatrix(k)})
	s = x.emitIntermediateNode("Div", []string{s, x.emitIntermediateNode("Sqrt", []string{x.newFloatConstant(float64(d[len(d)-1]))})})
	if x.hasArgument("attn_mask") {
		mask := x.inputName("attn_mask")
		if x.elems[mask] == onnx.Bool {
			mask = x.emitIntermediateNode("Where", []string{mask, x.newFloatConstant(0), x.newFloatConstant(-60000)})
		}
		s = x.emitIntermediateNode("Add", []string{s, mask})
	}
	x.emitNode("MatMul", []string{x.emitIntermediateNode("Softmax", []string{s}, newIntAttr("axis", -1)), v})
}

func emitPool(x *operation) {
	op := "MaxPool"
	var a []attribute
	if x.Type == "l2_pool" {
		op = "LpPool"
	}
	if x.Type == "avg_pool" {
		op = "AveragePool"
		a = append(a, newIntAttr("count_include_pad", int64(1-graph.Truth(x.boolArgument("exclude_padding_from_average")))))
	}
	a = append(a, x.newWindowAttrs(x.declaredRank(x.inputName("x"))-2)...)
	x.emitNode(op, []string{x.inputName("x")}, append(a, newIntAttr("ceil_mode", int64(graph.Truth(x.boolArgument("ceil_mode")))))...)
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
		x.err = fmt.Errorf("input has shape %v; want a known number of channels (axis 1) of at most %d", d, list.MaxExtent)
		return ""
	}
	if x.generated += int(d[1]); x.generated > maxUnpackedElements(x) {
		x.err = fmt.Errorf("argument %q is missing; default values exceed the limit of %d elements for a model of this size", key, maxUnpackedElements(x))
		return ""
	}
	return x.newConstant(onnx.Float, []int64{d[1]}, slices.Repeat([]float64{fallback}, int(d[1]))...)
}

func emitBatchNorm(x *operation) {
	in := []string{x.inputName("x"), x.channelValues("gamma", 1), x.channelValues("beta", 0), x.inputName("mean"), x.inputName("variance")}
	x.emitNode("BatchNormalization", in, newFloatAttr("epsilon", x.floatArgument("epsilon", 1e-5)))
}

func emitInstanceNorm(x *operation) {
	x.emitNode("InstanceNormalization", []string{x.inputName("x"), x.channelValues("gamma", 1), x.channelValues("beta", 0)}, newFloatAttr("epsilon", x.floatArgument("epsilon", 1e-5)))
}

// emitLayerNorm emits nodes that compute a layer norm. If the normalized axes are not the last
// ones, transposes move them there and back.
func emitLayerNorm(x *operation) {
	in, rank := x.inputName("x"), x.declaredRank(x.inputName("x"))
	var axes []int64
	if x.hasArgument("axes") {
		axes = x.resolveNegativeAxes(x.intsArgument("axes"), rank)
	} else {
		for i := range rank {
			axes = append(axes, int64(i))
		}
	}
	slices.Sort(axes)
	if len(axes) == 0 || rank == 0 || axes[0] < 0 || axes[len(axes)-1] >= int64(rank) {
		x.err = fmt.Errorf("invalid axes %v for rank %d; want at least one axis, all in range", axes, rank)
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
	at := []attribute{newIntAttr("axis", first), newFloatAttr("epsilon", x.floatArgument("epsilon", 1e-5))}
	args := []string{in, "", ""}
	if x.hasArgument("gamma") {
		args[1] = x.inputName("gamma")
	}
	if x.hasArgument("beta") {
		args[2] = x.inputName("beta")
	}
	// ONNX normalizes the last axes only. A sorted permutation is none, so that is the usual case.
	if slices.IsSorted(perm) {
		x.emitNode("LayerNormalization", args, at...)
		return
	}
	back := make([]int64, rank)
	for i, p := range perm {
		back[p] = int64(i)
	}
	args[0] = x.emitIntermediateNode("Transpose", []string{in}, newIntsAttr("perm", perm...))
	x.emitNode("Transpose", []string{x.emitIntermediateNode("LayerNormalization", args, at...)}, newIntsAttr("perm", back...))
}

// emitL2Norm emits nodes that divide the input by sqrt(s + epsilon), where s is the sum of squares
// over the last three axes.
func emitL2Norm(x *operation) {
	in := x.inputName("x")
	s := x.emitIntermediateNode("ReduceSumSquare", []string{in}, newIntsAttr("axes", -3, -2, -1))
	r := x.emitIntermediateNode("Rsqrt", []string{s}, newFloatAttr("epsilon", x.floatArgument("epsilon", 1e-6)))
	x.emitNode("Mul", []string{in, r})
}

// emitThresholdedReLU emits nodes that replace elements below alpha by 0. Unlike in ONNX, an element
// equal to alpha stays.
func emitThresholdedReLU(x *operation) {
	in := x.inputName("x")
	kept := x.emitIntermediateNode("GreaterOrEqual", []string{in, x.newFloatConstant(x.floatArgument("alpha", 1))})
	x.emitNode("Where", []string{kept, in, x.newFloatConstant(0)})
}

// emitFloorDivision emits nodes that divide x by y and round down.
func emitFloorDivision(x *operation) {
	in, by := x.inputName("x"), x.inputName("y")
	if x.elems[in] != 0 && !x.elems[in].IsFloat() { // the remainder has the sign of y
		rest := x.emitIntermediateNode("Mod", []string{in, by})
		x.emitNode("Div", []string{x.emitIntermediateNode("Sub", []string{in, rest}), by})
		return
	}
	x.emitNode("Floor", []string{x.emitIntermediateNode("Div", []string{in, by})})
}

func emitClampedReLU(x *operation) {
	y := x.emitIntermediateNode("LeakyRelu", []string{x.inputName("x")}, newFloatAttr("alpha", x.floatArgument("alpha", 0)))
	x.emitNode("Min", []string{y, x.newFloatConstant(x.floatArgument("beta", 6))})
}

func emitPReLU(x *operation) {
	d := x.dims[x.inputName("alpha")]
	shape := []int64{-1}
	for range x.declaredRank(x.inputName("x")) - 2 {
		shape = append(shape, 1)
	}
	if len(d) != 1 {
		x.err = fmt.Errorf(`argument "alpha" has shape %v; want one axis`, d)
	}
	x.emitNode("PRelu", []string{x.inputName("x"), x.emitIntermediateNode("Reshape", []string{x.inputName("alpha"), x.newIntsConstant(shape...)})})
}

// emitParametricSoftplus emits nodes that compute alpha*log(1 + exp(beta*x)), with one alpha and one beta for
// each channel.
func emitParametricSoftplus(x *operation) {
	shape := []int64{-1}
	for range x.declaredRank(x.inputName("x")) - 2 {
		shape = append(shape, 1)
	}
	perChannel := func(key string) string {
		return x.emitIntermediateNode("Reshape", []string{x.inputName(key), x.newIntsConstant(shape...)})
	}
	y := x.emitIntermediateNode("Mul", []string{x.inputName("x"), perChannel("beta")})
	x.emitNode("Mul", []string{x.emitIntermediateNode("Softplus", []string{y}), perChannel("alpha")})
}

func emitGELU(x *operation) {
	switch mode := x.textArgument("mode", "EXACT"); mode {
	case "SIGMOID_APPROXIMATION":
		x.emitNode("QuickGelu", []string{x.inputName("x")}, newFloatAttr("alpha", 1.702))
	case "TANH_APPROXIMATION":
		x.emitNode("Gelu", []string{x.inputName("x")}, newTextAttr("approximate", "tanh"))
	case "EXACT":
		x.emitNode("Gelu", []string{x.inputName("x")})
	default:
		x.err = fmt.Errorf("unknown mode %q; want EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION", mode)
	}
}

func emitLinearActivation(x *operation) {
	y := x.emitIntermediateNode("Mul", []string{x.inputName("x"), x.newFloatConstant(x.floatArgument("alpha", 1))})
	x.emitNode("Add", []string{y, x.newFloatConstant(x.floatArgument("beta", 0))})
}

func emitScaledTanh(x *operation) {
	y := x.emitIntermediateNode("Tanh", []string{x.emitIntermediateNode("Mul", []string{x.inputName("x"), x.newFloatConstant(x.floatArgument("beta", 1))})})
	x.emitNode("Mul", []string{y, x.newFloatConstant(x.floatArgument("alpha", 1))})
}

// castTypes maps the type names of a cast to element types.
var castTypes = map[string]onnx.DataType{
	"fp16": onnx.Float16, "fp32": onnx.Float, "fp64": onnx.Double, "int32": onnx.Int32, "int64": onnx.Int64, "int8": onnx.Int8,
	"uint8": onnx.Uint8, "int16": onnx.Int16, "uint16": onnx.Uint16, "bool": onnx.Bool,
}

func emitCast(x *operation) {
	to, ok := castTypes[x.textArgument("dtype", "")]
	if !ok {
		x.err = fmt.Errorf("unknown dtype %q; want fp16, fp32, fp64, int8, int16, int32, int64, uint8, uint16 or bool", x.textArgument("dtype", ""))
	}
	x.emitNode("Cast", []string{x.inputName("x")}, newIntAttr("to", int64(to)))
}
