package translate

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/internal/network/onnx"
)

// newScalesConstant adds a constant with one scale for each axis of the input, h and w for the last
// two axes and 1 for all others, and returns its name.
func (x *operation) newScalesConstant(h, w float64) string {
	rank := x.declaredRank(x.inputName("x"))
	if rank < 2 {
		x.err = fmt.Errorf("input has %d axes; want at least 2", rank)
		return ""
	}
	s := slices.Repeat([]float64{1}, rank)
	s[rank-2], s[rank-1] = h, w
	return x.newConstant(onnx.Float, []int64{int64(rank)}, s...)
}

func newUpsampleEmitter(mode string) func(x *operation) {
	return func(x *operation) {
		place := "asymmetric"
		if mode == "linear" {
			corners := x.floatArgument("align_corners", 1) != 0
			centers := !corners
			if x.hasArgument("half_pixel_centers") {
				centers = x.boolArgument("half_pixel_centers")
			}
			switch {
			case corners && centers:
				x.err = errors.New(`"align_corners" and "half_pixel_centers" are both true; want at most one of them`)
				return
			case corners:
				place = "align_corners"
			case centers:
				place = "half_pixel"
			}
		}
		x.emitNode("Resize", []string{x.inputName("x"), "", x.newScalesConstant(x.floatArgument("scale_factor_height", 1), x.floatArgument("scale_factor_width", 1))},
			newTextAttr("mode", mode), newTextAttr("coordinate_transformation_mode", place), newTextAttr("nearest_mode", "floor"))
	}
}

// coordinateModes maps sampling modes to ONNX's coordinate transformation modes. ALIGN_CORNERS is
// like STRICT_ALIGN_CORNERS, but computes a single element from the center, as the mode of regions
// does. OFFSET_CORNERS is ALIGN_CORNERS of a region, half a step smaller at both ends.
var coordinateModes = map[string]string{
	"DEFAULT": "asymmetric", "STRICT_ALIGN_CORNERS": "align_corners", "ALIGN_CORNERS": "tf_crop_and_resize", "OFFSET_CORNERS": "tf_crop_and_resize",
	"UNALIGN_CORNERS": "half_pixel",
}

// emitResizeToSize emits a Resize of the last axes to the given extents.
func (x *operation) emitResizeToSize(mode, sampling string, extents ...int64) {
	in := x.inputName("x")
	rank := x.declaredRank(in)
	if rank < len(extents) {
		x.err = fmt.Errorf("input has %d axes; want at least %d", rank, len(extents))
		return
	}
	place, ok := coordinateModes[sampling]
	if !ok {
		x.err = fmt.Errorf("unknown sampling_mode %q; want DEFAULT, STRICT_ALIGN_CORNERS, ALIGN_CORNERS, UNALIGN_CORNERS or OFFSET_CORNERS", sampling)
		return
	}
	size := slices.Concat(x.dims[in][:rank-len(extents)], extents)
	region := ""
	if place == "tf_crop_and_resize" {
		starts, ends := make([]float64, rank), slices.Repeat([]float64{1}, rank)
		for i := rank - len(extents); i < rank && sampling == "OFFSET_CORNERS"; i++ {
			half := 0.5 / float64(max(1, size[i]))
			starts[i], ends[i] = half, 1-half
		}
		region = x.newConstant(onnx.Float, []int64{int64(2 * rank)}, append(starts, ends...)...)
	}
	x.emitNode("Resize", []string{in, region, "", x.newIntsConstant(size...)},
		newTextAttr("mode", mode), newTextAttr("coordinate_transformation_mode", place), newTextAttr("nearest_mode", "floor"))
}

func newResizeEmitter(mode string) func(x *operation) {
	return func(x *operation) {
		sampling := "DEFAULT"
		if mode == "linear" {
			sampling = x.textArgument("sampling_mode", sampling)
		}
		x.emitResizeToSize(mode, sampling, x.intArgument("target_size_height", 0), x.intArgument("target_size_width", 0))
	}
}

// emitResize emits a Resize of as many of the last axes as the argument resized_dims says.
func emitResize(x *operation) {
	shape := x.intsArgument("shape")
	n := x.intArgument("resized_dims", int64(min(2, len(shape))))
	if n < 1 || n > int64(len(shape)) {
		x.err = fmt.Errorf(`invalid resized_dims %d; want 1 to %d, the length of "shape"`, n, len(shape))
		return
	}
	mode, ok := map[string]string{"LINEAR": "linear", "NEAREST_NEIGHBOR": "nearest"}[x.textArgument("interpolation_mode", "LINEAR")]
	if !ok {
		x.err = fmt.Errorf("unknown interpolation_mode %q; want LINEAR or NEAREST_NEIGHBOR", x.textArgument("interpolation_mode", ""))
		return
	}
	x.emitResizeToSize(mode, x.textArgument("sampling_mode", "DEFAULT"), shape[len(shape)-int(n):]...)
}

// emitResample emits a node that samples images between pixels, at coordinates from -1 to 1 as
// torch.nn.functional.grid_sample writes them. Other coordinates and paddings are refused.
func emitResample(x *operation) {
	pads := map[string]string{"constant": "zeros", "border": "border"}
	modes := map[string]string{"bilinear": "bilinear", "nearest": "nearest"}
	pad, padKnown := pads[x.textArgument("padding_mode", "")]
	mode, modeKnown := modes[x.textArgument("sampling_mode", "")]
	switch kind := x.textArgument("coordinates_mode", ""); {
	case kind != "normalized_minus_one_to_one":
		x.fail(fmt.Errorf("coordinates_mode %q is not supported; want normalized_minus_one_to_one", kind))
	case !padKnown || x.floatArgument("padding_value", 0) != 0:
		x.fail(fmt.Errorf("padding_mode %q with padding_value %g is not supported; want border, or constant and 0", x.textArgument("padding_mode", ""), x.floatArgument("padding_value", 0)))
	case !modeKnown:
		x.fail(fmt.Errorf("sampling_mode %q is not supported; want bilinear or nearest", x.textArgument("sampling_mode", "")))
	}
	x.emitNode("GridSample", []string{x.inputName("x"), x.inputName("coordinates")}, newTextAttr("mode", mode), newTextAttr("padding_mode", pad), newIntAttr("align_corners", int64(graph.Truth(x.boolArgument("align_corners")))))
}
