package translate

import (
	"errors"
	"fmt"

	"anesim/internal/network/onnx"
)

// maxCrops is the number of boxes of a crop_resize that become nodes of their own.
const maxCrops = 256

// emitCropResize emits a Resize of each constant box of an image, and joins the results along a new first
// axis (roi, until iOS 16) or along the batch (boxes). Sampling modes that place samples by the corners
// of a box are defined by the corners alone, as in TensorFlow's crop_and_resize and in RoIAlign. For
// DEFAULT and UNALIGN_CORNERS the documentation of coremltools defines the positions within a whole
// image only, and does not say how long a box is, so these are refused.
func emitCropResize(x *operation) {
	in, key := x.inputName("x"), "boxes"
	if x.hasArgument("roi") {
		key = "roi"
	}
	dims := x.dims[in]
	if x.constants[x.inputName(key)] == nil {
		x.fail(errors.New("engine does not sample at positions that computed boxes give; the CPU computes it, and values behind it are not computed"))
		return
	}
	if len(dims) != 4 {
		x.fail(fmt.Errorf("input has %d axes; want 4", len(dims)))
		return
	}
	boxes, indices, err := x.readBoxes(key)
	size := [2]int64{x.intArgument("target_height", 1), x.intArgument("target_width", 1)}
	switch {
	case err != nil:
	case len(boxes) > maxCrops:
		err = fmt.Errorf("%d boxes; want at most %d", len(boxes), maxCrops)
	case min(size[0], size[1]) < 1:
		err = fmt.Errorf("target_height and target_width are %d and %d; want at least 1", size[0], size[1])
	}
	if err != nil {
		x.fail(err)
		return
	}
	normalized, scale := x.boolArgument("normalized_coordinates"), x.floatArgument("spatial_scale", 1)
	sampling, order := x.textArgument("sampling_mode", "DEFAULT"), x.textArgument("box_coordinate_mode", "CORNERS_HEIGHT_FIRST")
	x.floatArgument("pad_value", 0) // beyond the image, where no box reaches
	var crops []string
	for i, box := range boxes {
		y, err := newBoxCorners(box, order)
		if err != nil {
			x.fail(err)
			return
		}
		region := []float64{0, 0, 0, 0, 1, 1, 1, 1} // starts and then ends of all axes, as shares of the axis
		for axis := range 2 {
			last := float64(dims[2+axis] - 1)
			from, to := y[axis]*scale, y[2+axis]*scale
			if !normalized && last > 0 {
				from, to = from/last, to/last
			}
			if !(min(from, to) >= 0 && max(from, to) <= 1) {
				x.fail(fmt.Errorf("box %d reaches beyond the image of %d x %d pixels, which is not modelled", i, dims[2], dims[3]))
				return
			}
			switch n := size[axis]; {
			case sampling == "STRICT_ALIGN_CORNERS" && n > 1 || sampling == "ALIGN_CORNERS":
			case sampling == "OFFSET_CORNERS":
				half := (to - from) / 2 / float64(n)
				from, to = from+half, to-half
			default:
				x.fail(fmt.Errorf("the positions of %d samples of sampling_mode %q within a box are not known; want ALIGN_CORNERS, OFFSET_CORNERS or, for several samples, STRICT_ALIGN_CORNERS", n, sampling))
				return
			}
			region[2+axis], region[6+axis] = from, to
		}
		image, batch := in, dims[0]
		if indices != nil {
			if k := indices[i]; k < 0 || k >= dims[0] {
				x.fail(fmt.Errorf("box %d is of image %d; want one of 0 to %d", i, k, dims[0]-1))
				return
			}
			batch = 1
			image = x.emitIntermediateNode("Slice", []string{in, x.newIntsConstant(indices[i]), x.newIntsConstant(indices[i] + 1), x.newIntsConstant(0)})
		}
		args := []string{image, x.newConstant(onnx.Float, []int64{8}, region...), "", x.newIntsConstant(batch, dims[1], size[0], size[1])}
		crop := x.emitIntermediateNode("Resize", args, newTextAttr("mode", "linear"), newTextAttr("coordinate_transformation_mode", "tf_crop_and_resize"))
		if key == "roi" {
			crop = x.emitIntermediateNode("Unsqueeze", []string{crop, x.newIntsConstant(0)})
		}
		crops = append(crops, crop)
	}
	x.emitNode("Concat", crops, newIntAttr("axis", 0))
}

// readBoxes returns the four coordinates of each box, and the image that each is of, or nil if each is of
// all images.
func (x *operation) readBoxes(key string) (boxes [][]float64, indices []int64, err error) {
	t := x.constantTensor(key)
	if t == nil {
		return nil, nil, x.err
	}
	v, err := t.Numbers()
	if err != nil {
		return nil, nil, err
	}
	d := t.Dims
	each := 4
	if key == "roi" {
		if len(d) != 5 || d[1] != 1 || d[2] != 4 && d[2] != 5 || d[3] != 1 || d[4] != 1 {
			return nil, nil, fmt.Errorf("roi has shape %v; want [N 1 4 1 1] or [N 1 5 1 1]", d)
		}
		each = int(d[2])
	} else if len(d) != 2 || d[1] != 4 {
		return nil, nil, fmt.Errorf("boxes have shape %v; want [N 4]", d)
	}
	if len(v) == 0 {
		return nil, nil, errors.New("there are no boxes; want at least one")
	}
	for i := 0; i < len(v); i += each {
		boxes = append(boxes, v[i+each-4:i+each])
		if each == 5 {
			indices = append(indices, int64(v[i]))
		}
	}
	if key == "roi" {
		return boxes, indices, nil
	}
	if indices = x.intsArgument("box_indices"); x.err != nil {
		return nil, nil, x.err
	}
	if indices == nil {
		if x.dims[x.inputName("x")][0] != 1 {
			return nil, nil, errors.New("box_indices is missing for several images, and its default is not known")
		}
		indices = make([]int64, len(boxes))
	}
	if len(indices) != len(boxes) {
		return nil, nil, fmt.Errorf("%d box_indices for %d boxes; want one for each", len(indices), len(boxes))
	}
	return boxes, indices, nil
}

// newBoxCorners returns the first row, the first column, the last row and the last column of a box in the
// given order of coordinates.
func newBoxCorners(v []float64, order string) ([4]float64, error) {
	switch order {
	case "CORNERS_HEIGHT_FIRST":
		return [4]float64(v), nil
	case "CORNERS_WIDTH_FIRST":
		return [4]float64{v[1], v[0], v[3], v[2]}, nil
	case "CENTER_SIZE_HEIGHT_FIRST":
		return [4]float64{v[0] - v[2]/2, v[1] - v[3]/2, v[0] + v[2]/2, v[1] + v[3]/2}, nil
	case "CENTER_SIZE_WIDTH_FIRST":
		return [4]float64{v[1] - v[3]/2, v[0] - v[2]/2, v[1] + v[3]/2, v[0] + v[2]/2}, nil
	}
	return [4]float64{}, fmt.Errorf("unknown box_coordinate_mode %q; want CORNERS or CENTER_SIZE with HEIGHT_FIRST or WIDTH_FIRST", order)
}
