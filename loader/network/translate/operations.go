package translate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/onnx"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// operations state operations of the intermediate language.
var operations = operationTable()

func operationTable() map[string]func(x *operation) {
	t := map[string]func(x *operation){
		"conv": conv, "conv_transpose": convTranspose, "linear": linear, "matmul": matmul, "einsum": einsum,
		"max_pool": pool, "avg_pool": pool,
		"batch_norm": batchNorm, "instance_norm": instanceNorm, "layer_norm": layerNorm, "l2_norm": l2Norm,
		"softmax": func(x *operation) { x.node("Softmax", []string{x.in("x")}, integer("axis", x.int("axis", -1))) },
		"relu6":   func(x *operation) { x.clip(0, 6) }, "clip": func(x *operation) { x.clip(x.number("alpha", 0), x.number("beta", 0)) },
		"clamped_relu": clampedRelu, "leaky_relu": alpha("LeakyRelu", 0.01), "elu": alpha("Elu", 1), "prelu": prelu,
		"thresholded_relu": alpha("ThresholdedRelu", 1),
		"sigmoid_hard": func(x *operation) {
			x.node("HardSigmoid", []string{x.in("x")}, decimal("alpha", x.number("alpha", 0.2)), decimal("beta", x.number("beta", 0.5)))
		},
		"cumsum": cumsum, "band_part": band, "local_response_norm": localNorm, "crop": crop, "not_equal": notEqual,
		"gelu": gelu, "linear_activation": linearActivation, "scaled_tanh": scaledTanh,
		"square": func(x *operation) { x.node("Mul", []string{x.in("x"), x.in("x")}) },
		"rsqrt": func(x *operation) {
			x.node("Rsqrt", []string{x.in("x")}, decimal("epsilon", x.number("epsilon", 1e-12)))
		},
		"inverse": func(x *operation) {
			x.node("Reciprocal", []string{x.step("Add", []string{x.in("x"), x.real(x.number("epsilon", 1e-4))})})
		},
		"log": func(x *operation) {
			x.node("Log", []string{x.step("Add", []string{x.in("x"), x.real(x.number("epsilon", 1e-45))})})
		},
		"exp2": func(x *operation) {
			x.node("Exp", []string{x.step("Mul", []string{x.in("x"), x.real(0.6931471805599453)})})
		},
		"threshold":   func(x *operation) { x.node("Max", []string{x.in("x"), x.real(x.number("alpha", 0))}) },
		"cast":        cast,
		"reshape":     func(x *operation) { x.node("Reshape", []string{x.in("x"), x.in("shape")}) },
		"expand_dims": func(x *operation) { x.node("Unsqueeze", []string{x.in("x"), x.in("axes")}) },
		"squeeze": func(x *operation) {
			in := []string{x.in("x")}
			if x.has("axes") {
				in = append(in, x.in("axes"))
			}
			x.node("Squeeze", in)
		},
		"flatten2d": func(x *operation) { x.node("Flatten", []string{x.in("x")}, integer("axis", x.int("axis", 1))) },
		"transpose": func(x *operation) {
			x.node("Transpose", []string{x.in("x")}, integers("perm", x.positive(x.ints("perm"), x.rank(x.in("x")))...))
		},
		"concat": concat, "stack": stack, "split": split, "slice_by_index": slice, "slice_by_size": sliceBySize,
		"pad": pad, "tile": func(x *operation) { x.node("Tile", []string{x.in("x"), x.in("reps")}) }, "reverse": reverse,
		"depth_to_space": func(x *operation) {
			x.node("DepthToSpace", []string{x.in("x")}, integer("blocksize", x.int("block_size", 1)))
		},
		"space_to_depth": func(x *operation) {
			x.node("SpaceToDepth", []string{x.in("x")}, integer("blocksize", x.int("block_size", 1)))
		},
		"pixel_shuffle": func(x *operation) {
			x.node("DepthToSpace", []string{x.in("x")}, integer("blocksize", x.int("upscale_factor", 1)), textual("mode", "CRD"))
		},
		"pixel_unshuffle": func(x *operation) {
			x.node("SpaceToDepth", []string{x.in("x")}, integer("blocksize", x.int("downscale_factor", 1)), textual("mode", "CRD"))
		},
		"upsample_nearest_neighbor": upsample("nearest"), "upsample_bilinear": upsample("linear"),
		"resize_nearest_neighbor": resize("nearest"), "resize_bilinear": resize("linear"), "resize": resizeTo,
		"gather": func(x *operation) {
			x.node("Gather", []string{x.in("x"), x.in("indices")}, integer("axis", x.int("axis", 0)))
			if x.int("batch_dims", 0) != 0 {
				x.err = errors.New("places of a batch (batch_dims)")
			}
		},
		"select": func(x *operation) { x.node("Where", []string{x.in("cond"), x.in("a"), x.in("b")}) },
		"shape":  func(x *operation) { x.node("Shape", []string{x.in("x")}) },
		"fill": func(x *operation) {
			x.node("Expand", []string{x.real(x.number("value", 0)), x.in("shape")})
		},
		"range_1d":                     func(x *operation) { x.node("Range", []string{x.in("start"), x.in("end"), x.in("step")}) },
		"scaled_dot_product_attention": attention,
		"constexpr_affine_dequantize":  affine, "constexpr_lut_to_dense": lookUp, "constexpr_sparse_to_dense": sparse,
		"constexpr_cast": func(x *operation) { x.copyOf(x.value("source_val"), x.value("source_val")) }, "constexpr_blockwise_shift_scale": blockwise,
		"constexpr_lut_to_sparse": lUTSparse, "constexpr_sparse_blockwise_shift_scale": blockwiseSparse,
		"dequantize": func(x *operation) {
			in := []string{x.in("input"), x.in("scale")}
			if x.has("zero_point") {
				in = append(in, x.in("zero_point"))
			}
			x.node("DequantizeLinear", in, integer("axis", x.int("axis", 0)))
		},
	}
	for mil, op := range map[string]string{
		"relu": "Relu", "sigmoid": "Sigmoid", "silu": "SiLU", "tanh": "Tanh", "softplus": "Softplus", "softsign": "Softsign",
		"erf": "Erf", "exp": "Exp", "sqrt": "Sqrt", "abs": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round",
		"sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
		"atanh": "Atanh", "logical_not": "Not", "identity": "Identity",
	} {
		t[mil] = func(x *operation) { x.node(op, []string{x.in("x")}) }
	}
	for mil, op := range map[string]string{
		"add": "Add", "sub": "Sub", "mul": "Mul", "real_div": "Div", "maximum": "Max", "minimum": "Min", "pow": "Pow", "mod": "Mod",
		"equal": "Equal", "less": "Less", "greater": "Greater", "less_equal": "LessOrEqual", "greater_equal": "GreaterOrEqual",
		"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
	} {
		t[mil] = func(x *operation) { x.node(op, []string{x.in("x"), x.in("y")}) }
	}
	for mil, op := range map[string]string{
		"reduce_mean": "ReduceMean", "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd",
		"reduce_l1_norm": "ReduceL1", "reduce_l2_norm": "ReduceL2", "reduce_sum_square": "ReduceSumSquare",
		"reduce_log_sum": "ReduceLogSum", "reduce_log_sum_exp": "ReduceLogSumExp",
	} {
		t[mil] = func(x *operation) {
			a := []attribute{integer("keepdims", x.int("keep_dims", 0))}
			if x.has("axes") {
				a = append(a, integers("axes", x.ints("axes")...))
			}
			x.node(op, []string{x.in("x")}, a...)
		}
	}
	return t
}

// positive counts axes from the front.
func (x *operation) positive(axes []int64, rank int) []int64 {
	out := slices.Clone(axes)
	for i := range out {
		if out[i] < 0 {
			out[i] += int64(rank)
		}
	}
	return out
}

func (x *operation) clip(low, high float64) {
	x.node("Clip", []string{x.in("x"), x.real(low), x.real(high)})
}

func alpha(op string, missing float64) func(x *operation) {
	return func(x *operation) {
		x.node(op, []string{x.in("x")}, decimal("alpha", x.number("alpha", missing)))
	}
}

// window are the attributes of a convolution or a pool of a number of axes.
func (x *operation) window(axes int) []attribute {
	var a []attribute
	for from, to := range map[string]string{"strides": "strides", "dilations": "dilations", "kernel_sizes": "kernel_shape"} {
		if x.has(from) {
			a = append(a, integers(to, x.ints(from)...))
		}
	}
	switch kind := x.text("pad_type", "valid"); kind {
	case "valid":
	case "custom":
		p := x.ints("pad")
		if len(p) != 2*axes {
			x.err = fmt.Errorf("pads %v for %d axes", p, axes)
			return a
		}
		pads := make([]int64, 2*axes)
		for i := range axes {
			pads[i], pads[axes+i] = p[2*i], p[2*i+1]
		}
		a = append(a, integers("pads", pads...))
	case "same":
		a = append(a, textual("auto_pad", "SAME_UPPER"))
	case "same_lower":
		a = append(a, textual("auto_pad", "SAME_LOWER"))
	default:
		x.err = fmt.Errorf("padding of type %q", kind)
	}
	if x.has("groups") {
		a = append(a, integer("group", x.int("groups", 1)))
	}
	return a
}

func conv(x *operation) {
	in := []string{x.in("x"), x.in("weight")}
	if x.has("bias") {
		in = append(in, x.in("bias"))
	}
	x.node("Conv", in, x.window(x.rank(in[1])-2)...)
}

func convTranspose(x *operation) {
	in := []string{x.in("x"), x.in("weight")}
	if x.has("bias") {
		in = append(in, x.in("bias"))
	}
	a := x.window(x.rank(in[1]) - 2)
	if x.has("output_shape") {
		// The padding stands as it is; what is longer is added behind.
		want, have := x.ints("output_shape"), x.dims[in[0]]
		var extra []int64
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
				x.err = errors.New("an output_shape of other dimensions")
				return
			}
			full := (have[i+2]-1)*at(strides, i, 1) + at(dilations, i, 1)*(w[i+2]-1) + 1
			if x.text("pad_type", "valid") == "custom" {
				full -= at(pads, 2*i, 0) + at(pads, 2*i+1, 0)
			}
			extra = append(extra, want[i+2]-full)
		}
		if t := x.text("pad_type", "valid"); t == "valid" || t == "custom" {
			for _, e := range extra {
				if e < 0 {
					x.err = errors.New("an output_shape smaller than the padding gives")
				}
			}
			a = append(a, integers("output_padding", extra...))
		}
	}
	x.node("ConvTranspose", in, a...)
}

func linear(x *operation) {
	in := []string{x.in("x"), x.in("weight")}
	if x.has("bias") {
		in = append(in, x.in("bias"))
	}
	x.node("Linear", in)
}

// turned puts a matrix's axes in the other order.
func (x *operation) turned(name string) string {
	perm := make([]int64, x.rank(name))
	for i := range perm {
		perm[i] = int64(i)
	}
	if k := len(perm); k >= 2 {
		perm[k-1], perm[k-2] = perm[k-2], perm[k-1]
	}
	return x.step("Transpose", []string{name}, integers("perm", perm...))
}

func matmul(x *operation) {
	a, b := x.in("x"), x.in("y")
	if x.bool("transpose_x") {
		a = x.turned(a)
	}
	if x.bool("transpose_y") {
		b = x.turned(b)
	}
	x.node("MatMul", []string{a, b})
}

func einsum(x *operation) {
	x.node("Einsum", x.list("values"), textual("equation", x.text("equation", "")))
}

// attention is softmax(q k' / sqrt(d) + mask) v.
func attention(x *operation) {
	q, k, v := x.in("query"), x.in("key"), x.in("value")
	d := x.dims[q]
	if len(d) < 2 || d[len(d)-1] < 1 {
		x.err = errors.New("a query of unknown width")
		return
	}
	s := x.step("MatMul", []string{q, x.turned(k)})
	s = x.step("Div", []string{s, x.step("Sqrt", []string{x.real(float64(d[len(d)-1]))})})
	if x.has("attn_mask") {
		mask := x.in("attn_mask")
		if x.elems[mask] == onnx.Bool {
			mask = x.step("Where", []string{mask, x.real(0), x.real(-60000)})
		}
		s = x.step("Add", []string{s, mask})
	}
	x.node("MatMul", []string{x.step("Softmax", []string{s}, integer("axis", -1)), v})
}

func pool(x *operation) {
	op := "MaxPool"
	var a []attribute
	if x.Type == "avg_pool" {
		op = "AveragePool"
		a = append(a, integer("count_include_pad", int64(1-graph.Truth(x.bool("exclude_padding_from_average")))))
	}
	a = append(a, x.window(x.rank(x.in("x"))-2)...)
	x.node(op, []string{x.in("x")}, append(a, integer("ceil_mode", int64(graph.Truth(x.bool("ceil_mode")))))...)
}

// channels is a constant argument of one value a channel, or as many of a value.
func (x *operation) channels(key string, missing float64) string {
	if x.has(key) {
		return x.in(key)
	}
	d := x.dims[x.in("x")]
	if len(d) < 2 || d[1] < 1 || d[1] > list.MaxExtent {
		x.err = errors.New("channels of unknown number")
		return ""
	}
	if x.made += int(d[1]); x.made > maxCoefficientsOf(x) {
		x.err = fmt.Errorf("%d channels, and no values for them", d[1])
		return ""
	}
	return x.array(onnx.Float, []int64{d[1]}, slices.Repeat([]float64{missing}, int(d[1]))...)
}

func batchNorm(x *operation) {
	in := []string{x.in("x"), x.channels("gamma", 1), x.channels("beta", 0), x.in("mean"), x.in("variance")}
	x.node("BatchNormalization", in, decimal("epsilon", x.number("epsilon", 1e-5)))
}

func instanceNorm(x *operation) {
	x.node("InstanceNormalization", []string{x.in("x"), x.channels("gamma", 1), x.channels("beta", 0)}, decimal("epsilon", x.number("epsilon", 1e-5)))
}

// layerNorm takes axes at the end as they are, others there by an order of axes.
func layerNorm(x *operation) {
	in, rank := x.in("x"), x.rank(x.in("x"))
	var axes []int64
	if x.has("axes") {
		axes = x.positive(x.ints("axes"), rank)
	} else {
		for i := range rank {
			axes = append(axes, int64(i))
		}
	}
	slices.Sort(axes)
	if len(axes) == 0 || rank == 0 || axes[0] < 0 || axes[len(axes)-1] >= int64(rank) {
		x.err = fmt.Errorf("axes %v of %d dimensions", axes, rank)
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
	at := []attribute{integer("axis", first), decimal("epsilon", x.number("epsilon", 1e-5))}
	args := []string{in, "", ""}
	if x.has("gamma") {
		args[1] = x.in("gamma")
	}
	if x.has("beta") {
		args[2] = x.in("beta")
	}
	if slices.IsSorted(perm) {
		x.node("LayerNormalization", args, at...)
		return
	}
	back := make([]int64, rank)
	for i, p := range perm {
		back[p] = int64(i)
	}
	args[0] = x.step("Transpose", args[:1], integers("perm", perm...))
	x.node("Transpose", []string{x.step("LayerNormalization", args, at...)}, integers("perm", back...))
}

// l2Norm divides by the root of the sum of squares over the last three axes.
func l2Norm(x *operation) {
	in := x.in("x")
	s := x.step("ReduceSumSquare", []string{in}, integers("axes", -3, -2, -1))
	r := x.step("Rsqrt", []string{s}, decimal("epsilon", x.number("epsilon", 1e-6)))
	x.node("Mul", []string{in, r})
}

func clampedRelu(x *operation) {
	y := x.step("LeakyRelu", []string{x.in("x")}, decimal("alpha", x.number("alpha", 0)))
	x.node("Min", []string{y, x.real(x.number("beta", 6))})
}

func prelu(x *operation) {
	d := x.dims[x.in("alpha")]
	shape := []int64{-1}
	for range x.rank(x.in("x")) - 2 {
		shape = append(shape, 1)
	}
	if len(d) != 1 {
		x.err = fmt.Errorf("slopes of shape %v", d)
	}
	x.node("PRelu", []string{x.in("x"), x.step("Reshape", []string{x.in("alpha"), x.wholes(shape...)})})
}

func gelu(x *operation) {
	if x.text("mode", "EXACT") == "SIGMOID_APPROXIMATION" {
		x.node("QuickGelu", []string{x.in("x")}, decimal("alpha", 1.702))
		return
	}
	x.node("Gelu", []string{x.in("x")})
}

func linearActivation(x *operation) {
	y := x.step("Mul", []string{x.in("x"), x.real(x.number("alpha", 1))})
	x.node("Add", []string{y, x.real(x.number("beta", 0))})
}

func scaledTanh(x *operation) {
	y := x.step("Tanh", []string{x.step("Mul", []string{x.in("x"), x.real(x.number("beta", 1))})})
	x.node("Mul", []string{y, x.real(x.number("alpha", 1))})
}

// castTypes are the types that a cast names.
var castTypes = map[string]onnx.DataType{
	"fp16": onnx.Float16, "fp32": onnx.Float, "fp64": onnx.Double, "int32": onnx.Int32, "int64": onnx.Int64, "int8": onnx.Int8,
	"uint8": onnx.Uint8, "int16": onnx.Int16, "uint16": onnx.Uint16, "bool": onnx.Bool,
}

func cast(x *operation) {
	to, ok := castTypes[x.text("dtype", "")]
	if !ok {
		x.err = fmt.Errorf("a cast to %q", x.text("dtype", ""))
	}
	x.node("Cast", []string{x.in("x")}, integer("to", int64(to)))
}
