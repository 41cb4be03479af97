package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// quantizedOperators has the operators on integers with a scale and a zero point.
var quantizedOperators = map[string]operator{
	"QuantizeLinear": {2, wrapSingleResult(computeQuantizeLinear)}, "DequantizeLinear": {2, wrapSingleResult(computeDequantizeLinear)},
	"DynamicQuantizeLinear": {1, computeDynamicQuantizeLinear},
	"MatMulInteger":         {2, wrapSingleResult(computeMatMulInteger)}, "ConvInteger": {2, wrapSingleResult(computeConvInteger)},
	"MatMulIntegerToFloat": {4, wrapSingleResult(computeMatMulIntegerToFloat)}, "DynamicQuantizeMatMul": {3, wrapSingleResult(computeDynamicQuantizeMatMul)},
	"QLinearConv": {1, wrapSingleResult(computeQLinearConv)}, "QLinearMatMul": {1, wrapSingleResult(computeQLinearMatMul)}, "QGemm": {1, wrapSingleResult(computeQGemm)},
	"QLinearAdd": {1, wrapSingleResult(newQuantizedBinaryOperator("Add"))}, "QLinearMul": {1, wrapSingleResult(newQuantizedBinaryOperator("Mul"))},
	"QLinearConcat":  {1, wrapSingleResult(computeQLinearConcat)},
	"QLinearSigmoid": {1, wrapSingleResult(newQuantizedUnaryOperator("Sigmoid"))}, "QLinearLeakyRelu": {1, wrapSingleResult(newQuantizedUnaryOperator("LeakyRelu"))},
	"QLinearSoftmax":           {1, wrapSingleResult(newQuantizedUnaryOperator("Softmax"))},
	"QLinearGlobalAveragePool": {1, wrapSingleResult(newQuantizedUnaryOperator("GlobalAveragePool"))},
	"QLinearAveragePool":       {1, wrapSingleResult(newQuantizedUnaryOperator("AveragePool"))},
	"QLinearReduceMean":        {1, wrapSingleResult(newQuantizedUnaryOperator("ReduceMean"))},
}

// runOperator computes the operator named op on the inputs in with the given attributes, as part of
// the node of c. It returns the first result.
func (c *call) runOperator(op string, attributes map[string]*onnx.Attribute, in ...*tensor.Tensor) (*tensor.Tensor, error) {
	results, err := c.runOperatorForAllResults(op, attributes, in...)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// runOperatorForAllResults is like runOperator, but returns all results of the operator.
func (c *call) runOperatorForAllResults(op string, attributes map[string]*onnx.Attribute, in ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	node := &onnx.Node{Name: c.node.Name, Op: op, Outputs: c.node.Outputs, Attributes: attributes}
	inner := &call{interpreter: c.interpreter, node: node, in: in, scope: c.scope}
	o, ok := operators[op]
	if !ok {
		return nil, c.newUnsupportedError(op)
	}
	for i := range o.inputs {
		if inner.inputTensor(i) == nil {
			return nil, fmt.Errorf("missing input %d of %s", i, op)
		}
	}
	return o.compute(inner)
}

// broadcastParameter reshapes p, a scale or zero point of the tensor x, so that it broadcasts to x.
// It accepts a p with a single element or with one element for each index of the given axis. If
// block is positive and p has the rank of x, p may also have one element for every block
// consecutive indices of the axis.
func broadcastParameter(p, x *tensor.Tensor, axis, block int) (*tensor.Tensor, error) {
	if len(p.Data) == 1 {
		return tensor.NewScalar(p.Type, p.Data[0]), nil
	}
	axis, err := tensor.ResolveAxis(axis, len(x.Dims))
	if err != nil {
		return nil, err
	}
	if block > 0 && len(p.Dims) == len(x.Dims) {
		if p.Dims[axis] == 0 || p.Dims[axis] != (x.Dims[axis]+block-1)/block {
			return nil, fmt.Errorf("scales or zero points have shape %v; want one per %d elements on axis %d of input shape %v", p.Dims, block, axis, x.Dims)
		}
		places := make([]int, x.Dims[axis])
		for i := range places {
			places[i] = i / block
		}
		return p.SelectSlices(axis, places)
	}
	if len(p.Data) != x.Dims[axis] {
		return nil, fmt.Errorf("scales or zero points have shape %v; want 1 or %d elements for axis %d", p.Dims, x.Dims[axis], axis)
	}
	dims := slices.Repeat([]int{1}, len(x.Dims))
	dims[axis] = len(p.Data)
	return p.Reshape(dims...)
}

// A scaling has the scale and the zero point that relate quantized integers q to numbers: (q -
// zero) * scale. Both broadcast to the tensor.
type scaling struct{ scale, zero *tensor.Tensor }

// newScaling returns the scaling of x, with the scale and the zero point broadcast as
// [broadcastParameter] describes. If zero is nil, the zero point is 0 of type uint8.
func newScaling(x, scale, zero *tensor.Tensor, axis, block int) (s scaling, err error) {
	if zero == nil {
		zero = scale.ZerosLike().WithType(onnx.Uint8)
	}
	if s.scale, err = broadcastParameter(scale, x, axis, block); err == nil {
		s.zero, err = broadcastParameter(zero, x, axis, block)
	}
	return s, err
}

// quantize returns x/scale + zero. It rounds each quotient with nearest or, if that is nil, to the
// nearest integer, ties to even. It clamps each sum to the range of the zero point's type.
func (s scaling) quantize(x *tensor.Tensor, nearest func(float64) float64) (*tensor.Tensor, error) {
	if nearest == nil {
		nearest = math.RoundToEven
	}
	to := s.zero.Type
	if to.IsFloat() || to.Width() == 0 {
		return nil, &UnsupportedError{Op: "QuantizeLinear", Form: "output of type " + to.String()}
	}
	low, high := tensor.IntegerRange(to)
	y, err := tensor.Combine(x.Type, x, s.scale, func(v, scale float64) float64 { return nearest(v / scale) })
	if err != nil {
		return nil, err
	}
	return tensor.Combine(to, y, s.zero, func(v, zero float64) float64 { return min(max(v+zero, low), high) })
}

// dequantize returns (x - zero) * scale.
func (s scaling) dequantize(x *tensor.Tensor) (*tensor.Tensor, error) {
	y, err := tensor.Combine(s.scale.Type, x, s.zero, func(v, zero float64) float64 { return v - zero })
	if err != nil {
		return nil, err
	}
	return tensor.Combine(s.scale.Type, y, s.scale, func(v, scale float64) float64 { return v * scale })
}

func computeQuantizeLinear(c *call) (*tensor.Tensor, error) {
	zero := c.inputTensor(2)
	if t := onnx.DataType(c.intAttribute("output_dtype", 0)); zero == nil && t != 0 {
		zero = c.in[1].ZerosLike().WithType(t)
	}
	s, err := newScaling(c.in[0], c.in[1], zero, c.intAttribute("axis", 1), c.intAttribute("block_size", 0))
	if err != nil {
		return nil, err
	}
	return s.quantize(c.in[0], c.Nearest)
}

func computeDequantizeLinear(c *call) (*tensor.Tensor, error) {
	s, err := newScaling(c.in[0], c.in[1], c.inputTensor(2), c.intAttribute("axis", 1), c.intAttribute("block_size", 0))
	if err != nil {
		return nil, err
	}
	return s.dequantize(c.in[0])
}

// newDynamicScaling returns a scaling that maps the range of the elements of x, extended to include
// 0, to the range of uint8.
func newDynamicScaling(x *tensor.Tensor) scaling {
	low, high := min(0, minOfElements(x.Data)), max(0, maxOfElements(x.Data))
	scale := (high - low) / 255
	zero := 0.0
	if scale != 0 {
		zero = min(max(math.RoundToEven(-low/scale), 0), 255)
	} else {
		scale = 1 // onnxruntime uses 1 for a tensor of zeros
	}
	return scaling{tensor.NewScalar(x.Type, scale), tensor.NewScalar(onnx.Uint8, zero)}
}

func computeDynamicQuantizeLinear(c *call) ([]*tensor.Tensor, error) {
	s := newDynamicScaling(c.in[0])
	y, err := s.quantize(c.in[0], c.Nearest)
	return []*tensor.Tensor{y, s.scale, s.zero}, err
}

// subtractZeroPoint returns x minus its zero point as an int32 tensor. The zero point has a single
// element or one for each index of axis; nil means 0, in which case x is returned.
func subtractZeroPoint(x, zero *tensor.Tensor, axis int) (*tensor.Tensor, error) {
	if zero == nil {
		return x.WithType(onnx.Int32), nil
	}
	if len(zero.Data) > 1 && len(zero.Dims) != len(x.Dims) {
		var err error
		if zero, err = broadcastParameter(zero, x, axis, 0); err != nil {
			return nil, err
		}
	} else if len(zero.Data) == 1 {
		zero = tensor.NewScalar(zero.Type, zero.Data[0])
	}
	return tensor.Combine(onnx.Int32, x, zero, func(v, z float64) float64 { return v - z })
}

// subtractZeroPoints returns the first two inputs minus their zero points. The zero point of input
// i is input zeros[i], and may have several elements along axis axes[i].
func (c *call) subtractZeroPoints(axes [2]int, zeros [2]int) (a, b *tensor.Tensor, err error) {
	if a, err = subtractZeroPoint(c.in[0], c.inputTensor(zeros[0]), axes[0]); err != nil {
		return nil, nil, err
	}
	b, err = subtractZeroPoint(c.in[1], c.inputTensor(zeros[1]), axes[1])
	return a, b, err
}

func computeMatMulInteger(c *call) (*tensor.Tensor, error) {
	a, b, err := c.subtractZeroPoints([2]int{-2, -1}, [2]int{2, 3})
	if err != nil {
		return nil, err
	}
	return multiplyMatrices(a, b)
}

func computeConvInteger(c *call) (*tensor.Tensor, error) {
	x, w, err := c.subtractZeroPoints([2]int{1, 0}, [2]int{2, 3})
	if err != nil {
		return nil, err
	}
	return c.convolve(x, w, nil)
}

// computeMatMulIntegerToFloat computes the operator MatMulIntegerToFloat. Its inputs are the
// matrices a and b, their scales, their zero points and a bias.
func computeMatMulIntegerToFloat(c *call) (*tensor.Tensor, error) {
	a, b, err := c.subtractZeroPoints([2]int{-2, -1}, [2]int{4, 5})
	if err != nil {
		return nil, err
	}
	return multiplyAndScale(a, b, c.in[2], c.in[3], c.inputTensor(6))
}

// multiplyAndScale returns the matrix product of the integers a and b, multiplied by scaleA and
// scaleB, plus the bias unless it is nil.
func multiplyAndScale(a, b, scaleA, scaleB, bias *tensor.Tensor) (*tensor.Tensor, error) {
	y, err := multiplyMatrices(a, b)
	if err != nil {
		return nil, err
	}
	y = y.WithType(scaleA.Type)
	for _, s := range []*tensor.Tensor{scaleA, scaleB} {
		if y, err = tensor.Combine(y.Type, y, s, func(v, s float64) float64 { return v * s }); err != nil {
			return nil, err
		}
	}
	if bias == nil {
		return y, nil
	}
	return tensor.Add(y, bias)
}

// computeDynamicQuantizeMatMul computes the operator DynamicQuantizeMatMul. Its inputs are the
// matrices a and b, the scale and zero point of b, and a bias.
func computeDynamicQuantizeMatMul(c *call) (*tensor.Tensor, error) {
	s := newDynamicScaling(c.in[0])
	a, err := s.quantize(c.in[0], c.Nearest)
	if err != nil {
		return nil, err
	}
	if a, err = subtractZeroPoint(a, s.zero, -2); err != nil {
		return nil, err
	}
	b, err := subtractZeroPoint(c.in[1], c.inputTensor(3), -1)
	if err != nil {
		return nil, err
	}
	return multiplyAndScale(a, b, s.scale, c.in[2], c.inputTensor(4))
}

// dequantizeInput returns the quantized input i as floats. Its scale is input i+1 and its zero
// point input i+2; both have a single element or one for each index of axis.
func (c *call) dequantizeInput(i, axis int) (*tensor.Tensor, error) {
	if c.inputTensor(i) == nil || c.inputTensor(i+1) == nil {
		return nil, fmt.Errorf("missing input %d or %d; want a tensor and its scale", i, i+1)
	}
	s, err := newScaling(c.in[i], c.in[i+1], c.inputTensor(i+2), axis, 0)
	if err != nil {
		return nil, err
	}
	return s.dequantize(c.in[i])
}

// requantizeResult returns y quantized with the scale in input i and the zero point in input i+1.
func (c *call) requantizeResult(y *tensor.Tensor, i int) (*tensor.Tensor, error) {
	if c.inputTensor(i) == nil {
		return nil, fmt.Errorf("missing input %d, the scale of the output", i)
	}
	s, err := newScaling(y, c.in[i], c.inputTensor(i+1), 1, 0)
	if err != nil {
		return nil, err
	}
	return s.quantize(y, c.Nearest)
}

func computeQLinearConv(c *call) (*tensor.Tensor, error) {
	x, err := c.dequantizeInput(0, 1)
	if err != nil {
		return nil, err
	}
	w, err := c.dequantizeInput(3, 0)
	if err != nil {
		return nil, err
	}
	bias, err := c.dequantizeBias(8)
	if err != nil {
		return nil, err
	}
	y, err := c.convolve(x, w, bias)
	if err != nil {
		return nil, err
	}
	return c.requantizeResult(y, 6)
}

// dequantizeBias returns the integer bias in input i multiplied by the scales in inputs 1 and 4, or
// nil if the node has no such input.
func (c *call) dequantizeBias(i int) (*tensor.Tensor, error) {
	bias := c.inputTensor(i)
	for _, k := range [...]int{1, 4} {
		if bias == nil {
			break
		}
		var err error
		if bias, err = tensor.Combine(c.in[k].Type, bias, c.in[k], func(v, s float64) float64 { return v * s }); err != nil {
			return nil, err
		}
	}
	return bias, nil
}

func computeQLinearMatMul(c *call) (*tensor.Tensor, error) {
	a, err := c.dequantizeInput(0, -2)
	if err != nil {
		return nil, err
	}
	b, err := c.dequantizeInput(3, -1)
	if err != nil {
		return nil, err
	}
	y, err := multiplyMatrices(a, b)
	if err != nil {
		return nil, err
	}
	return c.requantizeResult(y, 6)
}

// computeQGemm computes QGemm, a Gemm of quantized matrices. The result is quantized if the node
// has a scale for it (input 7), and float otherwise.
func computeQGemm(c *call) (*tensor.Tensor, error) {
	a, err := c.dequantizeInput(0, -1)
	if err != nil {
		return nil, err
	}
	// There may be a scale for each column of the product, which is a column of b, or a row if b is
	// transposed.
	axis := -1
	if c.flagAttribute("transB") {
		axis = 0
	}
	b, err := c.dequantizeInput(3, axis)
	if err != nil {
		return nil, err
	}
	bias, err := c.dequantizeBias(6)
	if err != nil {
		return nil, err
	}
	attributes := map[string]*onnx.Attribute{}
	for name, x := range c.node.Attributes {
		attributes[name] = x
	}
	y, err := c.runOperator("Gemm", attributes, a, b)
	if err == nil && bias != nil { // its scale has the factor alpha, like that of the product
		alpha := c.floatAttribute("alpha", 1)
		y, err = tensor.Add(y, bias.MapElements(func(v float64) float64 { return alpha * v }))
	}
	if err != nil || c.inputTensor(7) == nil {
		return y, err
	}
	return c.requantizeResult(y, 7)
}

// newQuantizedBinaryOperator returns an operator that dequantizes its two inputs, applies the
// operator named op, and quantizes the result.
func newQuantizedBinaryOperator(op string) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		a, err := c.dequantizeInput(0, 1)
		if err != nil {
			return nil, err
		}
		b, err := c.dequantizeInput(3, 1)
		if err != nil {
			return nil, err
		}
		y, err := c.runOperator(op, nil, a, b)
		if err != nil {
			return nil, err
		}
		return c.requantizeResult(y, 6)
	}
}

// newQuantizedUnaryOperator returns an operator that dequantizes its input, applies the operator
// named op, and quantizes the result.
func newQuantizedUnaryOperator(op string) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		x, err := c.dequantizeInput(0, 1)
		if err != nil {
			return nil, err
		}
		last := c.flagAttribute("channels_last") && len(x.Dims) > 2
		if last {
			if x, err = x.Transpose(permutationToChannelsFirst(len(x.Dims))...); err != nil {
				return nil, err
			}
		}
		inner := *c
		if op == "Softmax" { // of the operator set that an attribute names: before 13, it flattens axes
			set := *c.interpreter
			set.opset = int64(c.intAttribute("opset", int(set.opset)))
			inner.interpreter = &set
		}
		y, err := inner.runOperator(op, c.node.Attributes, x)
		if err == nil && last {
			y, err = y.Transpose(tensor.InvertPermutation(permutationToChannelsFirst(len(y.Dims)))...)
		}
		if err != nil {
			return nil, err
		}
		return c.requantizeResult(y, 3)
	}
}

// permutationToChannelsFirst returns the permutation of rank axes that moves the last axis to the
// second position.
func permutationToChannelsFirst(rank int) []int {
	perm := []int{0, rank - 1}
	for i := 1; i < rank-1; i++ {
		perm = append(perm, i)
	}
	return perm
}

// computeQLinearConcat computes QLinearConcat. Inputs 0 and 1 are the scale and the zero point of
// the result. The other inputs come in threes: a tensor, its scale and its zero point.
func computeQLinearConcat(c *call) (*tensor.Tensor, error) {
	var parts []*tensor.Tensor
	for i := 2; i < len(c.in); i += 3 {
		x, err := c.dequantizeInput(i, 1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, x)
	}
	y, err := c.runOperator("Concat", c.node.Attributes, parts...)
	if err != nil {
		return nil, err
	}
	return c.requantizeResult(y, 0)
}
