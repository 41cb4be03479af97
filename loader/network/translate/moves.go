package translate

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/onnx"
)

func emitConcat(x *operation) {
	values := x.inputNames("values")
	axis := x.intArgument("axis", 0)
	if !x.boolArgument("interleave") || len(values) < 2 {
		x.emitNode("Concat", values, newIntAttr("axis", axis))
		return
	}
	x.err = errors.New("interleave is not supported")
}

func emitStack(x *operation) {
	var parts []string
	axis := x.intArgument("axis", 0)
	for _, v := range x.inputNames("values") {
		if axis < 0 {
			axis += int64(x.declaredRank(v)) + 1
		}
		parts = append(parts, x.emitIntermediateNode("Unsqueeze", []string{v, x.newIntsConstant(axis)}))
	}
	x.emitNode("Concat", parts, newIntAttr("axis", axis))
}

func emitSplit(x *operation) {
	in := []string{x.inputName("x")}
	if x.hasArgument("split_sizes") {
		in = append(in, x.inputName("split_sizes"))
	}
	x.emitNode("Split", in, newIntAttr("axis", x.intArgument("axis", 0)))
}

// boolsArgument returns n bools that the argument with the given key lists as numbers. Missing
// elements are false.
func (x *operation) boolsArgument(key string, n int) []bool {
	out := make([]bool, n)
	for i, v := range x.intsArgument(key) {
		if i < n {
			out[i] = v != 0
		}
	}
	return out
}

func emitSlice(x *operation) {
	in := x.inputName("x")
	rank := x.declaredRank(in)
	begin, end, stride := slices.Clone(x.intsArgument("begin")), slices.Clone(x.intsArgument("end")), slices.Clone(x.intsArgument("stride"))
	if stride == nil {
		stride = slices.Repeat([]int64{1}, rank)
	}
	if len(begin) != rank || len(end) != rank || len(stride) != rank {
		x.err = fmt.Errorf("begin, end and stride have %d, %d and %d elements; want %d, the number of axes", len(begin), len(end), len(stride), rank)
		return
	}
	first, last, drop := x.boolsArgument("begin_mask", rank), x.boolsArgument("end_mask", rank), x.boolsArgument("squeeze_mask", rank)
	var axes, dropped []int64
	const far = 1 << 40
	for i := range rank {
		axes = append(axes, int64(i))
		if first[i] {
			begin[i] = 0
			if stride[i] < 0 {
				begin[i] = far
			}
		}
		if last[i] {
			end[i] = far
			if stride[i] < 0 {
				end[i] = -far
			}
		}
		if drop[i] {
			dropped = append(dropped, int64(i))
			if end[i], stride[i] = begin[i]+1, 1; end[i] == 0 {
				end[i] = far
			}
		}
	}
	args := []string{in, x.newIntsConstant(begin...), x.newIntsConstant(end...), x.newIntsConstant(axes...), x.newIntsConstant(stride...)}
	if dropped == nil {
		x.emitNode("Slice", args)
		return
	}
	x.emitNode("Squeeze", []string{x.emitIntermediateNode("Slice", args), x.newIntsConstant(dropped...)})
}

// countAxesFromStart returns a copy of begin, one index for each axis of the named tensor, in which
// negative ones count from the start of a known extent.
func (x *operation) countAxesFromStart(name string, begin []int64) []int64 {
	out := slices.Clone(begin)
	for i, d := range x.dims[name] {
		if out[i] < 0 && d > 0 {
			out[i] += d
		}
	}
	return out
}

func emitSliceBySize(x *operation) {
	in := x.inputName("x")
	begin, size := x.intsArgument("begin"), x.intsArgument("size")
	if len(begin) != x.declaredRank(in) || len(size) != len(begin) {
		x.err = fmt.Errorf("begin and size have %d and %d elements; want %d, the number of axes", len(begin), len(size), x.declaredRank(in))
		return
	}
	begin = x.countAxesFromStart(in, begin)
	end := make([]int64, len(size))
	for i := range end {
		if end[i] = begin[i] + size[i]; size[i] == -1 {
			end[i] = 1 << 40
		}
	}
	x.emitNode("Slice", []string{in, x.newIntsConstant(begin...), x.newIntsConstant(end...)})
}

// emitPad emits a Pad. The program gives the padding of the last axes only; the other axes get
// none.
func emitPad(x *operation) {
	p, rank := x.intsArgument("pad"), x.declaredRank(x.inputName("x"))
	if len(p)%2 != 0 || len(p)/2 > rank {
		x.err = fmt.Errorf("invalid pads %v for %d dimensions; want two numbers for each padded dimension", p, rank)
		return
	}
	pads := make([]int64, 2*rank)
	for i := range len(p) / 2 {
		at := rank - len(p)/2 + i
		pads[at], pads[rank+at] = p[2*i], p[2*i+1]
	}
	mode := map[string]string{"constant": "constant", "reflect": "reflect", "replicate": "edge"}[x.textArgument("mode", "constant")]
	x.emitNode("Pad", []string{x.inputName("x"), x.newIntsConstant(pads...), x.newFloatConstant(x.floatArgument("constant_val", 0))}, newTextAttr("mode", mode))
}

func emitReverse(x *operation) {
	axes := x.intsArgument("axes")
	if !x.hasArgument("axes") {
		for i := range x.declaredRank(x.inputName("x")) {
			axes = append(axes, int64(i))
		}
	}
	n := len(axes)
	back := slices.Repeat([]int64{-1}, n)
	x.emitNode("Slice", []string{x.inputName("x"), x.newIntsConstant(back...), x.newIntsConstant(slices.Repeat([]int64{-1 << 40}, n)...), x.newIntsConstant(axes...), x.newIntsConstant(back...)})
}

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
		place := "half_pixel"
		if mode == "linear" && x.floatArgument("align_corners", 1) != 0 {
			place = "align_corners"
		} else if mode == "nearest" {
			place = "asymmetric"
		}
		x.emitNode("Resize", []string{x.inputName("x"), "", x.newScalesConstant(x.floatArgument("scale_factor_height", 1), x.floatArgument("scale_factor_width", 1))},
			newTextAttr("mode", mode), newTextAttr("coordinate_transformation_mode", place), newTextAttr("nearest_mode", "floor"))
	}
}

// coordinateModes maps sampling modes to ONNX's coordinate transformation modes. ALIGN_CORNERS is
// like STRICT_ALIGN_CORNERS, but computes a single element from the center, as the mode of regions does.
var coordinateModes = map[string]string{
	"DEFAULT": "asymmetric", "STRICT_ALIGN_CORNERS": "align_corners", "ALIGN_CORNERS": "tf_crop_and_resize", "UNALIGN_CORNERS": "half_pixel",
}

func (x *operation) emitResizeToSize(mode, place string, h, w int64) {
	rank, d := x.declaredRank(x.inputName("x")), x.dims[x.inputName("x")]
	if rank < 2 {
		x.err = fmt.Errorf("input has %d axes; want at least 2", rank)
		return
	}
	size := slices.Clone(d)
	size[rank-2], size[rank-1] = h, w
	region := ""
	if place == "tf_crop_and_resize" {
		region = x.newConstant(onnx.Float, []int64{int64(2 * rank)}, append(make([]float64, rank), slices.Repeat([]float64{1}, rank)...)...)
	}
	x.emitNode("Resize", []string{x.inputName("x"), region, "", x.newIntsConstant(size...)},
		newTextAttr("mode", mode), newTextAttr("coordinate_transformation_mode", place), newTextAttr("nearest_mode", "floor"))
}

func newResizeEmitter(mode string) func(x *operation) {
	return func(x *operation) {
		place := "asymmetric"
		if mode == "linear" {
			place = coordinateModes[x.textArgument("sampling_mode", "DEFAULT")]
		}
		x.emitResizeToSize(mode, place, x.intArgument("target_size_height", 0), x.intArgument("target_size_width", 0))
	}
}

func emitResize(x *operation) {
	shape, d := x.intsArgument("shape"), x.dims[x.inputName("x")]
	if len(shape) < 2 || len(d) < 2 {
		x.err = fmt.Errorf("shape has %d elements and input has %d axes; want at least 2 each", len(shape), len(d))
		return
	}
	mode := map[string]string{"LINEAR": "linear", "NEAREST_NEIGHBOR": "nearest"}[x.textArgument("interpolation_mode", "LINEAR")]
	x.emitResizeToSize(mode, coordinateModes[x.textArgument("sampling_mode", "DEFAULT")], shape[len(shape)-2], shape[len(shape)-1])
}
