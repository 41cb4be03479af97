package settle

import (
	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// findLongKernel returns the spatial axis along which n is a convolution with a window that is longer than
// the engine's, such as one of 128 samples of sound, or -1.
func findLongKernel(n *graph.Node) int {
	if n.Op != "Conv" || n.Domain != "" || n.Const(1) == nil || n.Given(2) && n.Const(2) == nil {
		return -1
	}
	d, f := n.In[0].Dims, n.In[1].Dims
	if len(d) != len(f) || len(d) < 3 || len(d) > 4 {
		return -1
	}
	w, err := ops.WindowOf(n, d[2:], f[2:])
	if err != nil {
		return -1
	}
	for i, taps := range w.Taps {
		// With a stride, blocks of the image become channels, and the window shorter.
		if w.Strides[i] == 1 && (taps-1)*w.Dilations[i] >= maxWindow && w.Dilations[i] < maxWindow {
			return i
		}
	}
	return -1
}

// expandLongKernel rewrites such a convolution as the sum of convolutions with a part of the taps each.
func expandLongKernel(e *expansion) error {
	axis := findLongKernel(e.Node)
	d, f := e.In[0].Dims, e.In[1].Dims
	w, err := ops.WindowOf(e.Node, d[2:], f[2:])
	if err != nil {
		return err
	}
	x, err := e.emitPadding(e.inputTensor(0), w.Before, w.After)
	if err != nil {
		return err
	}
	for _, name := range [...]string{"pads", "auto_pad", "kernel_shape"} {
		e.Attribute(name) // part of the window
	}
	a := e.attributesWithout("pads", "auto_pad", "kernel_shape")
	dilation := w.Dilations[axis]
	most := (maxWindow-1)/dilation + 1
	along := e.newIntConstant(2 + axis)
	var sum *graph.Value
	for first := 0; first < w.Taps[axis]; first += most {
		if err := e.budget.Spend(tapBytes, 1); err != nil {
			return err
		}
		count := min(most, w.Taps[axis]-first)
		from := first * dilation
		part, err := e.emitNode(nil, "Slice", nil, x, e.newIntConstant(from), e.newIntConstant(from+w.Out[axis]-1+(count-1)*dilation+1), along)
		if err != nil {
			return err
		}
		taps, err := e.emitNode(nil, "Slice", nil, e.inputTensor(1), e.newIntConstant(first), e.newIntConstant(first+count), along)
		if err != nil {
			return err
		}
		in := []*graph.Value{part, taps}
		if first == 0 && e.Given(2) {
			in = append(in, e.inputTensor(2))
		}
		y, err := e.emitNode(nil, "Conv", a, in...)
		if err != nil {
			return err
		}
		if sum == nil {
			sum = y
			continue
		}
		var out *graph.Value
		if first+most >= w.Taps[axis] {
			out = e.outputTensor(0)
		}
		if sum, err = e.emitNode(out, "Add", nil, sum, y); err != nil {
			return err
		}
	}
	return nil
}
