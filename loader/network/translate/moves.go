package translate

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/onnx"
)

func concat(x *operation) {
	values := x.list("values")
	axis := x.int("axis", 0)
	if !x.bool("interleave") || len(values) < 2 {
		x.node("Concat", values, integer("axis", axis))
		return
	}
	x.err = errors.New("channels of several tensors by turns (interleave)")
}

func stack(x *operation) {
	var parts []string
	axis := x.int("axis", 0)
	for _, v := range x.list("values") {
		if axis < 0 {
			axis += int64(x.rank(v)) + 1
		}
		parts = append(parts, x.step("Unsqueeze", []string{v, x.wholes(axis)}))
	}
	x.node("Concat", parts, integer("axis", axis))
}

func split(x *operation) {
	in := []string{x.in("x")}
	if x.has("split_sizes") {
		in = append(in, x.in("split_sizes"))
	}
	x.node("Split", in, integer("axis", x.int("axis", 0)))
}

// bools are a list of truth values, as many as dimensions.
func (x *operation) bools(key string, n int) []bool {
	out := make([]bool, n)
	for i, v := range x.ints(key) {
		if i < n {
			out[i] = v != 0
		}
	}
	return out
}

func slice(x *operation) {
	in := x.in("x")
	rank := x.rank(in)
	begin, end, stride := slices.Clone(x.ints("begin")), slices.Clone(x.ints("end")), slices.Clone(x.ints("stride"))
	if stride == nil {
		stride = slices.Repeat([]int64{1}, rank)
	}
	if len(begin) != rank || len(end) != rank || len(stride) != rank {
		x.err = fmt.Errorf("bounds of %d and %d axes for %d dimensions", len(begin), len(end), rank)
		return
	}
	first, last, drop := x.bools("begin_mask", rank), x.bools("end_mask", rank), x.bools("squeeze_mask", rank)
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
	args := []string{in, x.wholes(begin...), x.wholes(end...), x.wholes(axes...), x.wholes(stride...)}
	if dropped == nil {
		x.node("Slice", args)
		return
	}
	x.node("Squeeze", []string{x.step("Slice", args), x.wholes(dropped...)})
}

func sliceBySize(x *operation) {
	in := x.in("x")
	begin, size := x.ints("begin"), x.ints("size")
	if len(begin) != x.rank(in) || len(size) != len(begin) {
		x.err = fmt.Errorf("bounds of %d and %d axes for %d dimensions", len(begin), len(size), x.rank(in))
		return
	}
	end := make([]int64, len(size))
	for i := range end {
		if end[i] = begin[i] + size[i]; size[i] == -1 {
			end[i] = 1 << 40
		}
	}
	x.node("Slice", []string{in, x.wholes(begin...), x.wholes(end...)})
}

// pad pads the last axes.
func pad(x *operation) {
	p, rank := x.ints("pad"), x.rank(x.in("x"))
	if len(p)%2 != 0 || len(p)/2 > rank {
		x.err = fmt.Errorf("pads %v of %d dimensions", p, rank)
		return
	}
	pads := make([]int64, 2*rank)
	for i := range len(p) / 2 {
		at := rank - len(p)/2 + i
		pads[at], pads[rank+at] = p[2*i], p[2*i+1]
	}
	mode := map[string]string{"constant": "constant", "reflect": "reflect", "replicate": "edge"}[x.text("mode", "constant")]
	x.node("Pad", []string{x.in("x"), x.wholes(pads...), x.real(x.number("constant_val", 0))}, textual("mode", mode))
}

func reverse(x *operation) {
	axes := x.ints("axes")
	if !x.has("axes") {
		for i := range x.rank(x.in("x")) {
			axes = append(axes, int64(i))
		}
	}
	n := len(axes)
	back := slices.Repeat([]int64{-1}, n)
	x.node("Slice", []string{x.in("x"), x.wholes(back...), x.wholes(slices.Repeat([]int64{-1 << 40}, n)...), x.wholes(axes...), x.wholes(back...)})
}

// rows are scales of the last two axes.
func (x *operation) rows(h, w float64) string {
	rank := x.rank(x.in("x"))
	if rank < 2 {
		x.err = errors.New("no picture")
		return ""
	}
	s := slices.Repeat([]float64{1}, rank)
	s[rank-2], s[rank-1] = h, w
	return x.array(onnx.Float, []int64{int64(rank)}, s...)
}

func upsample(mode string) func(x *operation) {
	return func(x *operation) {
		place := "half_pixel"
		if mode == "linear" && x.number("align_corners", 1) != 0 {
			place = "align_corners"
		} else if mode == "nearest" {
			place = "asymmetric"
		}
		x.node("Resize", []string{x.in("x"), "", x.rows(x.number("scale_factor_height", 1), x.number("scale_factor_width", 1))},
			textual("mode", mode), textual("coordinate_transformation_mode", place), textual("nearest_mode", "floor"))
	}
}

// places are where resized pixels stand, by the names of sampling modes.
var places = map[string]string{
	"DEFAULT": "asymmetric", "STRICT_ALIGN_CORNERS": "align_corners", "ALIGN_CORNERS": "align_corners", "UNALIGN_CORNERS": "half_pixel",
}

func (x *operation) sized(mode, place string, h, w int64) {
	rank, d := x.rank(x.in("x")), x.dims[x.in("x")]
	if rank < 2 {
		x.err = errors.New("no picture")
		return
	}
	size := slices.Clone(d)
	size[rank-2], size[rank-1] = h, w
	x.node("Resize", []string{x.in("x"), "", "", x.wholes(size...)},
		textual("mode", mode), textual("coordinate_transformation_mode", place), textual("nearest_mode", "floor"))
}

func resize(mode string) func(x *operation) {
	return func(x *operation) {
		place := "asymmetric"
		if mode == "linear" {
			place = places[x.text("sampling_mode", "DEFAULT")]
		}
		x.sized(mode, place, x.int("target_size_height", 0), x.int("target_size_width", 0))
	}
}

func resizeTo(x *operation) {
	shape, d := x.ints("shape"), x.dims[x.in("x")]
	if len(shape) < 2 || len(d) < 2 {
		x.err = errors.New("a shape of fewer than two axes")
		return
	}
	mode := map[string]string{"LINEAR": "linear", "NEAREST_NEIGHBOR": "nearest"}[x.text("interpolation_mode", "LINEAR")]
	x.sized(mode, places[x.text("sampling_mode", "DEFAULT")], shape[len(shape)-2], shape[len(shape)-1])
}
