package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// expandQuant rewrites QONNX's Quant, which rounds a float tensor to multiples of a scale within a
// number of bits, as the nodes of a quantization and a dequantization.
func expandQuant(e *expansion) error {
	if !ops.IsQONNX(e.Domain) {
		return fmt.Errorf("operator Quant of domain %q is unknown; want that of QONNX", e.Domain)
	}
	low, high, err := ops.QuantRange(e.Node)
	if err != nil {
		return err
	}
	// Integers up to 2048 are exact in fp16, and their sums with a zero point must be too.
	if high-low > 1023 {
		return fmt.Errorf("integers from %g to %g are not supported; want at most 10 bits", low, high)
	}
	if mode := e.Text("rounding_mode", "ROUND"); mode != "ROUND" {
		return fmt.Errorf("rounding mode %q is not supported; want ROUND", mode)
	}
	scale, zero := e.Const(1), e.Const(2)
	if scale == nil || zero == nil {
		return errors.New("scale or zero point is computed; want constants")
	}
	s, err := scale.Values()
	if err != nil {
		return err
	}
	inverse := make([]float64, len(s))
	for i, v := range s {
		if inverse[i] = 1 / v; v == 0 || v != v {
			return fmt.Errorf("scale is %g; want a nonzero number", v)
		}
	}
	z, err := zero.Values()
	if err != nil {
		return err
	}
	// A product with the reciprocal instead of a quotient: the engine divides by a table.
	steps := []step{{"Mul", nil, []*graph.Value{nil, e.newFloatConstant(scale.Dims, inverse)}}, {"RoundSmall", nil, nil}}
	clip := step{"Clip", attributes{"min": newFloatAttr(low), "max": newFloatAttr(high)}, nil}
	if slices.ContainsFunc(z, func(v float64) bool { return v != 0 }) {
		zeros := e.newFloatConstant(zero.Dims, z)
		// The range is one of quantized values, so the zero point is added before the clip and subtracted
		// after it.
		steps = append(steps, step{"Add", nil, []*graph.Value{nil, zeros}}, clip, step{"Sub", nil, []*graph.Value{nil, zeros}})
	} else {
		steps = append(steps, clip)
	}
	_, err = e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), append(steps, step{"Mul", nil, []*graph.Value{nil, e.newFloatConstant(scale.Dims, s)}})...)
	return err
}

// expandBipolarQuant rewrites QONNX's BipolarQuant, which is the scale for elements of at least 0 and
// its negative for others.
func expandBipolarQuant(e *expansion) error {
	if !ops.IsQONNX(e.Domain) {
		return fmt.Errorf("operator BipolarQuant of domain %q is unknown; want that of QONNX", e.Domain)
	}
	y, err := e.emitNode(nil, "GreaterOrEqual", nil, e.inputTensor(0), e.newScalarConstant(0))
	if err == nil {
		y, err = e.emitNode(nil, "Where", nil, y, e.newScalarConstant(1), e.newScalarConstant(-1))
	}
	if err == nil {
		_, err = e.emitNode(e.outputTensor(0), "Mul", nil, y, e.inputTensor(1))
	}
	return err
}
