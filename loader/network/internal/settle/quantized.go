package settle

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// Quantized tensors are integers of at most 8 bits, which fp16 holds exactly. A quantized tensor is rounded
// and clamped as the file says. Its readers subtract the zero point and multiply by the scale.
// Integers of more bits are left to the host.

// A quantization holds the scale and the zero point of a tensor, or one of each for every position
// along an axis.
type quantization struct {
	scale, zero []float64
	elem        graph.Type // type of the quantized tensor
	axis        int
}

// readQuantization returns the scales and zero points in the inputs with the numbers scale and
// zero, which belong to a tensor with rank axes. A missing zero point is 0. readQuantization
// returns an error if they are not constants of equal length, or if there is one for each block of
// the tensor.
func (e *expansion) readQuantization(scale, zero, rank int) (s quantization, err error) {
	c := e.Const(scale)
	if c == nil {
		return s, errors.New("scale is missing or computed; want a constant")
	}
	if s.scale, err = c.Values(); err != nil {
		return s, err
	}
	// ONNX's type for a missing zero point.
	s.elem, s.zero = graph.Uint8, make([]float64, len(s.scale))
	if e.Given(zero) {
		z := e.Const(zero)
		if z == nil {
			return s, errors.New("zero point is computed; want a constant")
		}
		s.elem = z.Type
		if s.zero, err = z.Values(); err != nil {
			return s, err
		}
		if len(s.zero) == 1 { // it belongs to all scales
			s.zero = slices.Repeat(s.zero, len(s.scale))
		}
	}
	if len(s.zero) != len(s.scale) || len(s.scale) == 0 {
		return s, fmt.Errorf("%d scales and %d zero points; want equal numbers, at least 1", len(s.scale), len(s.zero))
	}
	if size := e.Int("block_size", 0); size != 0 {
		return s, fmt.Errorf("block_size %d is not supported; want 0", size)
	}
	axis := e.Int("axis", 1)
	s.axis = 1
	if len(s.scale) > 1 {
		s.axis, err = ops.Axis(rank, axis)
	}
	return s, err
}

// inputQuantization returns the quantization of input i. Its scale is in input i+1, and its zero
// point in input i+2.
func (e *expansion) inputQuantization(i int) (quantization, error) {
	d, err := e.Dims(i)
	if err != nil {
		return quantization{}, err
	}
	return e.readQuantization(i+1, i+2, len(d))
}

// integerRange returns the smallest and the largest integer of type t. exact reports whether t is an
// integer type of at most 8 bits, which fp16 represents exactly; for any other type, all results are
// zero.
func integerRange(t graph.Type) (low, high float64, exact bool) {
	if t.IsFloat() || t == graph.Bool || t.Bits() == 0 || t.Bits() > 8 {
		return 0, 0, false
	}
	low, high = t.Range()
	return low, high, true
}

// newAxisConstant returns a float32 constant that broadcasts to a tensor with rank axes. If all
// elements of v are equal, the constant is that single number. Otherwise it has the elements of v
// along the given axis and an extent of 1 along the other axes.
func (e *expansion) newAxisConstant(v []float64, axis, rank int) *graph.Value {
	if len(v) == 1 || !slices.ContainsFunc(v, func(x float64) bool { return x != v[0] }) {
		return e.newScalarConstant(v[0])
	}
	if axis < 0 || axis >= rank { // the broadcast reports the error
		return e.newFloatConstant([]int{len(v)}, v)
	}
	d := slices.Repeat([]int{1}, rank)
	d[axis] = len(v)
	return e.newFloatConstant(d, v)
}

// emitQuantization emits nodes that quantize x: they divide it by the scale, round it, add the zero
// point and clamp the sum to the range of the quantized type. The result is out.
func (e *expansion) emitQuantization(out, x *graph.Value, s quantization) error {
	low, high, exact := integerRange(s.elem)
	if !exact {
		return fmt.Errorf("unsupported type %v; want an integer type of at most 8 bits", s.elem)
	}
	rank := len(x.Dims)
	by := make([]float64, len(s.scale))
	for i := range by {
		if by[i] = 1 / s.scale[i]; s.scale[i] == 0 || math.IsNaN(s.scale[i]) {
			return fmt.Errorf("scale is %g; want a nonzero number", s.scale[i])
		}
	}
	steps := []step{{"Mul", nil, []*graph.Value{nil, e.newAxisConstant(by, s.axis, rank)}}, {"RoundSmall", nil, nil}}
	if slices.ContainsFunc(s.zero, func(z float64) bool { return z != 0 }) {
		steps = append(steps, step{"Add", nil, []*graph.Value{nil, e.newAxisConstant(s.zero, s.axis, rank)}})
	}
	_, err := e.emitNodeChain(out, x, append(steps, step{"Clip", attributes{"min": newFloatAttr(low), "max": newFloatAttr(high)}, nil})...)
	if err == nil {
		out.Type = s.elem
	}
	return err
}

// emitDequantization emits nodes that compute (x - zero)*scale, with the zero points and scales in
// s, and returns the result. The result is out, or a new tensor if out is nil.
func (e *expansion) emitDequantization(out, x *graph.Value, s quantization) (*graph.Value, error) {
	rank := len(x.Dims)
	steps := []step{{"Mul", nil, []*graph.Value{nil, e.newAxisConstant(s.scale, s.axis, rank)}}}
	if slices.ContainsFunc(s.zero, func(z float64) bool { return z != 0 }) {
		steps = append([]step{{"Sub", nil, []*graph.Value{nil, e.newAxisConstant(s.zero, s.axis, rank)}}}, steps...)
	}
	return e.emitNodeChain(out, e.emitFloatAlias(x), steps...)
}

func expandQuantizeLinear(e *expansion) error {
	e.Ignore("saturate", "precision") // see the rule for shapes in package ops
	s, err := e.inputQuantization(0)
	if err != nil {
		return err
	}
	if t := e.Int("output_dtype", 0); !e.Given(2) && t != 0 {
		s.elem = graph.Type(t)
	}
	return e.emitQuantization(e.outputTensor(0), e.inputTensor(0), s)
}

func expandDequantizeLinear(e *expansion) error {
	e.Accept("output_dtype", int64(graph.Float))
	s, err := e.inputQuantization(0)
	if err != nil {
		return err
	}
	if _, _, exact := integerRange(e.Type(0)); !exact && e.Const(0) == nil {
		return fmt.Errorf("unsupported type %v; want an integer type of at most 8 bits", e.Type(0))
	}
	_, err = e.emitDequantization(e.outputTensor(0), e.inputTensor(0), s)
	return err
}

// dequantizeInput emits nodes that dequantize input i, and returns the float tensor. The scale of
// the input is in input i+1, and its zero point in input i+2.
func (e *expansion) dequantizeInput(i int) (*graph.Value, error) {
	s, err := e.inputQuantization(i)
	if err != nil {
		return nil, err
	}
	if e.Const(i) != nil && len(s.scale) > 1 { // weights: one scale per output channel or matmul column
		if s.axis = 0; e.Op != "QLinearConv" && !(e.Op == "QGemm" && e.Int("transB", 0) != 0) {
			s.axis = len(e.In[i].Dims) - 1
		}
	}
	return e.emitDequantization(nil, e.inputTensor(i), s)
}

// emitQuantizedResult emits nodes that quantize x, and makes the quantized tensor the first result
// of the node. Input number scale of the node holds the scale, and input number zero the zero
// point.
func (e *expansion) emitQuantizedResult(x *graph.Value, scale, zero int) error {
	s, err := e.readQuantization(scale, zero, len(x.Dims))
	if err != nil {
		return err
	}
	return e.emitQuantization(e.outputTensor(0), x, s)
}

func expandQLinearConv(e *expansion) error {
	in, err := e.dequantizeOperands(8)
	if err != nil {
		return err
	}
	y, err := e.emitNode(nil, "Conv", e.AllAttributes(), in...)
	if err != nil {
		return err
	}
	return e.emitQuantizedResult(y, 6, 7)
}

// dequantizeOperands emits nodes that dequantize the two operands of the node, which are inputs 0
// and 3, and returns them as float tensors. If the node has an input with the number bias, a third
// tensor holds that bias multiplied by both scales. Pass -1 for an operator without a bias.
func (e *expansion) dequantizeOperands(bias int) ([]*graph.Value, error) {
	var in []*graph.Value
	for i := range 2 {
		x, err := e.dequantizeInput(3 * i)
		if err != nil {
			return nil, err
		}
		in = append(in, x)
	}
	if !e.Given(bias) {
		return in, nil
	}
	b := e.Const(bias)
	if b == nil {
		return nil, errors.New("bias is computed; want a constant")
	}
	scaled, err := e.newScaledBias(b, 1, 4)
	return append(in, scaled), err
}

// newScaledBias returns a float constant: the integer bias b multiplied by the scales of both
// operands, which are the constants in inputs x and w. Input x must hold one scale; input w holds
// one for the whole bias or one for each element of its last axis.
func (e *expansion) newScaledBias(b *graph.Const, x, w int) (*graph.Value, error) {
	v, err := b.Values()
	if err != nil {
		return nil, err
	}
	sx, err := e.Const(x).Scalar()
	if err != nil {
		return nil, err
	}
	sw, err := e.Const(w).Values()
	if err != nil {
		return nil, err
	}
	if d := b.Dims; len(sw) != 1 && (len(d) == 0 || len(sw) != d[len(d)-1]) {
		return nil, fmt.Errorf("%d scales for a bias of shape %v; want 1, or one per column", len(sw), d)
	}
	alpha := float64(e.Float("alpha", 1)) // of a QGemm, whose bias has it in its scale
	out := make([]float64, len(v))
	for i := range v {
		out[i] = v[i] * sx * sw[i%len(sw)] * alpha
	}
	return e.newFloatConstant(b.Dims, out), nil
}

func expandQGemm(e *expansion) error {
	in, err := e.dequantizeOperands(6)
	if err != nil {
		return err
	}
	var name *graph.Value
	if !e.Given(7) {
		name = e.outputTensor(0)
	}
	y, err := e.emitNode(name, "Gemm", e.AllAttributes(), in...)
	if err != nil || name.Given() {
		return err
	}
	return e.emitQuantizedResult(y, 7, 8)
}

// newQLinearBinaryExpander returns a function that rewrites a quantized operator with two operands:
// nodes dequantize both operands, apply op to them and quantize the result.
func newQLinearBinaryExpander(op string) func(e *expansion) error {
	return func(e *expansion) error {
		in, err := e.dequantizeOperands(-1)
		if err != nil {
			return err
		}
		y, err := e.emitNode(nil, op, nil, in...)
		if err != nil {
			return err
		}
		return e.emitQuantizedResult(y, 6, 7)
	}
}

// newQLinearUnaryExpander returns a function that rewrites a quantized operator with one operand:
// nodes dequantize the operand, apply op to it and quantize the result.
func newQLinearUnaryExpander(op string) func(e *expansion) error {
	return func(e *expansion) error {
		if e.Int("channels_last", 0) != 0 {
			return errors.New(`attribute "channels_last" is not supported`)
		}
		x, err := e.dequantizeInput(0)
		if err != nil {
			return err
		}
		version := e.Opset
		if op == "Softmax" {
			// The attribute is the version of the Softmax, which differs in its axes before 13.
			e.Opset = int64(e.Int("opset", int(version)))
		}
		y, err := e.emitNode(nil, op, e.attributesWithout("channels_last", "opset"), x)
		e.Opset = version
		if err != nil {
			return err
		}
		return e.emitQuantizedResult(y, 3, 4)
	}
}

// expandQLinearConcat rewrites a QLinearConcat: nodes dequantize each input with its own scale,
// concatenate the float tensors and quantize the result.
func expandQLinearConcat(e *expansion) error {
	var parts []*graph.Value
	for i := 2; i+2 < len(e.In); i += 3 {
		x, err := e.dequantizeInput(i)
		if err != nil {
			return err
		}
		parts = append(parts, x)
	}
	y, err := e.emitNode(nil, "Concat", e.AllAttributes(), parts...)
	if err != nil {
		return err
	}
	return e.emitQuantizedResult(y, 0, 1)
}

// expandDynamicQuantizeLinear rewrites a DynamicQuantizeLinear as nodes that compute the scale and
// the zero point from the smallest and the largest element, and then quantize the tensor. The range
// between these elements, extended to include zero, is divided into 255 steps.
func expandDynamicQuantizeLinear(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	all := make([]int, len(d))
	for i := range all {
		all[i] = i
	}
	reduce := attributes{"axes": newIntsAttr(all...), "keepdims": newIntAttr(0)}
	var bound [2]*graph.Value
	for i, op := range [...]string{"ReduceMax", "ReduceMin"} {
		y, err := e.emitNode(nil, op, reduce, e.inputTensor(0))
		if err == nil {
			bound[i], err = e.emitNode(nil, [...]string{"Max", "Min"}[i], nil, y, e.newScalarConstant(0))
		}
		if err != nil {
			return err
		}
	}
	// In fp16, the scale and its reciprocal have the same relative error.
	scale, zero := e.outputTensor(1), e.outputTensor(2)
	extent, err := e.emitNode(nil, "Sub", nil, bound[0], bound[1])
	if err != nil {
		return err
	}
	fraction, err := e.emitNode(nil, "Mul", nil, extent, e.newScalarConstant(1./255))
	if err != nil {
		return err
	}
	// The scale of a tensor of zeros is 1: 1 minus the sign of the range is added.
	if scale, err = e.emitNodeChain(scale, extent, step{"Sign", nil, nil}, step{"Sub", nil, []*graph.Value{e.newScalarConstant(1), nil}},
		step{"Add", nil, []*graph.Value{fraction, nil}}); err != nil {
		return err
	}
	// The scale of tiny elements is 0 in fp16, which has no inverse.
	divisor, err := e.emitNode(nil, "Max", nil, scale, e.newScalarConstant(0x1p-14))
	if err != nil {
		return err
	}
	steps, err := e.emitNode(nil, "Reciprocal", nil, divisor)
	if err != nil {
		return err
	}
	clip := attributes{"min": newFloatAttr(0), "max": newFloatAttr(255)}
	if zero, err = e.emitNodeChain(zero, bound[1], step{"Mul", nil, []*graph.Value{nil, steps}}, step{"Neg", nil, nil},
		step{"RoundSmall", nil, nil}, step{"Clip", clip, nil}); err != nil {
		return err
	}
	at := *zero // the fp16 value, before its type changes
	_, err = e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), step{"Mul", nil, []*graph.Value{nil, steps}}, step{"RoundSmall", nil, nil},
		step{"Add", nil, []*graph.Value{nil, &at}}, step{"Clip", clip, nil})
	for _, name := range [...]*graph.Value{e.outputTensor(0), e.outputTensor(2)} {
		if name.Given() {
			name.Type = graph.Uint8
		}
	}
	return err
}

// subtractZeroPoint emits a node that subtracts the zero point in input zero from the integer
// tensor in input x, and returns the difference as a float tensor. It emits no node if the zero
// point is left out or 0.
func (e *expansion) subtractZeroPoint(x, zero int) (*graph.Value, error) {
	name := e.emitFloatAlias(e.inputTensor(x))
	if !e.Given(zero) {
		return name, nil
	}
	z := e.emitFloatAlias(e.inputTensor(zero))
	if c := z.Const; c != nil && !c.Absent() {
		v, err := c.Values()
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(v, func(v float64) bool { return v != 0 }) {
			return name, nil
		}
		if rank := len(name.Dims); len(v) > 1 { // one per output channel or column
			axis := rank - 1
			if e.Op == "ConvInteger" {
				axis = 0
			}
			z = e.newAxisConstant(v, axis, rank)
		}
	} else if d := z.Dims; graph.Elements(d) != 1 {
		return nil, fmt.Errorf("zero points without known values have shape %v; want one element", d)
	}
	return e.emitNode(nil, "Sub", nil, name, z)
}

// scaleForProductSum returns the smallest power of two, at least 1, by which a sum of products of
// 8-bit integers can be divided to fit fp16. terms is the number of products.
func scaleForProductSum(terms int) float64 {
	const room = 1 << 15
	f := 1.0
	for float64(terms)*255*128 > f*room {
		f *= 2
	}
	return f
}

// emitIntegerProduct emits a node that applies op, a convolution or a matmul, to x and w, and makes
// its output the first result of the node. If a sum of the given number of terms could overflow
// fp16, w is first divided by a power of two, which the Scale of the result records.
func (e *expansion) emitIntegerProduct(op string, a attributes, x, w *graph.Value, terms int) error {
	by := scaleForProductSum(terms)
	if by > 1 {
		small, err := e.emitNode(nil, "Mul", nil, w, e.newScalarConstant(1/by))
		if err != nil {
			return err
		}
		w = small
	}
	out, err := e.emitNode(e.outputTensor(0), op, a, x, w)
	if err == nil {
		out.Type = graph.Int32
		out.Scale = by
	}
	return err
}

// emitIntegerOperands emits nodes that subtract the zero points in inputs 2 and 3 from inputs 0 and
// 1. It returns the two differences as float tensors. A missing zero point is 0.
func (e *expansion) emitIntegerOperands() (x, w *graph.Value, err error) {
	if x, err = e.subtractZeroPoint(0, 2); err == nil {
		w, err = e.subtractZeroPoint(1, 3)
	}
	return x, w, err
}

func expandConvInteger(e *expansion) error {
	x, w, err := e.emitIntegerOperands()
	if err != nil {
		return err
	}
	d := w.Dims
	if len(d) < 3 {
		return fmt.Errorf("weights have shape %v; want at least 3 axes", d)
	}
	return e.emitIntegerProduct("Conv", e.AllAttributes(), x, w, graph.Elements(d[1:]))
}

func expandMatMulInteger(e *expansion) error {
	x, w, err := e.emitIntegerOperands()
	if err != nil {
		return err
	}
	d := x.Dims
	if len(d) == 0 {
		return fmt.Errorf("first operand has shape %v; want at least 1 axis", d)
	}
	return e.emitIntegerProduct("MatMul", nil, x, w, d[len(d)-1])
}

// expandDynamicMatMul rewrites a DynamicQuantizeMatMul as nodes that quantize the first operand by
// its own range, dequantize it again, and multiply it by the dequantized weights. The round trip
// reproduces the rounding of the integer operands.
func expandDynamicMatMul(e *expansion) error {
	q, err := e.emitMultiResultNode([]*graph.Value{nil, nil, nil}, "", "DynamicQuantizeLinear", nil, e.inputTensor(0))
	if err != nil {
		return err
	}
	x, err := e.emitNode(nil, "Sub", nil, e.emitFloatAlias(q[0]), e.emitFloatAlias(q[2]))
	if err == nil {
		x, err = e.emitNode(nil, "Mul", nil, x, q[1])
	}
	if err != nil {
		return err
	}
	return e.emitScaledProduct(x, 1, 2, 3, 4)
}

// expandScaledMatMul rewrites a MatMulIntegerToFloat as nodes that dequantize both operands with
// their scales, multiply them, and add an optional bias.
func expandScaledMatMul(e *expansion) error {
	x, err := e.subtractZeroPoint(0, 4)
	if err == nil {
		x, err = e.emitNode(nil, "Mul", nil, x, e.inputTensor(2))
	}
	if err != nil {
		return err
	}
	return e.emitScaledProduct(x, 1, 3, 5, 6)
}

// emitScaledProduct emits nodes that dequantize the weights, multiply x by them and add the
// optional bias. weights, scale, zero and bias are the numbers of the inputs that hold these. The
// product becomes the first result of the node.
func (e *expansion) emitScaledProduct(x *graph.Value, weights, scale, zero, bias int) error {
	d, err := e.Dims(weights)
	if err != nil {
		return err
	}
	s, err := e.readQuantization(scale, zero, len(d))
	if err != nil {
		return err
	}
	s.axis = len(d) - 1
	w, err := e.emitDequantization(nil, e.inputTensor(weights), s)
	if err != nil {
		return err
	}
	if b := e.inputTensor(bias); b.Given() {
		_, err = e.emitNodeChain(e.outputTensor(0), x, step{"MatMul", nil, []*graph.Value{nil, w}}, step{"Add", nil, []*graph.Value{nil, b}})
		return err
	}
	_, err = e.emitNode(e.outputTensor(0), "MatMul", nil, x, w)
	return err
}
