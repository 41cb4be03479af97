package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/mil"
	"anesim/loader/network/onnx"
)

func milConcat(x *milOperation) {
	values := x.list("values")
	axis := x.int("axis", 0)
	if !x.bool("interleave") || len(values) < 2 {
		x.node("Concat", values, integer("axis", axis))
		return
	}
	x.err = errors.New("channels of several tensors by turns (interleave)")
}

func milStack(x *milOperation) {
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

func milSplit(x *milOperation) {
	in := []string{x.in("x")}
	if x.has("split_sizes") {
		in = append(in, x.in("split_sizes"))
	}
	x.node("Split", in, integer("axis", x.int("axis", 0)))
}

// bools are a list of truth values, as many as dimensions.
func (x *milOperation) bools(key string, n int) []bool {
	out := make([]bool, n)
	for i, v := range x.ints(key) {
		if i < n {
			out[i] = v != 0
		}
	}
	return out
}

func milSlice(x *milOperation) {
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

func milSliceBySize(x *milOperation) {
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

// milPad pads the last axes.
func milPad(x *milOperation) {
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

func milReverse(x *milOperation) {
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
func (x *milOperation) rows(h, w float64) string {
	rank := x.rank(x.in("x"))
	if rank < 2 {
		x.err = errors.New("no picture")
		return ""
	}
	s := slices.Repeat([]float64{1}, rank)
	s[rank-2], s[rank-1] = h, w
	return x.array(onnx.Float, []int64{int64(rank)}, s...)
}

func milUpsample(mode string) func(x *milOperation) {
	return func(x *milOperation) {
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

func (x *milOperation) sized(mode, place string, h, w int64) {
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

func milResize(mode string) func(x *milOperation) {
	return func(x *milOperation) {
		place := "asymmetric"
		if mode == "linear" {
			place = places[x.text("sampling_mode", "DEFAULT")]
		}
		x.sized(mode, place, x.int("target_size_height", 0), x.int("target_size_width", 0))
	}
}

func milResizeTo(x *milOperation) {
	shape, d := x.ints("shape"), x.dims[x.in("x")]
	if len(shape) < 2 || len(d) < 2 {
		x.err = errors.New("a shape of fewer than two axes")
		return
	}
	mode := map[string]string{"LINEAR": "linear", "NEAREST_NEIGHBOR": "nearest"}[x.text("interpolation_mode", "LINEAR")]
	x.sized(mode, places[x.text("sampling_mode", "DEFAULT")], shape[len(shape)-2], shape[len(shape)-1])
}

// copyOf makes the operation's result a constant with a tensor's elements.
func (x *milOperation) copyOf(like, of *onnx.Tensor) {
	if of == nil || like == nil {
		x.absent()
		return
	}
	x.model.Constants[x.Outputs[0].Name], x.fixed[x.Outputs[0].Name] = of, of
}

// absent makes the result a constant whose values are not there.
func (x *milOperation) absent() {
	x.err = nil
	v := mil.Value{Type: x.Outputs[0].Type, File: "absent"}
	x.files["absent"] = nil
	if err := x.constant(x.Outputs[0].Name, v); err != nil {
		x.err = err
	}
}

// computed makes the result a constant of numbers.
func (x *milOperation) computed(v []float64) {
	out := x.Outputs[0]
	if out.Type.Elements() != len(v) {
		x.err = fmt.Errorf("%d values for %v", len(v), out.Type.Dims)
		return
	}
	elem := elemTypes[out.Type.Elem]
	var raw []byte
	for _, f := range v {
		raw = elem.Append(raw, f)
	}
	t := onnx.NewTensor(out.Name, elem, out.Type.Dims, raw)
	x.model.Constants[out.Name], x.fixed[out.Name] = t, t
}

// packed is a constant that stands among the attributes or the inputs.
func (x *milOperation) packed(key string) []float64 {
	var t *onnx.Tensor
	if v, ok := x.Attributes[key]; ok {
		x.numbers++
		name := fmt.Sprintf("%s/value %d", x.name, x.numbers)
		if err := x.constant(name, v); err != nil {
			x.err = err
			return nil
		}
		t = x.fixed[name]
		delete(x.model.Constants, name)
	} else if x.has(key) {
		t = x.fixed[x.in(key)]
	}
	if t == nil || t.External() {
		return nil
	}
	f, err := t.Numbers()
	if err != nil {
		x.err = err
	}
	return f
}

// shapeOfArg is the shape of a constant argument.
func (x *milOperation) shapeOfArg(key string) []int64 {
	if v, ok := x.Attributes[key]; ok {
		return v.Type.Dims
	}
	return x.dims[x.in(key)]
}

// milAffine is (q - zero point)*scale along an axis.
func milAffine(x *milOperation) {
	q, scale, zero, axis := x.packed("quantized_data"), x.packed("scale"), x.packed("zero_point"), x.packed("axis")
	d := x.shapeOfArg("quantized_data")
	if q == nil || scale == nil {
		x.absent()
		return
	}
	at := 0
	if len(axis) == 1 {
		at = int(axis[0])
	}
	if at < 0 {
		at += len(d)
	}
	if at < 0 || at >= len(d) || len(scale) != 1 && int64(len(scale)) != d[at] || len(zero) > 1 && len(zero) != len(scale) && len(scale) != 1 {
		x.err = fmt.Errorf("%d scales and %d zero points along axis %d of %v", len(scale), len(zero), at, d)
		return
	}
	after := 1
	for _, e := range d[at+1:] {
		after *= int(e)
	}
	for i := range q {
		k := i / max(1, after) % int(d[at])
		z := 0.0
		if len(zero) > 0 {
			z = zero[min(k, len(zero)-1)]
		}
		q[i] = (q[i] - z) * scale[min(k, len(scale)-1)]
	}
	x.computed(q)
}

// milLUT looks indices up in a palette: one, or one a group of an axis' elements.
func milLUT(x *milOperation) {
	index, lut := x.packed("indices"), x.packed("lut")
	if index == nil || lut == nil {
		x.absent()
		return
	}
	shape, lutShape := x.Outputs[0].Type.Dims, x.shapeOfArg("lut")
	n := x.Outputs[0].Type.Elements()
	if n < 0 || n > maxCoefficientsOf(x) {
		x.err = fmt.Errorf("shape %v", shape)
		return
	}
	if x.Attributes["shape"].Type.Elem != "" || x.has("shape") {
		// The first form: indices packed to bytes, one palette.
		bits := 0
		for 1<<bits < len(lut) {
			bits++
		}
		if len(index) != n {
			packed := make([]byte, len(index))
			for i, v := range index {
				packed[i] = byte(v)
			}
			if len(packed) != (n*bits+7)/8 {
				x.err = fmt.Errorf("%d bytes of indices of %d bits for %v", len(packed), bits, shape)
				return
			}
			index = index[:0]
			for _, b := range mil.Unpack(packed, bits, n) {
				index = append(index, float64(b))
			}
		}
		lutShape = nil
	}
	out := make([]float64, n)
	if len(index) != n {
		x.err = fmt.Errorf("%d indices for %v", len(index), shape)
		return
	}
	// Palettes of groups: the table's shape is groups an axis, entries, 1.
	groups, entries := slices.Repeat([]int64{1}, len(shape)), len(lut)
	if k := len(lutShape) - 2; k == len(shape) {
		if lutShape[k+1] != 1 {
			x.err = errors.New("a palette of vectors")
			return
		}
		copy(groups, lutShape[:k])
		entries = int(lutShape[k])
	}
	for i := range groups {
		if groups[i] < 1 || shape[i]%groups[i] != 0 {
			x.err = fmt.Errorf("palettes %v for %v", lutShape, shape)
			return
		}
	}
	for i := range out {
		g, rest, step := 0, i, n
		for k, d := range shape {
			step /= int(d)
			g = g*int(groups[k]) + rest/step/int(d/groups[k])
			rest %= step
		}
		at := g*entries + int(index[i])
		if int(index[i]) >= entries || at >= len(lut) {
			x.err = fmt.Errorf("index %g of a palette of %d", index[i], entries)
			return
		}
		out[i] = lut[at]
	}
	x.computed(out)
}

// maxCoefficientsOf bounds what a few packed bytes may become.
func maxCoefficientsOf(x *milOperation) int { return int(min(MaxCoefficients, 64*x.bytes+1<<20)) }

// milSparse puts values where a mask has bits.
func milSparse(x *milOperation) {
	values, mask := x.packed("nonzero_data"), x.packed("mask")
	if values == nil || mask == nil {
		x.absent()
		return
	}
	n := x.Outputs[0].Type.Elements()
	if n < 0 || n > maxCoefficientsOf(x) {
		x.err = fmt.Errorf("shape %v", x.Outputs[0].Type.Dims)
		return
	}
	bits := make([]byte, len(mask))
	for i, v := range mask {
		bits[i] = byte(v)
	}
	if len(bits) != n {
		if len(bits) != (n+7)/8 {
			x.err = fmt.Errorf("a mask of %d bytes for %d elements", len(bits), n)
			return
		}
		bits = mil.Unpack(bits, 1, n)
	}
	out, at := make([]float64, n), 0
	for i, b := range bits {
		if b == 0 {
			continue
		}
		if at >= len(values) {
			x.err = fmt.Errorf("%d values for more bits", len(values))
			return
		}
		out[i] = values[at]
		at++
	}
	x.computed(out)
}

// milBlockwise is (data - offset)*scale, blocks of an axis sharing a scale.
func milBlockwise(x *milOperation) {
	q, scale, offset := x.packed("data"), x.packed("scale"), x.packed("offset")
	d, s := x.shapeOfArg("data"), x.shapeOfArg("scale")
	if q == nil || scale == nil {
		x.absent()
		return
	}
	if len(s) != len(d) || offset != nil && len(offset) != len(scale) {
		x.err = fmt.Errorf("scales %v for %v", s, d)
		return
	}
	for k := range d {
		if s[k] < 1 || d[k]%s[k] != 0 {
			x.err = fmt.Errorf("scales %v for %v", s, d)
			return
		}
	}
	for i := range q {
		g, rest, step := 0, i, len(q)
		for k := range d {
			step /= int(d[k])
			g = g*int(s[k]) + rest/step/int(d[k]/s[k])
			rest %= step
		}
		z := 0.0
		if offset != nil {
			z = offset[g]
		}
		q[i] = (q[i] - z) * scale[g]
	}
	x.computed(q)
}
