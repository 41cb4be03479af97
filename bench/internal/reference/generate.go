package reference

import (
	"fmt"
	"math"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// generatorOperators has the operators that create tensors from shapes and attributes.
var generatorOperators = map[string]operator{
	"Constant": {0, wrapSingleResult(computeConstant)}, "ConstantOfShape": {1, wrapSingleResult(computeConstantOfShape)},
	"Range": {3, wrapSingleResult(computeRange)}, "EyeLike": {1, wrapSingleResult(computeEyeLike)},
}

func computeConstant(c *call) (*tensor.Tensor, error) {
	for name, a := range c.node.Attributes {
		switch {
		case a == nil:
		case name == "value" && a.Tensor != nil:
			return convertConstant(a.Tensor)
		case name == "value_float":
			return tensor.NewScalar(onnx.Float, float64(a.Float)), nil
		case name == "value_int":
			return tensor.NewScalar(onnx.Int64, float64(a.Int)), nil
		case name == "value_ints":
			return tensor.NewVector(c.intsAttribute(name)...), nil
		case name == "value_floats":
			t, err := tensor.New(onnx.Float, len(a.Floats))
			if err != nil {
				return nil, err
			}
			for i, v := range a.Floats {
				t.Data[i] = float64(v)
			}
			return t, nil
		}
	}
	return nil, c.newUnsupportedError("string, sparse or missing value")
}

func computeConstantOfShape(c *call) (*tensor.Tensor, error) {
	value := tensor.NewScalar(onnx.Float, 0)
	if a := c.attribute("value"); a != nil && a.Tensor != nil {
		var err error
		if value, err = convertConstant(a.Tensor); err != nil {
			return nil, err
		}
		if len(value.Data) != 1 {
			return nil, fmt.Errorf("attribute \"value\" has shape %v; want one element", value.Dims)
		}
	}
	out, err := tensor.New(value.Type, c.in[0].ToInts()...)
	if err != nil {
		return nil, err
	}
	for i := range out.Data {
		out.Data[i] = value.Data[0]
	}
	return out, nil
}

func computeRange(c *call) (*tensor.Tensor, error) {
	var v [3]float64
	for i := range v {
		if len(c.in[i].Data) != 1 {
			return nil, fmt.Errorf("input %d has shape %v; want a scalar", i, c.in[i].Dims)
		}
		v[i] = c.in[i].Data[0]
	}
	n := max(0, math.Ceil((v[1]-v[0])/v[2]))
	if !(n <= tensor.MaxElements) {
		return nil, fmt.Errorf("range from %g to %g in steps of %g is infinite or has more than %d elements", v[0], v[1], v[2], tensor.MaxElements)
	}
	out, err := tensor.New(c.in[0].Type, int(n))
	if err != nil {
		return nil, err
	}
	for i := range out.Data {
		out.Data[i] = v[0] + float64(i)*v[2]
	}
	return out, nil
}

func computeEyeLike(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	if len(x.Dims) != 2 {
		return nil, fmt.Errorf("input has shape %v; want a matrix", x.Dims)
	}
	out := x.ZerosLike()
	if to := onnx.DataType(c.intAttribute("dtype", 0)); to != 0 {
		out.Type = to
	}
	k := c.intAttribute("k", 0)
	for i := range out.Data {
		out.Data[i] = tensor.BoolToFloat(i%x.Dims[1] == i/x.Dims[1]+k)
	}
	return out, nil
}
