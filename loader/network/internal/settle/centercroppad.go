package settle

import (
	"fmt"

	"anesim/loader/network/internal/ops"
)

// expandCenterCropPad rewrites a CenterCropPad as a Slice of the axes that become smaller and a Pad
// with zeros of the axes that become larger. Both keep the center. If the sizes differ by an odd
// number, one more element is cut off or added at the end than at the start.
func expandCenterCropPad(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	sizes, given, err := e.List("", 1)
	if err != nil || !given {
		return fmt.Errorf("sizes are missing or computed; want constants: %v", err)
	}
	axes, given, err := e.List("axes", -1)
	if err != nil {
		return err
	}
	if !given {
		for i := range d {
			axes = append(axes, i)
		}
	}
	if len(sizes) != len(axes) {
		return fmt.Errorf("%d sizes for %d axes; want equal numbers", len(sizes), len(axes))
	}
	var cut, starts, ends []int
	pads := make([]int, 2*len(d))
	padded := false
	for i, axis := range axes {
		if axis, err = ops.Axis(len(d), axis); err != nil {
			return err
		}
		switch extra := sizes[i] - d[axis]; {
		case sizes[i] < 0:
			return fmt.Errorf("size is %d; want at least 0", sizes[i])
		// Go rounds -extra/2 down, so the first half of an odd cut is the smaller one, as for the padding.
		case extra < 0:
			cut, starts, ends = append(cut, axis), append(starts, -extra/2), append(ends, -extra/2+sizes[i])
		case extra > 0:
			pads[axis], pads[len(d)+axis], padded = extra/2, extra-extra/2, true
		}
	}
	var steps []step
	if cut != nil {
		steps = append(steps, step{"Slice", attributes{"axes": newIntsAttr(cut...), "starts": newIntsAttr(starts...), "ends": newIntsAttr(ends...)}, nil})
	}
	if padded {
		steps = append(steps, step{"Pad", attributes{"pads": newIntsAttr(pads...)}, nil})
	}
	if steps == nil {
		steps = []step{{"Identity", nil, nil}}
	}
	_, err = e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), steps...)
	return err
}
