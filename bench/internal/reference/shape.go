package reference

import (
	"fmt"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// shapeOperators has the operators that rearrange elements or return shapes.
var shapeOperators = map[string]operator{
	"Dropout": {1, computeDropout}, "Reshape": {1, wrapSingleResult(computeReshape)}, "Flatten": {1, wrapSingleResult(computeFlatten)},
	"Squeeze": {1, wrapSingleResult(computeSqueeze)}, "Unsqueeze": {1, wrapSingleResult(computeUnsqueeze)},
	"Shape": {1, wrapSingleResult(computeShape)}, "Size": {1, wrapSingleResult(computeSize)},
	"Transpose": {1, wrapSingleResult(computeTranspose)}, "Concat": {1, wrapSingleResult(computeConcat)}, "Split": {1, computeSplit},
	"Slice": {1, wrapSingleResult(computeSlice)}, "Expand": {2, wrapSingleResult(computeExpand)}, "Tile": {2, wrapSingleResult(computeTile)}, "Pad": {1, wrapSingleResult(computePad)},
	"DepthToSpace": {1, wrapSingleResult(computeDepthToSpace)}, "SpaceToDepth": {1, wrapSingleResult(computeSpaceToDepth)},
	"Trilu": {1, wrapSingleResult(computeTrilu)}, "ReverseSequence": {2, wrapSingleResult(computeReverseSequence)},
}

// computeDropout computes Dropout for inference: it returns the input unchanged, and a mask that is
// 1 everywhere. Training mode is unsupported unless the ratio is 0.
func computeDropout(c *call) ([]*tensor.Tensor, error) {
	if t := c.inputTensor(2); t != nil && t.ContainsValue(1) {
		if ratio := c.inputTensor(1); ratio == nil || !ratio.ContainsValue(0) {
			return nil, c.newUnsupportedError("training mode with a nonzero ratio")
		}
	}
	mask := c.in[0].MapElements(func(float64) float64 { return 1 })
	if c.opset >= 10 {
		mask = mask.WithType(onnx.Bool)
	}
	return []*tensor.Tensor{c.in[0], mask}, nil
}

// computeReshape computes Reshape. The shape is input 1 or, in operator sets before 5, an
// attribute. A 0 in the shape keeps the input's dimension unless allowzero is set. A single -1 is
// replaced by the dimension that preserves the number of elements.
func computeReshape(c *call) (*tensor.Tensor, error) {
	want, given := c.intsFromInputOrAttribute(1, "shape")
	if !given {
		return nil, fmt.Errorf("missing shape; want input 1 or attribute \"shape\"")
	}
	x, rest, known := c.in[0], -1, 1
	for i, d := range want {
		switch {
		case d == -1 && rest >= 0:
			return nil, fmt.Errorf("shape %v has more than one -1", want)
		case d == -1:
			rest = i
			continue
		case d == 0 && !c.flagAttribute("allowzero"):
			if i >= len(x.Dims) {
				return nil, fmt.Errorf("shape %v has 0 at index %d, but input shape %v has no such axis", want, i, x.Dims)
			}
			want[i] = x.Dims[i]
		}
		// known is checked before it grows again, so that it cannot overflow.
		if want[i] < 0 || want[i] > tensor.MaxElements || known > tensor.MaxElements {
			return nil, fmt.Errorf("shape %v has a dimension below -1 or more than %d elements", want, tensor.MaxElements)
		}
		known *= want[i]
	}
	if rest >= 0 {
		if known == 0 || len(x.Data)%known != 0 {
			return nil, fmt.Errorf("cannot infer the -1 in shape %v from input shape %v", want, x.Dims)
		}
		want[rest] = len(x.Data) / known
	}
	return x.Reshape(want...)
}

func computeFlatten(c *call) (*tensor.Tensor, error) {
	dims := c.in[0].Dims
	axis := c.intAttribute("axis", 1)
	if axis != len(dims) {
		var err error
		if axis, err = tensor.ResolveAxis(axis, len(dims)); err != nil {
			return nil, err
		}
	}
	return c.in[0].Reshape(tensor.CountValidElements(dims[:axis]), tensor.CountValidElements(dims[axis:]))
}

// computeSqueeze computes Squeeze: it removes the listed axes, which must have length 1. If the
// list is left out, it removes all axes of length 1.
func computeSqueeze(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	list, given := c.intsFromInputOrAttribute(1, "axes")
	axes, err := tensor.ResolveAxes(list, len(x.Dims))
	if err != nil {
		return nil, err
	}
	if !given {
		for i, d := range x.Dims {
			if d == 1 {
				axes = append(axes, i)
			}
		}
	}
	return x.DropAxes(axes)
}

func computeUnsqueeze(c *call) (*tensor.Tensor, error) {
	list, given := c.intsFromInputOrAttribute(1, "axes")
	if !given {
		return nil, fmt.Errorf("missing axes; want input 1 or attribute \"axes\"")
	}
	rank := len(c.in[0].Dims) + len(list)
	axes, err := tensor.ResolveAxes(list, rank)
	if err != nil {
		return nil, err
	}
	dims, rest := make([]int, rank), c.in[0].Dims
	for i := range dims {
		if slices.Contains(axes, i) {
			dims[i] = 1
		} else {
			dims[i], rest = rest[0], rest[1:]
		}
	}
	return c.in[0].Reshape(dims...)
}

func computeShape(c *call) (*tensor.Tensor, error) {
	dims := c.in[0].Dims
	from, to := clampIndex(c.intAttribute("start", 0), len(dims)), clampIndex(c.intAttribute("end", len(dims)), len(dims))
	return tensor.NewVector(dims[from:max(from, to)]...), nil
}

// clampIndex converts an index into an axis of n elements to a position from 0 to n. It counts a
// negative index from the end, and replaces an index out of range by the nearer bound.
func clampIndex(index, n int) int {
	if index < 0 {
		index += n
	}
	return min(max(index, 0), n)
}

func computeSize(c *call) (*tensor.Tensor, error) {
	return tensor.NewScalar(onnx.Int64, float64(len(c.in[0].Data))), nil
}

func computeTranspose(c *call) (*tensor.Tensor, error) {
	perm := c.intsAttribute("perm")
	if perm == nil {
		for i := range c.in[0].Dims {
			perm = append([]int{i}, perm...)
		}
	}
	return c.in[0].Transpose(perm...)
}

func computeConcat(c *call) (*tensor.Tensor, error) {
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", 1), len(c.in[0].Dims))
	if err != nil {
		return nil, err
	}
	if i := slices.Index(c.in, nil); i >= 0 {
		return nil, fmt.Errorf("missing input %d", i)
	}
	return tensor.Concatenate(c.in, axis)
}

// computeSplit computes the operator Split. The sizes of the parts are an input or an attribute.
// Without sizes, the axis is divided evenly with rounding up, so that the last parts may be smaller
// or empty.
func computeSplit(c *call) ([]*tensor.Tensor, error) {
	x := c.in[0]
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", 0), len(x.Dims))
	if err != nil {
		return nil, err
	}
	sizes, given := c.intsFromInputOrAttribute(1, "split")
	if !given {
		n := c.intAttribute("num_outputs", len(c.node.Outputs))
		if n < 1 || n > len(c.node.Outputs) {
			return nil, fmt.Errorf("attribute \"num_outputs\" is %d; want 1 to %d, the number of outputs", n, len(c.node.Outputs))
		}
		// Rounded up, so that the last part is the smaller one.
		each := (x.Dims[axis] + n - 1) / n
		for i := range n {
			sizes = append(sizes, min(each, max(0, x.Dims[axis]-i*each)))
		}
	}
	var parts []*tensor.Tensor
	from := 0
	for _, size := range sizes {
		if size < 0 || size > x.Dims[axis]-from {
			return nil, fmt.Errorf("split sizes %v include a negative size or exceed %d, the size of axis %d", sizes, x.Dims[axis], axis)
		}
		part, err := x.SliceRange(axis, from, from+size)
		if err != nil {
			return nil, err
		}
		parts, from = append(parts, part), from+size
	}
	if from != x.Dims[axis] {
		return nil, fmt.Errorf("split sizes %v add up to %d; want %d, the size of axis %d", sizes, from, x.Dims[axis], axis)
	}
	return parts, nil
}

// computeSlice computes Slice. The starts, ends, axes and steps are inputs since operator set 10,
// and were attributes before.
func computeSlice(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	starts, _ := c.intsFromInputOrAttribute(1, "starts")
	ends, _ := c.intsFromInputOrAttribute(2, "ends")
	axes, given := c.intsFromInputOrAttribute(3, "axes")
	if !given {
		for i := range starts {
			axes = append(axes, i)
		}
	}
	steps, given := c.intsFromInputOrAttribute(4, "steps")
	if !given {
		steps = slices.Repeat([]int{1}, len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		return nil, fmt.Errorf("slice has %d starts, %d ends, %d axes and %d steps; want equal numbers", len(starts), len(ends), len(axes), len(steps))
	}
	axes, err := tensor.ResolveAxes(axes, len(x.Dims))
	if err != nil {
		return nil, err
	}
	dims, by, offset := slices.Clone(x.Dims), tensor.RowMajorStrides(x.Dims), 0
	for i, a := range axes {
		n := x.Dims[a]
		step := min(max(steps[i], -n-1), n+1) // a longer step also selects one element
		if step == 0 {
			return nil, fmt.Errorf("zero step on axis %d", a)
		}
		var from int
		from, dims[a] = resolveSliceBounds(starts[i], ends[i], step, n)
		// The start of an empty slice may be one past the last element.
		if dims[a] > 0 {
			offset += from * by[a]
		}
		by[a] *= step
	}
	return x.CopyStrided(dims, by, offset)
}

// resolveSliceBounds resolves the slice start:end:step of an axis of n elements. It returns the
// first index of the slice and the number of its indices. Negative bounds count from the end, and
// bounds out of range are clamped. A negative step goes backward.
func resolveSliceBounds(start, end, step, n int) (from, length int) {
	clamp := func(at, low, high int) int {
		if at < 0 {
			at += n
		}
		return min(max(at, low), high)
	}
	if step > 0 {
		from, to := clamp(start, 0, n), clamp(end, 0, n)
		return from, max(0, (to-from+step-1)/step)
	}
	from, to := clamp(start, 0, n-1), clamp(end, -1, n-1)
	return from, max(0, (from-to-step-1)/-step)
}

func computeExpand(c *call) (*tensor.Tensor, error) {
	dims, err := tensor.BroadcastDims(c.in[0].Dims, c.in[1].ToInts())
	if err != nil {
		return nil, err
	}
	return c.in[0].BroadcastTo(dims)
}

func computeTile(c *call) (*tensor.Tensor, error) {
	x, repeats := c.in[0], c.in[1].ToInts()
	if c.opset < 6 {
		return nil, fmt.Errorf("unsupported operator set %d; want 6 or later", c.opset)
	}
	if len(repeats) != len(x.Dims) {
		return nil, fmt.Errorf("%d repeats for shape %v; want one per axis", len(repeats), x.Dims)
	}
	for axis, n := range repeats {
		if n < 0 || n > tensor.MaxElements {
			return nil, fmt.Errorf("axis %d has %d repeats; want 0 to %d", axis, n, tensor.MaxElements)
		}
		// [before][axis*after] repeated n times is [before][n][axis*after].
		before := tensor.CountValidElements(x.Dims[:axis])
		dims := slices.Clone(x.Dims)
		dims[axis] *= n
		row := len(x.Data) / max(1, before)
		rows, err := x.CopyStrided([]int{before, n, row}, []int{row, 0, 1}, 0)
		if err != nil {
			return nil, err
		}
		if x, err = rows.Reshape(dims...); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// computePad computes Pad. The amounts, the value and the axes are inputs since operator set 11,
// and were attributes before. A negative amount removes elements.
func computePad(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	name := "pads"
	if c.attribute("paddings") != nil { // version 1
		name = "paddings"
	}
	amounts, _ := c.intsFromInputOrAttribute(1, name)
	value := c.floatAttribute("value", 0)
	if t := c.inputTensor(2); t != nil && len(t.Data) == 1 {
		value = t.Data[0]
	}
	axes := make([]int, len(x.Dims))
	for i := range axes {
		axes[i] = i
	}
	if t := c.inputTensor(3); t != nil {
		var err error
		if axes, err = tensor.ResolveAxes(t.ToInts(), len(x.Dims)); err != nil {
			return nil, err
		}
	}
	if len(amounts) != 2*len(axes) {
		return nil, fmt.Errorf("%d pads for %d axes; want two per axis", len(amounts), len(axes))
	}
	mode := c.textAttribute("mode", "constant")
	if !slices.Contains([]string{"constant", "edge", "wrap", "reflect"}, mode) {
		return nil, c.newUnsupportedError(fmt.Sprintf("mode %q", mode))
	}
	for i, axis := range axes {
		var err error
		if x, err = padAxis(x, axis, amounts[i], amounts[i+len(axes)], mode, value); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// padAxis returns x extended along one axis by the given numbers of elements before and after it; a
// negative number removes elements first, so that nothing is repeated from them. The mode is that of
// the operator Pad: "constant" adds elements equal to value, any other mode repeats elements of x.
// Padding the axes one by one gives the same result as padding them all at once.
func padAxis(x *tensor.Tensor, axis, before, after int, mode string, value float64) (*tensor.Tensor, error) {
	if max(before, -before, after, -after) > tensor.MaxElements {
		return nil, fmt.Errorf("pads of axis %d are %d and %d; want magnitudes of at most %d", axis, before, after, tensor.MaxElements)
	}
	if mode != "constant" && min(before, after) < 0 {
		var err error
		if x, err = padAxis(x, axis, min(before, 0), min(after, 0), "constant", 0); err != nil {
			return nil, err
		}
		before, after = max(before, 0), max(after, 0)
	}
	n := x.Dims[axis]
	dims := slices.Clone(x.Dims)
	dims[axis] += before + after
	out, err := tensor.New(x.Type, dims...)
	if err != nil {
		return nil, err
	}
	if n == 0 && mode != "constant" && len(out.Data) > 0 {
		return nil, fmt.Errorf("cannot pad axis %d in mode %q: axis has no elements", axis, mode)
	}
	from := make([]int, dims[axis]) // index in x, or -1 for the padding value
	for i := range from {
		k := i - before
		switch {
		case k >= 0 && k < n:
		case mode == "constant":
			k = -1
		case mode == "edge":
			k = min(max(k, 0), n-1)
		case mode == "wrap":
			k = ((k % n) + n) % n
		default: // reflect
			k = reflectIndex(k, n)
		}
		from[i] = k
	}
	inner := tensor.CountValidElements(x.Dims[axis+1:])
	for row := 0; row*inner < len(out.Data); row++ {
		line := out.Data[row*inner : (row+1)*inner]
		if k := from[row%dims[axis]]; k >= 0 {
			copy(line, x.Data[(row/dims[axis]*n+k)*inner:])
			continue
		}
		for i := range line {
			line[i] = value
		}
	}
	return out, nil
}

// reflectIndex maps k, an index that may lie outside an axis of n elements, into the axis by
// reflecting it at the first and last element as often as needed. The end elements are not
// repeated: -1 becomes 1.
func reflectIndex(k, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	k = ((k % period) + period) % period
	return min(k, period-k)
}

// readBlockSize returns the shape of the first input, which must be [n, c, h, w], and the attribute
// blocksize.
func (c *call) readBlockSize() (d []int, block int, err error) {
	d, block = c.in[0].Dims, c.intAttribute("blocksize", 0)
	switch {
	case len(d) != 4:
		err = fmt.Errorf("input has shape %v; want rank 4", d)
	case block < 1 || block > tensor.MaxElements:
		err = fmt.Errorf("attribute \"blocksize\" is %d; want 1 to %d", block, tensor.MaxElements)
	}
	return d, block, err
}

func computeDepthToSpace(c *call) (*tensor.Tensor, error) {
	d, b, err := c.readBlockSize()
	if err != nil {
		return nil, err
	}
	if d[1]/b%b != 0 || d[1]%b != 0 {
		return nil, fmt.Errorf("input has %d channels; want a multiple of %d, the square of blocksize", d[1], b*b)
	}
	depth := d[1] / b / b
	split, perm := []int{d[0], b, b, depth, d[2], d[3]}, []int{0, 3, 4, 1, 5, 2}
	switch mode := c.textAttribute("mode", "DCR"); mode {
	case "DCR":
	case "CRD":
		split, perm = []int{d[0], depth, b, b, d[2], d[3]}, []int{0, 1, 4, 2, 5, 3}
	default:
		return nil, fmt.Errorf("unknown mode %q; want DCR or CRD", mode)
	}
	return c.in[0].SplitTransposeJoin(split, perm, []int{d[0], depth, d[2] * b, d[3] * b})
}

func computeSpaceToDepth(c *call) (*tensor.Tensor, error) {
	d, b, err := c.readBlockSize()
	if err != nil {
		return nil, err
	}
	if d[2]%b != 0 || d[3]%b != 0 {
		return nil, fmt.Errorf("blocksize %d does not divide the height and width of shape %v", b, d)
	}
	return c.in[0].SplitTransposeJoin([]int{d[0], d[1], d[2] / b, b, d[3] / b, b}, []int{0, 3, 5, 1, 2, 4}, []int{d[0], d[1] * b * b, d[2] / b, d[3] / b})
}

// computeTrilu computes Trilu: it keeps the upper or lower triangle of each matrix and sets the
// other elements to 0.
func computeTrilu(c *call) (*tensor.Tensor, error) {
	x, diagonal := c.in[0], 0
	if len(x.Dims) < 2 {
		return nil, fmt.Errorf("input has shape %v; want rank 2 or more", x.Dims)
	}
	if t := c.inputTensor(1); t != nil && len(t.Data) == 1 {
		diagonal = min(max(t.ToInts()[0], -tensor.MaxElements), tensor.MaxElements)
	}
	rows, columns := x.Dims[len(x.Dims)-2], x.Dims[len(x.Dims)-1]
	upper := c.intAttribute("upper", 1) != 0
	out := x.ZerosLike()
	for i, v := range x.Data {
		row, column := i/columns%rows, i%columns
		if upper && column >= row+diagonal || !upper && column <= row+diagonal {
			out.Data[i] = v
		}
	}
	return out, nil
}

// computeReverseSequence computes the operator ReverseSequence. In each sequence of the batch, it
// reverses the first elements along the time axis, as many as the input sequence_lens says, and
// keeps the rest.
func computeReverseSequence(c *call) (*tensor.Tensor, error) {
	x, lengths := c.in[0], c.in[1].ToInts()
	batch, time := c.intAttribute("batch_axis", 1), c.intAttribute("time_axis", 0)
	if len(x.Dims) < 2 {
		return nil, fmt.Errorf("input has shape %v; want rank 2 or more", x.Dims)
	}
	if batch+time != 1 || batch*time != 0 {
		return nil, fmt.Errorf("attributes batch_axis and time_axis are %d and %d; want 0 and 1 in either order", batch, time)
	}
	if len(lengths) != x.Dims[batch] {
		return nil, fmt.Errorf("%d sequence lengths for %d sequences; want one per sequence", len(lengths), x.Dims[batch])
	}
	out := x.ZerosLike()
	inner := tensor.CountValidElements(x.Dims[2:])
	index := make([]int, 2)
	for at := 0; at < len(x.Data); at += inner {
		from := slices.Clone(index)
		n := lengths[index[batch]]
		if n < 0 || n > x.Dims[time] {
			return nil, fmt.Errorf("sequence %d has length %d; want 0 to %d", index[batch], n, x.Dims[time])
		}
		if from[time] < n {
			from[time] = n - 1 - from[time]
		}
		copy(out.Data[at:at+inner], x.Data[(from[0]*x.Dims[1]+from[1])*inner:])
		tensor.AdvanceIndex(index, x.Dims[:2])
	}
	return out, nil
}
