package settle

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"anesim/internal/network/graph"
)

// expandMaxPool rewrites a MaxPool of which the indices are asked as one without them, which the engine
// computes, and the indices alone, which the host computes.
func expandMaxPool(e *expansion) error {
	window := e.namedAttributes("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")
	if _, err := e.emitNode(e.outputTensor(0), "MaxPool", window, e.inputTensor(0)); err != nil {
		return err
	}
	window = maps.Clone(window)
	maps.Copy(window, e.namedAttributes("storage_order"))
	_, err := e.emitNode(e.outputTensor(1), "MaxPoolIndices", window, e.inputTensor(0))
	return err
}

// expandMaxUnpool rewrites a MaxUnpool: each element goes to the place that its index names in a tensor of
// zeros, which has the shape that was pooled. If the shape of the result is given, the tensor is in its
// first corner.
func expandMaxUnpool(e *expansion) error {
	x, at := e.inputTensor(0), e.inputTensor(1)
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	kernel, given, err := e.List("kernel_shape", -1)
	if err != nil {
		return err
	}
	if len(d) < 3 || !given || len(kernel) != len(d)-2 || !slices.Equal(at.Dims, d) {
		return fmt.Errorf("input and indices have shapes %v and %v, and kernel_shape is %v; want equal shapes, and an extent for each axis after the second", d, at.Dims, kernel)
	}
	strides, pads := slices.Repeat([]int{1}, len(kernel)), make([]int, 2*len(kernel))
	for name, to := range map[string]*[]int{"strides": &strides, "pads": &pads} {
		v, given, err := e.List(name, -1)
		if err != nil {
			return err
		}
		if given && len(v) != len(*to) {
			return fmt.Errorf("%s are %v; want %d numbers", name, v, len(*to))
		}
		if given {
			*to = v
		}
	}
	pooled := slices.Clone(d)
	// The largest shape that pools to this one; a stride leaves others open.
	for i := range kernel {
		pooled[2+i] = (d[2+i]-1)*strides[i] + kernel[i] - pads[i] - pads[len(kernel)+i]
		if kernel[i] < 1 || kernel[i] > graph.MaxExtent || strides[i] < 1 || strides[i] > graph.MaxExtent || pooled[2+i] < 1 || pooled[2+i] > graph.MaxExtent {
			return fmt.Errorf("kernel_shape %v, strides %v and pads %v give shape %v; want positive extents of at most %d", kernel, strides, pads, pooled, graph.MaxExtent)
		}
	}
	all := graph.Elements(pooled)
	if err := e.budget.Spend(graph.NumberBytes, pooled...); err != nil {
		return err
	}
	flat, err := e.emitReshape(nil, x, -1)
	if err != nil {
		return err
	}
	if at, err = e.emitReshape(nil, at, -1); err != nil {
		return err
	}
	y, err := e.emitNode(nil, "ScatterElements", nil, e.newFloatConstant([]int{all}, make([]float64, all)), at, flat)
	if err != nil {
		return err
	}
	if !e.Given(2) {
		_, err = e.emitReshape(e.outputTensor(0), y, pooled...)
		return err
	}
	shape, known, err := e.List("", 2)
	if err != nil || !known {
		return fmt.Errorf("output_shape is computed; want a constant: %w", errors.Join(err))
	}
	end := make([]int, len(shape))
	for i := range shape {
		if len(shape) != len(pooled) || shape[i] < pooled[i] {
			return fmt.Errorf("output_shape is %v; want at least %v", shape, pooled)
		}
		end[i] = shape[i] - pooled[i]
	}
	if shape[1] != pooled[1] || d[0]*d[1] > 1 && shape[2] != pooled[2] || !slices.Equal(shape[3:], pooled[3:]) { // rows at the end of the last image change no index
		e.notes = append(e.notes, fmt.Sprintf("%s: indices count in shape %v, as in ONNX's own test; onnxruntime counts them in output_shape %v", e.label, pooled, shape))
	}
	if y, err = e.emitReshape(nil, y, pooled...); err == nil {
		_, err = e.emitNode(e.outputTensor(0), "Pad", nil, y, e.newIntConstant(slices.Concat(make([]int, len(end)), end)...))
	}
	return err
}
