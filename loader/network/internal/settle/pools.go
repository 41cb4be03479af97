package settle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// expandLpPool rewrites an LpPool by means of an AveragePool multiplied by the size of the window, as
// a sum of powers. It returns an error if p is below 1.
func expandLpPool(e *expansion) error {
	taps, ok, err := e.List("kernel_shape", -1)
	if err != nil || !ok {
		return cmp.Or(err, errors.New(`attribute "kernel_shape" is missing`))
	}
	p := e.Int("p", 2)
	d, err := e.Dims(0)
	if err != nil || len(d) < 3 {
		return cmp.Or(err, fmt.Errorf("input has shape %v; want at least 3 axes", d))
	}
	w, err := ops.WindowOf(e.Node, d[2:], nil)
	if err != nil {
		return err
	}
	a := e.attributesWithout("p", "ceil_mode", "auto_pad")
	a["count_include_pad"] = newIntAttr(1)
	a["pads"] = newIntsAttr(slices.Concat(w.Before, w.After)...) // elements that ceil_mode adds count too
	sum := []step{{"AveragePool", a, nil}, {"Mul", nil, []*graph.Value{nil, e.newScalarConstant(float64(graph.Elements(taps)))}}}
	return e.emitPowerSum(p, sum...)
}

// expandGlobalLpPool rewrites a GlobalLpPool as a sum of powers over the spatial axes.
func expandGlobalLpPool(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	var axes []int
	for i := 2; i < len(d); i++ {
		axes = append(axes, i)
	}
	return e.emitPowerSum(e.Int("p", 2), step{"ReduceSum", attributes{"axes": newIntsAttr(axes...), "keepdims": newIntAttr(1)}, nil})
}

// emitPowerSum emits nodes that compute the p-th root of a sum of |x|^p, where x is the first input
// and the steps compute the sum. The result is the first result of the node.
func (e *expansion) emitPowerSum(p int, sum ...step) error {
	if p < 1 {
		return fmt.Errorf(`attribute "p" is %d; want at least 1`, p)
	}
	steps := slices.Concat([]step{{"Abs", nil, nil}}, sum)
	switch {
	case p == 2:
		steps = slices.Concat([]step{{"Mul", nil, []*graph.Value{nil, nil}}}, sum, []step{{"Sqrt", nil, nil}})
	case p > 2:
		power := func(v float64) step { return step{"Pow", nil, []*graph.Value{nil, e.newScalarConstant(v)}} }
		steps = slices.Concat([]step{{"Abs", nil, nil}, power(float64(p))}, sum, []step{power(1 / float64(p))})
	}
	_, err := e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), steps...)
	return err
}
