package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/onnx"
)

// quantised has the operators of integers with a scale and a zero point.
var quantised = map[string]operator{
	"QuantizeLinear": {2, single(quantizeLinear)}, "DequantizeLinear": {2, single(dequantizeLinear)},
	"DynamicQuantizeLinear": {1, dynamicQuantizeLinear},
	"MatMulInteger":         {2, single(matMulInteger)}, "ConvInteger": {2, single(convInteger)},
	"MatMulIntegerToFloat": {4, single(matMulIntegerToFloat)}, "DynamicQuantizeMatMul": {3, single(dynamicQuantizeMatMul)},
	"QLinearConv": {1, single(qLinearConv)}, "QLinearMatMul": {1, single(qLinearMatMul)}, "QGemm": {1, single(qGemm)},
	"QLinearAdd": {1, single(qLinearPair("Add"))}, "QLinearMul": {1, single(qLinearPair("Mul"))},
	"QLinearConcat":  {1, single(qLinearConcat)},
	"QLinearSigmoid": {1, single(qLinearUnary("Sigmoid"))}, "QLinearLeakyRelu": {1, single(qLinearUnary("LeakyRelu"))},
	"QLinearSoftmax":           {1, single(qLinearUnary("Softmax"))},
	"QLinearGlobalAveragePool": {1, single(qLinearUnary("GlobalAveragePool"))},
	"QLinearAveragePool":       {1, single(qLinearUnary("AveragePool"))},
	"QLinearReduceMean":        {1, single(qLinearUnary("ReduceMean"))},
}

// compose computes another operator on tensors, with attributes of its own.
func (c *call) compose(op string, attributes map[string]*onnx.Attribute, in ...*Tensor) (*Tensor, error) {
	results, err := c.composeAll(op, attributes, in...)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

func (c *call) composeAll(op string, attributes map[string]*onnx.Attribute, in ...*Tensor) ([]*Tensor, error) {
	node := &onnx.Node{Name: c.node.Name, Op: op, Outputs: c.node.Outputs, Attributes: attributes}
	inner := &call{interpreter: c.interpreter, node: node, in: in, scope: c.scope}
	o, ok := operators[op]
	if !ok {
		return nil, c.unsupported(op)
	}
	for i := range o.inputs {
		if inner.input(i) == nil {
			return nil, fmt.Errorf("input %d of %s is missing", i, op)
		}
	}
	return o.compute(inner)
}

// spread returns a scale or zero point with the rank of x: one number, one for each
// element of an axis, or one for each block of an axis if it has x's rank already.
func spread(p, x *Tensor, axis, block int) (*Tensor, error) {
	if len(p.Data) == 1 {
		return scalar(p.Type, p.Data[0]), nil
	}
	axis, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return nil, err
	}
	if block > 0 && len(p.Dims) == len(x.Dims) {
		if p.Dims[axis] == 0 || p.Dims[axis] != (x.Dims[axis]+block-1)/block {
			return nil, fmt.Errorf("scales of shape %v in blocks of %d for shape %v", p.Dims, block, x.Dims)
		}
		places := make([]int, x.Dims[axis])
		for i := range places {
			places[i] = i / block
		}
		return p.pick(axis, places)
	}
	if len(p.Data) != x.Dims[axis] {
		return nil, fmt.Errorf("%d scales for axis %d of %v", len(p.Data), axis, x.Dims)
	}
	dims := slices.Repeat([]int{1}, len(x.Dims))
	dims[axis] = len(p.Data)
	return p.reshape(dims...)
}

// pick returns elements of an axis, which the caller ensures are there.
func (t *Tensor) pick(axis int, places []int) (*Tensor, error) {
	if len(places) == 0 {
		return t.cut(axis, 0, 0)
	}
	var parts []*Tensor
	for _, k := range places {
		part, err := t.cut(axis, k, k+1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return concatenate(parts, axis)
}

// A scaling is a scale and a zero point, both broadcast to a tensor.
type scaling struct{ scale, zero *Tensor }

// scalingOf returns the scaling of x. A nil zero point is 0 of type uint8.
func scalingOf(x, scale, zero *Tensor, axis, block int) (s scaling, err error) {
	if zero == nil {
		zero = scale.like().as(onnx.Uint8)
	}
	if s.scale, err = spread(scale, x, axis, block); err == nil {
		s.zero, err = spread(zero, x, axis, block)
	}
	return s, err
}

// quantize returns x/scale + zero, rounded to even and clamped to the zero point's type.
func (s scaling) quantize(x *Tensor) (*Tensor, error) {
	to := s.zero.Type
	if to.IsFloat() || to.Width() == 0 {
		return nil, &UnsupportedError{Op: "QuantizeLinear", Form: "to " + to.String()}
	}
	low, high := integerRange(to)
	y, err := combine(x.Type, x, s.scale, func(v, scale float64) float64 { return math.RoundToEven(v / scale) })
	if err != nil {
		return nil, err
	}
	return combine(to, y, s.zero, func(v, zero float64) float64 { return min(max(v+zero, low), high) })
}

// dequantize returns (x - zero) * scale.
func (s scaling) dequantize(x *Tensor) (*Tensor, error) {
	y, err := combine(s.scale.Type, x, s.zero, func(v, zero float64) float64 { return v - zero })
	if err != nil {
		return nil, err
	}
	return combine(s.scale.Type, y, s.scale, func(v, scale float64) float64 { return v * scale })
}

func quantizeLinear(c *call) (*Tensor, error) {
	zero := c.input(2)
	if t := onnx.DataType(c.int("output_dtype", 0)); zero == nil && t != 0 {
		zero = c.in[1].like().as(t)
	}
	s, err := scalingOf(c.in[0], c.in[1], zero, c.int("axis", 1), c.int("block_size", 0))
	if err != nil {
		return nil, err
	}
	return s.quantize(c.in[0])
}

func dequantizeLinear(c *call) (*Tensor, error) {
	s, err := scalingOf(c.in[0], c.in[1], c.input(2), c.int("axis", 1), c.int("block_size", 0))
	if err != nil {
		return nil, err
	}
	return s.dequantize(c.in[0])
}

// dynamicScaling returns the scaling to uint8 of the range of x with 0.
func dynamicScaling(x *Tensor) scaling {
	low, high := min(0, least(x.Data)), max(0, greatest(x.Data))
	scale := (high - low) / 255
	zero := 0.0
	if scale != 0 {
		zero = min(max(math.RoundToEven(-low/scale), 0), 255)
	} else {
		scale = 1 // of a tensor of zeros, as onnxruntime has it
	}
	return scaling{scalar(x.Type, scale), scalar(onnx.Uint8, zero)}
}

func dynamicQuantizeLinear(c *call) ([]*Tensor, error) {
	s := dynamicScaling(c.in[0])
	y, err := s.quantize(c.in[0])
	return []*Tensor{y, s.scale, s.zero}, err
}

// lessZero returns x less a zero point: a number, or one for each element of an axis. The
// zero point may be nil.
func lessZero(x, zero *Tensor, axis int) (*Tensor, error) {
	if zero == nil {
		return x.as(onnx.Int32), nil
	}
	if len(zero.Data) > 1 && len(zero.Dims) != len(x.Dims) {
		var err error
		if zero, err = spread(zero, x, axis, 0); err != nil {
			return nil, err
		}
	} else if len(zero.Data) == 1 {
		zero = scalar(zero.Type, zero.Data[0])
	}
	return combine(onnx.Int32, x, zero, func(v, z float64) float64 { return v - z })
}

// integers returns the first two inputs less their zero points, in the third and fourth,
// with the axes that these may count.
func (c *call) integers(axes [2]int, zeros [2]int) (a, b *Tensor, err error) {
	if a, err = lessZero(c.in[0], c.input(zeros[0]), axes[0]); err != nil {
		return nil, nil, err
	}
	b, err = lessZero(c.in[1], c.input(zeros[1]), axes[1])
	return a, b, err
}

func matMulInteger(c *call) (*Tensor, error) {
	a, b, err := c.integers([2]int{-2, -1}, [2]int{2, 3})
	if err != nil {
		return nil, err
	}
	return multiplyMatrices(a, b)
}

func convInteger(c *call) (*Tensor, error) {
	x, w, err := c.integers([2]int{1, 0}, [2]int{2, 3})
	if err != nil {
		return nil, err
	}
	return c.convolve(x, w, nil)
}

// matMulIntegerToFloat has inputs a, b, their scales, their zero points and a bias.
func matMulIntegerToFloat(c *call) (*Tensor, error) {
	a, b, err := c.integers([2]int{-2, -1}, [2]int{4, 5})
	if err != nil {
		return nil, err
	}
	return c.scaledProduct(a, b, c.in[2], c.in[3], c.input(6))
}

// scaledProduct multiplies matrices of integers, and the result by both scales.
func (c *call) scaledProduct(a, b, scaleA, scaleB, bias *Tensor) (*Tensor, error) {
	y, err := multiplyMatrices(a, b)
	if err != nil {
		return nil, err
	}
	y = y.as(scaleA.Type)
	for _, s := range []*Tensor{scaleA, scaleB} {
		if y, err = combine(y.Type, y, s, func(v, s float64) float64 { return v * s }); err != nil {
			return nil, err
		}
	}
	if bias == nil {
		return y, nil
	}
	return add(y, bias)
}

// dynamicQuantizeMatMul has inputs a, b, and b's scale, zero point and a bias.
func dynamicQuantizeMatMul(c *call) (*Tensor, error) {
	s := dynamicScaling(c.in[0])
	a, err := s.quantize(c.in[0])
	if err != nil {
		return nil, err
	}
	if a, err = lessZero(a, s.zero, -2); err != nil {
		return nil, err
	}
	b, err := lessZero(c.in[1], c.input(3), -1)
	if err != nil {
		return nil, err
	}
	return c.scaledProduct(a, b, s.scale, c.in[2], c.input(4))
}

// real returns the quantised input i, whose scale and zero point follow it, as floats. Axis
// is the one that they may count.
func (c *call) real(i, axis int) (*Tensor, error) {
	if c.input(i) == nil || c.input(i+1) == nil {
		return nil, fmt.Errorf("input %d or its scale is missing", i)
	}
	s, err := scalingOf(c.in[i], c.in[i+1], c.input(i+2), axis, 0)
	if err != nil {
		return nil, err
	}
	return s.dequantize(c.in[i])
}

// requantize quantises a result with the scale in input i and the zero point after it.
func (c *call) requantize(y *Tensor, i int) (*Tensor, error) {
	if c.input(i) == nil {
		return nil, fmt.Errorf("the result's scale, input %d, is missing", i)
	}
	s, err := scalingOf(y, c.in[i], c.input(i+1), 1, 0)
	if err != nil {
		return nil, err
	}
	return s.quantize(y)
}

func qLinearConv(c *call) (*Tensor, error) {
	x, err := c.real(0, 1)
	if err != nil {
		return nil, err
	}
	w, err := c.real(3, 0)
	if err != nil {
		return nil, err
	}
	bias, err := c.scaleBias(8)
	if err != nil {
		return nil, err
	}
	y, err := c.convolve(x, w, bias)
	if err != nil {
		return nil, err
	}
	return c.requantize(y, 6)
}

// scaleBias returns a bias of integers, in input i, times the scales in inputs 1 and 4.
func (c *call) scaleBias(i int) (*Tensor, error) {
	bias := c.input(i)
	for _, k := range [...]int{1, 4} {
		if bias == nil {
			break
		}
		var err error
		if bias, err = combine(c.in[k].Type, bias, c.in[k], func(v, s float64) float64 { return v * s }); err != nil {
			return nil, err
		}
	}
	return bias, nil
}

func qLinearMatMul(c *call) (*Tensor, error) {
	a, err := c.real(0, -2)
	if err != nil {
		return nil, err
	}
	b, err := c.real(3, -1)
	if err != nil {
		return nil, err
	}
	y, err := multiplyMatrices(a, b)
	if err != nil {
		return nil, err
	}
	return c.requantize(y, 6)
}

// qGemm has floats as its result if it has no scale for it.
func qGemm(c *call) (*Tensor, error) {
	a, err := c.real(0, -1)
	if err != nil {
		return nil, err
	}
	axis := -1
	if c.flag("transB") {
		axis = 0
	}
	b, err := c.real(3, axis)
	if err != nil {
		return nil, err
	}
	bias, err := c.scaleBias(6)
	if err != nil {
		return nil, err
	}
	attributes := map[string]*onnx.Attribute{}
	for name, x := range c.node.Attributes {
		attributes[name] = x
	}
	y, err := c.compose("Gemm", attributes, a, b)
	if err == nil && bias != nil {
		y, err = add(y, bias)
	}
	if err != nil || c.input(7) == nil {
		return y, err
	}
	return c.requantize(y, 7)
}

// qLinearPair returns an operator of two quantised tensors.
func qLinearPair(op string) func(*call) (*Tensor, error) {
	return func(c *call) (*Tensor, error) {
		a, err := c.real(0, 1)
		if err != nil {
			return nil, err
		}
		b, err := c.real(3, 1)
		if err != nil {
			return nil, err
		}
		y, err := c.compose(op, nil, a, b)
		if err != nil {
			return nil, err
		}
		return c.requantize(y, 6)
	}
}

// qLinearUnary returns an operator of one quantised tensor.
func qLinearUnary(op string) func(*call) (*Tensor, error) {
	return func(c *call) (*Tensor, error) {
		x, err := c.real(0, 1)
		if err != nil {
			return nil, err
		}
		last := c.flag("channels_last") && len(x.Dims) > 2
		if last {
			if x, err = x.transpose(channelsFirst(len(x.Dims))...); err != nil {
				return nil, err
			}
		}
		y, err := c.compose(op, c.node.Attributes, x)
		if err == nil && last {
			y, err = y.transpose(invert(channelsFirst(len(y.Dims)))...)
		}
		if err != nil {
			return nil, err
		}
		return c.requantize(y, 3)
	}
}

// channelsFirst returns the permutation that moves the last axis to the second place.
func channelsFirst(rank int) []int {
	perm := []int{0, rank - 1}
	for i := 1; i < rank-1; i++ {
		perm = append(perm, i)
	}
	return perm
}

// qLinearConcat has the result's scale and zero point first, and three inputs a tensor.
func qLinearConcat(c *call) (*Tensor, error) {
	var parts []*Tensor
	for i := 2; i < len(c.in); i += 3 {
		x, err := c.real(i, 1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, x)
	}
	y, err := c.compose("Concat", c.node.Attributes, parts...)
	if err != nil {
		return nil, err
	}
	return c.requantize(y, 0)
}
