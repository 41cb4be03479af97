package onnxgraph

import "slices"

// defaultAxis returns the default value of the attribute axis of an operator in version opset of
// the operator set. It returns ok = false if the operator has no default axis.
func defaultAxis(op string, opset int) (axis int, ok bool) {
	switch op {
	case "ArgMax", "ArgMin", "Gather", "GatherElements", "ScatterElements", "Split":
		return 0, true
	case "Flatten", "DequantizeLinear", "QuantizeLinear":
		return 1, true
	case "LayerNormalization", "LpNormalization", "OneHot", "TopK":
		return -1, true
	case "Hardmax", "LogSoftmax", "Softmax":
		if opset < 13 {
			return 1, true
		}
		return -1, true
	}
	return 0, false
}

// IsDefault reports whether attribute a has its default value, so that a node of op
// computes the same without it.
func (a Attribute) IsDefault(op string, opset int) bool {
	switch a.Kind {
	case IntKind:
		return isDefaultIntAttribute(op, a, opset)
	case IntsKind:
		return isDefaultListAttribute(op, a)
	case FloatKind:
		want, ok := map[string]float32{
			"BatchNormalization.epsilon": 1e-5, "Celu.alpha": 1, "Elu.alpha": 1, "Gemm.alpha": 1, "Gemm.beta": 1, "HardSigmoid.alpha": 0.2,
			"HardSigmoid.beta": 0.5, "InstanceNormalization.epsilon": 1e-5, "LayerNormalization.epsilon": 1e-5, "LeakyRelu.alpha": 0.01,
			"Resize.cubic_coeff_a": -0.75, "ThresholdedRelu.alpha": 1,
		}[op+"."+a.Name]
		return ok && a.Float == want
	case TextKind:
		want, ok := map[string]string{
			"DepthToSpace.mode": "DCR", "GRU.direction": "forward", "Gelu.approximate": "none", "GridSample.padding_mode": "zeros",
			"LSTM.direction": "forward", "Pad.mode": "constant", "RNN.direction": "forward",
			"Resize.coordinate_transformation_mode": "half_pixel", "Resize.mode": "nearest", "Resize.nearest_mode": "round_prefer_floor",
		}[op+"."+a.Name]
		return ok && a.Text == want || a.Name == "auto_pad" && a.Text == "NOTSET" || op == "GridSample" && a.Name == "mode" && a.Text != "cubic"
	}
	return false
}

// isDefaultIntAttribute is IsDefault for attributes that are integers.
func isDefaultIntAttribute(op string, a Attribute, opset int) bool {
	switch a.Name {
	case "axis":
		axis, ok := defaultAxis(op, opset)
		return ok && a.Int == axis
	case "group", "keepdims", "largest", "upper":
		return a.Int == 1
	case "align_corners", "batch_dims", "ceil_mode", "count_include_pad", "exclusive", "fmod", "linear_before_reset", "reverse", "transA", "transB":
		return a.Int == 0
	case "p":
		return a.Int == 2
	}
	return false
}

// isDefaultListAttribute is IsDefault for attributes that are lists of integers.
func isDefaultListAttribute(op string, a Attribute) bool {
	isFilledWith := func(value int) bool {
		return !slices.ContainsFunc(a.Ints, func(v int) bool { return v != value })
	}
	switch a.Name {
	case "kernel_shape":
		return op == "Conv" || op == "ConvTranspose" // the weights have it
	case "dilations", "strides":
		return isFilledWith(1)
	case "output_padding", "pads":
		return op != "Pad" && isFilledWith(0)
	case "perm":
		for i, p := range a.Ints {
			if p != len(a.Ints)-1-i {
				return false
			}
		}
		return true
	}
	return false
}
