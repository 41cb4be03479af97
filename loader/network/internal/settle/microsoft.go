package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// Operators of Microsoft's domain that onnxruntime's tools write into files, and that are several
// operators of ONNX.

// findMicrosoftExpander returns the function that rewrites such an operator, or nil.
func findMicrosoftExpander(op string) func(e *expansion) error {
	switch op {
	case "QAttention":
		return expandQAttention
	case "QLinearWhere":
		return expandQLinearWhere
	case "GatherBlockQuantized":
		return expandGatherBlockQuantized
	case "ExpandDims":
		return expandExpandDims
	case "BiasSplitGelu":
		return expandBiasSplitGelu
	case "GemmFastGelu":
		return expandGemmFastGelu
	}
	return nil
}

// expandQAttention rewrites a QAttention as an Attention of the dequantized input and weights.
func expandQAttention(e *expansion) error {
	if e.Given(8) {
		return errors.New(`input "past" is not supported`)
	}
	var in [2]*graph.Value
	for i := range in {
		d, err := e.Dims(i)
		if err != nil {
			return err
		}
		s, err := e.readQuantization(3+i, 6+i, len(d))
		if err != nil {
			return err
		}
		s.axis = len(d) - 1 // the columns of the weights
		if in[i], err = e.emitDequantization(nil, e.Input(i), s); err != nil {
			return err
		}
	}
	_, err := e.emitMultiResultNode(e.Out[:1], "com.microsoft", "Attention", e.AllAttributes(), in[0], in[1], e.inputTensor(2), e.inputTensor(5))
	if err == nil && e.Asked(1) {
		err = errors.New(`output "present" is not supported`)
	}
	return err
}

// expandQLinearWhere rewrites a QLinearWhere as a Where of both dequantized operands, quantized again.
func expandQLinearWhere(e *expansion) error {
	x, err := e.dequantizeInput(1)
	if err != nil {
		return err
	}
	z, err := e.dequantizeInput(4)
	if err != nil {
		return err
	}
	y, err := e.emitNode(nil, "Where", nil, e.inputTensor(0), x, z)
	if err != nil {
		return err
	}
	return e.emitQuantizedResult(y, 7, 8)
}

// expandGatherBlockQuantized rewrites a GatherBlockQuantized, which selects rows of a quantized
// table, as a DequantizeLinear in blocks and a Gather. Elements of uint8 are pairs of 4 bits with a
// zero point of 8, unless the attribute bits says otherwise.
func expandGatherBlockQuantized(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	axis, err := ops.Axis(len(d), e.Int("quantize_axis", 1))
	if err != nil {
		return err
	}
	table, zero := e.inputTensor(0), e.inputTensor(3)
	if table.Type == graph.Uint8 {
		if table, err = e.unpackTable(table, axis, e.Int("bits", 4)); err != nil {
			return err
		}
		switch {
		case zero.Given():
			if zero, err = e.unpackTable(zero, axis, e.Int("bits", 4)); err != nil {
				return err
			}
		default:
			sd, err := e.Dims(2)
			if err != nil {
				return err
			}
			if err := e.budget.Spend(graph.NumberBytes, sd...); err != nil {
				return err
			}
			middle := float64(int(1) << (e.Int("bits", 4) - 1))
			zero = e.newConstant(&graph.Const{Dims: sd, Type: graph.Uint8, Numbers: slices.Repeat([]float64{middle}, graph.Elements(sd))})
		}
	}
	// All of the table is dequantized before rows are selected: both are constants mostly, and are folded
	// before anything is compiled.
	w, err := e.emitNode(nil, "DequantizeLinear", attributes{"axis": newIntAttr(axis), "block_size": newIntAttr(e.Int("block_size", 128))}, table, e.inputTensor(2), zero)
	if err == nil {
		_, err = e.emitNode(e.outputTensor(0), "Gather", attributes{"axis": newIntAttr(e.Int("gather_axis", 0))}, w, e.inputTensor(1))
	}
	return err
}

// unpackTable returns the constant table with each byte as the elements of the given number of bits
// that it holds, the lowest bits first. They are along the given axis, which must be the last.
func (e *expansion) unpackTable(table *graph.Value, axis, bits int) (*graph.Value, error) {
	c := table.Const
	switch {
	case c == nil:
		return nil, errors.New("table or zero points are computed; want constants")
	case bits == 8:
		return table, nil
	case bits != 4 && bits != 2:
		return nil, fmt.Errorf("%d bits are not supported; want 2, 4 or 8", bits)
	case axis != len(c.Dims)-1:
		return nil, fmt.Errorf("packed elements are along axis %d; want the last of %d", axis, len(c.Dims))
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	each := 8 / bits
	d := slices.Clone(c.Dims)
	d[axis] *= each
	if err := e.budget.Spend(graph.NumberBytes, d...); err != nil {
		return nil, err
	}
	out := make([]float64, 0, len(v)*each)
	for _, x := range v {
		for k := range each {
			out = append(out, float64(int(x)>>(k*bits)&(1<<bits-1)))
		}
	}
	return e.newConstant(&graph.Const{Dims: d, Type: graph.Uint8, Numbers: out}), nil
}

// expandExpandDims rewrites an ExpandDims as an Unsqueeze.
func expandExpandDims(e *expansion) error {
	axes, given, err := e.List("", 1)
	if err != nil || !given || len(axes) != 1 {
		return fmt.Errorf("axis is missing or computed; want one constant: %v", err)
	}
	_, err = e.emitNode(e.outputTensor(0), "Unsqueeze", attributes{"axes": newIntsAttr(axes...)}, e.inputTensor(0))
	return err
}

// expandBiasSplitGelu rewrites a BiasSplitGelu as an Add of the bias and the product of the first half
// of the channels and the Gelu of the second.
func expandBiasSplitGelu(e *expansion) error {
	x, err := e.emitNode(nil, "Add", nil, e.inputTensor(0), e.inputTensor(1))
	if err != nil {
		return err
	}
	d := x.Dims
	if len(d) == 0 || d[len(d)-1]%2 != 0 {
		return fmt.Errorf("input has shape %v; want an even number of channels", d)
	}
	half := d[len(d)-1] / 2
	parts, err := e.emitMultiResultNode(make([]*graph.Value, 2), "", "Split", attributes{"axis": newIntAttr(len(d) - 1), "split": newIntsAttr(half, half)}, x)
	if err != nil {
		return err
	}
	g, err := e.emitNode(nil, "Gelu", nil, parts[1])
	if err == nil {
		_, err = e.emitNode(e.outputTensor(0), "Mul", nil, parts[0], g)
	}
	return err
}

// expandGemmFastGelu rewrites a GemmFastGelu as a MatMul, an Add of the bias, if there is one, and a
// FastGelu.
func expandGemmFastGelu(e *expansion) error {
	y, err := e.emitNode(nil, "MatMul", nil, e.inputTensor(0), e.inputTensor(1))
	if err == nil && e.Given(2) {
		y, err = e.emitNode(nil, "Add", nil, y, e.inputTensor(2))
	}
	if err == nil {
		_, err = e.emitMultiResultNode(e.Out[:1], "com.microsoft", "FastGelu", nil, y)
	}
	return err
}
