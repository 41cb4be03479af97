package randomgraph

import (
	"slices"

	"anesim/loader/network/onnx"
)

// regroup returns dims of the same number of elements: axes merged and split at random.
func (b *builder) regroup(dims []int) []int {
	out := slices.Clone(dims)
	for range b.between(1, 3) {
		switch k := b.rng.IntN(4); {
		case k == 0 && len(out) > 1: // merge two axes
			i := b.rng.IntN(len(out) - 1)
			out[i] *= out[i+1]
			out = slices.Delete(out, i+1, i+2)
		case k == 1 && len(out) > 0 && len(out) < 5: // split an axis
			i := b.axis(len(out))
			var divisors []int
			for d := 2; d < out[i]; d++ {
				if out[i]%d == 0 {
					divisors = append(divisors, d)
				}
			}
			if len(divisors) > 0 {
				d := pick(b, divisors...)
				out[i] /= d
				out = slices.Insert(out, i+b.rng.IntN(2), d)
			}
		case k == 2 && len(out) < 5:
			out = slices.Insert(out, b.rng.IntN(len(out)+1), 1)
		case k == 3 && len(out) > 1: // exchange two axes, which a reshape does to extents only
			i := b.rng.IntN(len(out) - 1)
			out[i], out[i+1] = out[i+1], out[i]
		}
	}
	return out
}

// reshape adds Reshape to a random shape, which is written with 0 or -1 at times.
func reshape(b *builder, x string) bool {
	v := b.value(x)
	dims := b.regroup(v.Dims)
	switch k := b.rng.IntN(100); {
	case k < 15:
		dims = []int{elements(v.Dims)}
	case k < 25 && elements(v.Dims) == 1:
		dims = []int{}
	case k < 30:
		dims = []int{1, elements(v.Dims), 1, 1}
	}
	shape := slices.Clone(dims)
	if len(shape) > 0 && b.chance(25) {
		shape[b.axis(len(shape))] = -1
	}
	if len(shape) > 0 && len(v.Dims) > 0 && shape[0] == v.Dims[0] && b.chance(30) {
		shape[0] = 0
	}
	b.add("Reshape", []string{x, b.ints(shape...)}, v.like(dims...))
	return true
}

// view adds an operator that moves elements without computing.
func view(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	switch pick(b, "Reshape", "Reshape", "Reshape", "Transpose", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile") {
	case "Reshape":
		return reshape(b, x)
	case "Transpose":
		if n < 2 {
			return false
		}
		perm := b.rng.Perm(n)
		if b.chance(50) {
			perm = iota(n)
			perm[n-1], perm[n-2] = perm[n-2], perm[n-1]
		}
		b.add("Transpose", []string{x}, v.like(permuted(v.Dims, perm)...), intsAttribute("perm", perm...))
	case "Flatten":
		axis := b.rng.IntN(n + 1)
		rows := elements(v.Dims[:axis])
		b.add("Flatten", []string{x}, v.like(rows, elements(v.Dims)/rows), intAttribute("axis", axis))
	case "Squeeze":
		return squeeze(b, x)
	case "Unsqueeze":
		if n >= 5 {
			return false
		}
		axis := b.rng.IntN(n + 1)
		b.axes("Unsqueeze", x, v.like(slices.Insert(slices.Clone(v.Dims), axis, 1)...), b.signed(axis, n+1))
	case "Expand":
		dims := b.operandDims(v.Dims)
		out, ok := broadcast(v.Dims, dims)
		if !ok || len(out) > 5 {
			return false
		}
		b.add("Expand", []string{x, b.ints(dims...)}, v.like(out...))
	case "Tile":
		if n == 0 || v.Type != onnx.Float {
			return false
		}
		repeats := ones(n)
		repeats[b.axis(n)] = b.between(1, 3)
		out := slices.Clone(v.Dims)
		for i := range out {
			out[i] *= repeats[i]
		}
		if elements(out) > maxElements {
			return false
		}
		b.add("Tile", []string{x, b.ints(repeats...)}, v.like(out...))
	}
	return true
}

// axes adds op with axes in the form of the graph's operator set: an attribute up to 12, an
// input from 13.
func (b *builder) axes(op, x string, out Value, axes ...int) string {
	if b.graph.Opset < 13 {
		return b.add(op, []string{x}, out, intsAttribute("axes", axes...))
	}
	return b.add(op, []string{x, b.ints(axes...)}, out)
}

// squeeze removes one axis of extent 1, or all of them.
func squeeze(b *builder, x string) bool {
	v := b.value(x)
	var at []int
	for i, d := range v.Dims {
		if d == 1 {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return false
	}
	if b.chance(30) {
		dims := slices.DeleteFunc(slices.Clone(v.Dims), func(d int) bool { return d == 1 })
		b.add("Squeeze", []string{x}, v.like(dims...))
		return true
	}
	i := pick(b, at...)
	b.axes("Squeeze", x, v.like(slices.Delete(slices.Clone(v.Dims), i, i+1)...), b.signed(i, len(v.Dims)))
	return true
}

// move adds an operator that takes or joins parts of tensors.
func move(b *builder, x string) bool {
	if b.rank(x) == 0 {
		return false
	}
	v := b.value(x)
	switch pick(b, "Slice", "Slice", "Concat", "Concat", "Split", "Split", "Gather", "Pad", "DepthToSpace") {
	case "Slice":
		return slice(b, x)
	case "Concat":
		return concat(b, x)
	case "Split":
		return split(b, x)
	case "Gather":
		return gather(b, x)
	case "Pad":
		return pad(b, x)
	}
	if len(v.Dims) != 4 || v.Type != onnx.Float {
		return false
	}
	n, c, h, w := v.Dims[0], v.Dims[1], v.Dims[2], v.Dims[3]
	if c%4 == 0 && b.chance(50) {
		b.add("DepthToSpace", []string{x}, v.like(n, c/4, h*2, w*2), intAttribute("blocksize", 2), textAttribute("mode", pick(b, "DCR", "CRD")))
		return true
	}
	if h%2 != 0 || w%2 != 0 {
		return false
	}
	b.add("SpaceToDepth", []string{x}, v.like(n, c*4, h/2, w/2), intAttribute("blocksize", 2))
	return true
}

// slice adds Slice of one or two axes, with steps of either sign.
func slice(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	dims := slices.Clone(v.Dims)
	var starts, ends, axes, steps []int
	for _, axis := range b.rng.Perm(n)[:b.between(1, min(2, n))] {
		d := dims[axis]
		from := b.rng.IntN(d)
		to := b.between(from+1, d)
		step := pick(b, 1, 1, 1, 2, 3, -1, -2)
		count := (to - from + max(step, -step) - 1) / max(step, -step)
		start, end := from, to
		if step < 0 {
			start, end = to-1, from-1
			if end < 0 {
				end = -d - 1
			}
		} else if to == d && b.chance(40) {
			end = 1 << 62 // encoded as the largest int64, as exporters write it
		}
		if start > 0 && b.chance(20) {
			start -= d
		}
		dims[axis] = count
		starts, ends, axes, steps = append(starts, start), append(ends, end), append(axes, b.signed(axis, n)), append(steps, step)
	}
	in := []string{x, b.ints(starts...), b.ints(ends...), b.ints(axes...)}
	if slices.ContainsFunc(steps, func(s int) bool { return s != 1 }) || b.chance(50) {
		in = append(in, b.ints(steps...))
	}
	b.add("Slice", in, v.like(dims...))
	return true
}

// concat adds Concat of x and itself, another tensor, or a constant.
func concat(b *builder, x string) bool {
	v := b.value(x)
	axis := b.axis(len(v.Dims))
	fits := func(u Value) bool {
		if u.Type != v.Type || len(u.Dims) != len(v.Dims) {
			return false
		}
		for i, d := range u.Dims {
			if i != axis && d != v.Dims[i] {
				return false
			}
		}
		return true
	}
	y := b.other(x, fits)
	if y == "" || b.chance(15) {
		y = x
	}
	if y == x && v.Type == onnx.Float && b.chance(40) {
		dims := slices.Clone(v.Dims)
		dims[axis] = b.between(1, 4)
		if elements(dims) <= maxElements {
			y = b.offsets(dims...)
		}
	}
	in := []string{x, y}
	if b.chance(40) {
		slices.Reverse(in)
	}
	if b.chance(15) {
		in = append(in, x)
	}
	dims := slices.Clone(v.Dims)
	dims[axis] = 0
	for _, name := range in {
		u := b.value(name)
		dims[axis] += u.Dims[axis]
		v.Low, v.High, v.Exact = min(v.Low, u.Low), max(v.High, u.High), v.Exact && u.Exact
	}
	if elements(dims) > maxElements {
		return false
	}
	b.add("Concat", in, v.like(dims...), intAttribute("axis", b.signed(axis, len(dims))))
	return true
}

// split adds Split into two or three parts.
func split(b *builder, x string) bool {
	v := b.value(x)
	axis := b.axis(len(v.Dims))
	n := v.Dims[axis]
	if n < 2 {
		return false
	}
	parts := b.between(2, min(3, n))
	sizes := make([]int, parts)
	for i := range sizes {
		sizes[i] = n / parts
	}
	sizes[0] += n - n/parts*parts
	if b.chance(40) && sizes[0] > 1 {
		sizes[0], sizes[1] = sizes[0]-1, sizes[1]+1
	}
	var out []Value
	for _, s := range sizes {
		dims := slices.Clone(v.Dims)
		dims[axis] = s
		out = append(out, v.like(dims...))
	}
	a := intAttribute("axis", b.signed(axis, len(v.Dims)))
	if b.graph.Opset < 13 {
		b.addAll("Split", []string{x}, out, a, intsAttribute("split", sizes...))
		return true
	}
	b.addAll("Split", []string{x, b.ints(sizes...)}, out, a)
	return true
}

// gather adds Gather of constant indices: a scalar, a vector or a matrix.
func gather(b *builder, x string) bool {
	v := b.value(x)
	axis := b.axis(len(v.Dims))
	n := v.Dims[axis]
	shape := pick(b, []int{}, []int{1}, []int{b.between(1, 5)}, []int{2, 2})
	if len(v.Dims)+len(shape)-1 > 5 {
		return false
	}
	indices := multiples(b.rng, elements(shape), -n, n-1, 1)
	dims := slices.Concat(v.Dims[:axis], shape, v.Dims[axis+1:])
	if elements(dims) > maxElements {
		return false
	}
	b.add("Gather", []string{x, b.constant(pick(b, onnx.Int64, onnx.Int64, onnx.Int32), shape, indices)}, v.like(dims...), intAttribute("axis", axis))
	return true
}

// pad adds Pad of one or two axes.
func pad(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if v.Type != onnx.Float {
		return false
	}
	mode := pick(b, "constant", "constant", "reflect", "edge")
	dims, pads := slices.Clone(v.Dims), make([]int, 2*n)
	for _, axis := range b.rng.Perm(n)[:b.between(1, min(2, n))] {
		most := 3
		if mode == "reflect" {
			most = min(most, v.Dims[axis]-1)
		}
		pads[axis], pads[n+axis] = b.between(0, most), b.between(0, most)
		dims[axis] += pads[axis] + pads[n+axis]
	}
	if elements(dims) > maxElements {
		return false
	}
	in := []string{x, b.ints(pads...)}
	if mode == "constant" {
		fill := pick(b, 0.0, 0, 1, -0.5)
		v.Low, v.High = min(v.Low, fill), max(v.High, fill)
		if fill != 0 || b.chance(50) {
			in = append(in, b.constant(onnx.Float, nil, []float64{fill}))
		} else {
			v.Low, v.High = min(v.Low, 0), max(v.High, 0)
		}
	}
	b.add("Pad", in, v.like(dims...), textAttribute("mode", mode))
	return true
}
