package settle

import (
	"fmt"

	"anesim/internal/network/graph"
)

// expandDeformConv rewrites a DeformConv: the host samples the elements under each tap, at their computed
// places, and the engine multiplies them by the weights.
func expandDeformConv(e *expansion) error {
	f, err := e.Dims(1)
	if err != nil {
		return err
	}
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	groups := e.Int("group", 1)
	if len(f) != 4 || len(d) != 4 || groups < 1 || f[0]%groups != 0 || f[1]*groups != d[1] {
		return fmt.Errorf("weights of shape %v in %d groups do not fit input shape %v", f, groups, d)
	}
	a := e.namedAttributes("dilations", "offset_group", "pads", "strides")
	a["kernel_shape"] = newIntsAttr(f[2], f[3])
	if k, given, err := e.List("kernel_shape", -1); err != nil || given && (len(k) != 2 || k[0] != f[2] || k[1] != f[3]) {
		return fmt.Errorf("kernel_shape is %v for weights of shape %v: %v", k, f, err)
	}
	// An operator of this package: only the sampling depends on computed places, so the host does that
	// alone and the engine the multiplications.
	columns, err := e.emitNode(nil, "DeformColumns", a, e.inputTensor(0), e.inputTensor(2), e.inputTensor(4))
	if err != nil {
		return err
	}
	offset, err := e.Dims(2)
	if err != nil {
		return err
	}
	terms, places := f[1]*f[2]*f[3], columns.Dims[3]
	var weights *graph.Value
	if columns, err = e.emitReshape(nil, columns, d[0], groups, terms, places); err == nil {
		weights, err = e.emitReshape(nil, e.inputTensor(1), groups, f[0]/groups, terms)
	}
	if err != nil {
		return err
	}
	y, err := e.emitNode(nil, "MatMul", nil, weights, columns)
	if err != nil {
		return err
	}
	shape := []int{d[0], f[0], offset[2], offset[3]}
	if !e.Given(3) {
		_, err = e.emitReshape(e.outputTensor(0), y, shape...)
		return err
	}
	if y, err = e.emitReshape(nil, y, shape...); err != nil {
		return err
	}
	bias, err := e.emitReshape(nil, e.inputTensor(3), f[0], 1, 1)
	if err == nil {
		_, err = e.emitNode(e.outputTensor(0), "Add", nil, y, bias)
	}
	return err
}
