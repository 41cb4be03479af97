package translate

import (
	"fmt"
	"slices"

	"anesim/internal/network/onnx"
	"anesim/loader/network/list"
)

func emitConcat(x *operation) {
	values := x.inputNames("values")
	axis := x.intArgument("axis", 0)
	if !x.boolArgument("interleave") || len(values) < 2 {
		x.emitNode("Concat", values, newIntAttr("axis", axis))
		return
	}
	// Stack the values behind the axis, and merge the new axis with it.
	d := x.dims[values[0]]
	if axis < 0 {
		axis += int64(len(d))
	}
	if axis < 0 || axis >= int64(len(d)) {
		x.err = fmt.Errorf("axis %d is out of range for shape %v", axis, d)
		return
	}
	after := d[axis+1:]
	if slices.ContainsFunc(after, func(e int64) bool { return e < 1 }) {
		x.err = fmt.Errorf("cannot interleave tensors of shape %v along axis %d; want known nonzero dimensions after the axis", d, axis)
		return
	}
	shape := append(append(make([]int64, axis), -1), after...) // zeros keep the extents before the axis
	var parts []string
	for _, v := range values {
		parts = append(parts, x.emitIntermediateNode("Unsqueeze", []string{v, x.newIntsConstant(axis + 1)}))
	}
	x.emitNode("Reshape", []string{x.emitIntermediateNode("Concat", parts, newIntAttr("axis", axis+1)), x.newIntsConstant(shape...)})
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
	if parts := x.intArgument("num_splits", int64(len(x.Outputs))); parts != int64(len(x.Outputs)) {
		x.err = fmt.Errorf("num_splits is %d, but the operation has %d results", parts, len(x.Outputs))
		return
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
		x.err = fmt.Errorf("begin, end and stride have %d, %d and %d elements; want %d, one per axis", len(begin), len(end), len(stride), rank)
		return
	}
	first, last, drop := x.boolsArgument("begin_mask", rank), x.boolsArgument("end_mask", rank), x.boolsArgument("squeeze_mask", rank)
	var axes, dropped []int64
	// Beyond any extent: ONNX cuts a bound off at the end of its axis.
	const far = 1 << 40
	for i := range rank {
		axes = append(axes, int64(i))
		if drop[i] { // one element, whatever the stride
			stride[i] = 1
		}
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
			// The last element begins at -1, and 0 as its end would select nothing.
			if end[i] = begin[i] + 1; end[i] == 0 {
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
		x.err = fmt.Errorf("begin and size have %d and %d elements; want %d, one per axis", len(begin), len(size), x.declaredRank(in))
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
	mode, ok := map[string]string{"constant": "constant", "reflect": "reflect", "replicate": "edge"}[x.textArgument("mode", "constant")]
	if !ok {
		x.err = fmt.Errorf("unknown padding mode %q; want constant, reflect or replicate", x.textArgument("mode", ""))
		return
	}
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

// emitSlidingWindows emits a node that reads overlapping windows along an axis. Two axes take its place:
// the number of the window, and the element in it.
func emitSlidingWindows(x *operation) {
	in := x.inputName("x")
	d := x.dims[in]
	axis := x.resolveNegativeAxes([]int64{x.intArgument("axis", 0)}, len(d))[0]
	size, stride := x.intArgument("size", 0), x.intArgument("stride", 1)
	if axis < 0 || axis >= int64(len(d)) || size < 1 || stride < 1 || d[axis] < size {
		x.err = fmt.Errorf("windows of %d elements at each %d along axis %d do not fit shape %v", size, stride, axis, d)
		return
	}
	windows := (d[axis]-size)/stride + 1
	if most := int64(maxUnpackedElements(x)); windows > most/size || int64(x.generated)+windows*size > most {
		x.err = fmt.Errorf("%d windows of %d elements exceed the limit of %d elements for a model of this size", windows, size, maxUnpackedElements(x))
		return
	}
	x.generated += int(windows * size)
	at := make([]float64, 0, windows*size)
	for w := range windows {
		for k := range size {
			at = append(at, float64(w*stride+k))
		}
	}
	x.emitNode("Gather", []string{in, x.newConstant(onnx.Int64, []int64{windows, size}, at...)}, newIntAttr("axis", axis))
}

// blockArguments returns the extents of the blocks of rows and columns, and the four numbers of the
// argument with the given key: before and after the rows, and before and after the columns. ok is false if
// they do not fit an image.
func (x *operation) blockArguments(key string) (d, block, edges []int64, ok bool) {
	d, block, edges = x.dims[x.inputName("x")], x.intsArgument("block_shape"), x.intsArgument(key)
	ok = len(d) == 4 && len(block) == 2 && len(edges) == 4 && slices.Min(d) > 0 && slices.Min(block) > 0 && slices.Min(edges) >= 0 &&
		max(slices.Max(d), slices.Max(block), slices.Max(edges)) <= list.MaxExtent
	if !ok {
		x.fail(fmt.Errorf("block_shape %v and %s %v do not fit shape %v", block, key, edges, d))
	}
	return d, block, edges, ok
}

// emitSpaceToBatch emits nodes that move the places in each block of pixels to the batch, in front of the
// images.
func emitSpaceToBatch(x *operation) {
	d, block, pad, ok := x.blockArguments("paddings")
	if !ok {
		return
	}
	h, w := d[2]+pad[0]+pad[1], d[3]+pad[2]+pad[3]
	if h%block[0] != 0 || w%block[1] != 0 {
		x.fail(fmt.Errorf("%d padded rows and %d columns are not whole blocks of block_shape %v", h, w, block))
		return
	}
	y := x.emitIntermediateNode("Pad", []string{x.inputName("x"), x.newIntsConstant(0, 0, pad[0], pad[2], 0, 0, pad[1], pad[3])})
	y = x.emitIntermediateNode("Reshape", []string{y, x.newIntsConstant(d[0], d[1], h/block[0], block[0], w/block[1], block[1])})
	y = x.emitIntermediateNode("Transpose", []string{y}, newIntsAttr("perm", 3, 5, 0, 1, 2, 4))
	x.emitNode("Reshape", []string{y, x.newIntsConstant(block[0]*block[1]*d[0], d[1], h/block[0], w/block[1])})
}

// emitBatchToSpace emits nodes that undo those of emitSpaceToBatch.
func emitBatchToSpace(x *operation) {
	d, block, crop, ok := x.blockArguments("crops")
	if !ok {
		return
	}
	h, w := d[2]*block[0], d[3]*block[1]
	if d[0]%(block[0]*block[1]) != 0 || crop[0]+crop[1] >= h || crop[2]+crop[3] >= w {
		x.fail(fmt.Errorf("block_shape %v and crops %v do not fit shape %v", block, crop, d))
		return
	}
	n := d[0] / (block[0] * block[1])
	y := x.emitIntermediateNode("Reshape", []string{x.inputName("x"), x.newIntsConstant(block[0], block[1], n, d[1], d[2], d[3])})
	y = x.emitIntermediateNode("Transpose", []string{y}, newIntsAttr("perm", 2, 3, 4, 0, 5, 1))
	y = x.emitIntermediateNode("Reshape", []string{y, x.newIntsConstant(n, d[1], h, w)})
	x.emitNode("Slice", []string{y, x.newIntsConstant(crop[0], crop[2]), x.newIntsConstant(h-crop[1], w-crop[3]), x.newIntsConstant(2, 3)})
}
