package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// randomReshape returns a random shape with as many elements as dims. It merges and splits axes,
// adds axes of extent 1, and exchanges the extents of neighbors.
func randomReshape(b *builder, dims []int) []int {
	out := slices.Clone(dims)
	for range b.randomInt(1, 3) {
		switch k := b.rng.IntN(4); {
		case k == 0 && len(out) > 1: // merge two axes
			i := b.rng.IntN(len(out) - 1)
			out[i] *= out[i+1]
			out = slices.Delete(out, i+1, i+2)
		case k == 1 && len(out) > 0 && len(out) < 5: // split an axis
			i := b.randomAxis(len(out))
			var divisors []int
			for d := 2; d < out[i]; d++ {
				if out[i]%d == 0 {
					divisors = append(divisors, d)
				}
			}
			if len(divisors) > 0 {
				d := pickRandom(b, divisors...)
				out[i] /= d
				out = slices.Insert(out, i+b.rng.IntN(2), d)
			}
		case k == 2 && len(out) < 5:
			out = slices.Insert(out, b.rng.IntN(len(out)+1), 1)
		case k == 3 && len(out) > 1: // exchange the extents of two axes
			i := b.rng.IntN(len(out) - 1)
			out[i], out[i+1] = out[i+1], out[i]
		}
	}
	return out
}

// addReshape adds a Reshape of x to a random shape, in which a 0 sometimes means the extent of x
// and a -1 the extent that follows from the others. It always returns true.
func addReshape(b *builder, x string) bool {
	v := b.findValue(x)
	dims := randomReshape(b, v.Dims)
	switch k := b.rng.IntN(100); {
	case k < 15:
		dims = []int{onnx.Elements(v.Dims)}
	case k < 25 && onnx.Elements(v.Dims) == 1:
		dims = []int{}
	case k < 30:
		dims = []int{1, onnx.Elements(v.Dims), 1, 1}
	}
	shape := slices.Clone(dims)
	if len(shape) > 0 && b.randomBool(25) {
		shape[b.randomAxis(len(shape))] = -1
	}
	if len(shape) > 0 && len(v.Dims) > 0 && shape[0] == v.Dims[0] && b.randomBool(30) {
		shape[0] = 0
	}
	var a []onnxgraph.Attribute
	if b.graph.Opset >= 14 && b.randomBool(15) && !slices.Contains(shape, 0) {
		a = append(a, newIntAttribute("allowzero", b.rng.IntN(2)))
	}
	b.addNode("Reshape", []string{x, b.addIntVector(shape...)}, v.WithDims(dims...), a...)
	return true
}

// addViewOperator adds an operator that only rearranges or repeats the elements of x, such as
// Reshape, Transpose or Expand. It returns false if the operator does not fit the shape of x.
func addViewOperator(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	switch pickRandom(b, "Reshape", "Reshape", "Reshape", "Transpose", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile") {
	case "Reshape":
		return addReshape(b, x)
	case "Transpose":
		perm := b.rng.Perm(n)
		switch {
		case n < 2: // nothing moves; the permutation of a scalar is empty
		case b.randomBool(50):
			perm = identityPermutation(n)
			perm[n-1], perm[n-2] = perm[n-2], perm[n-1]
		case b.randomBool(25):
			perm = identityPermutation(n)
			slices.Reverse(perm)
		}
		if b.randomBool(10) { // without the attribute, axes are reversed
			slices.SortFunc(perm, func(i, k int) int { return k - i })
			b.addNode("Transpose", []string{x}, v.WithDims(permuteDims(v.Dims, perm)...))
			return true
		}
		b.addNode("Transpose", []string{x}, v.WithDims(permuteDims(v.Dims, perm)...), newIntsAttribute("perm", perm...))
	case "Flatten":
		axis := b.rng.IntN(n + 1)
		rows := onnx.Elements(v.Dims[:axis])
		if axis < n {
			axis = b.maybeNegativeAxis(axis, n)
		}
		b.addNode("Flatten", []string{x}, v.WithDims(rows, onnx.Elements(v.Dims)/rows), newIntAttribute("axis", axis))
	case "Squeeze":
		return addSqueeze(b, x)
	case "Unsqueeze":
		return addUnsqueeze(b, x)
	case "Expand":
		dims := randomOperandDims(b, v.Dims)
		out, ok := broadcastDims(v.Dims, dims)
		if !ok || len(out) > 5 {
			return false
		}
		b.addNode("Expand", []string{x, b.addIntVector(dims...)}, v.WithDims(out...))
	case "Tile":
		if n == 0 || v.Type != onnx.Float {
			return false
		}
		repeats := shapeOfOnes(n)
		repeats[b.randomAxis(n)] = b.randomInt(1, 3)
		out := slices.Clone(v.Dims)
		for i := range out {
			out[i] *= repeats[i]
		}
		if onnx.Elements(out) > maxElements {
			return false
		}
		b.addNode("Tile", []string{x, b.addIntVector(repeats...)}, v.WithDims(out...))
	}
	return true
}

// addOperatorWithAxes adds the operator op of x with a list of axes and returns the name of the
// result, which out describes. The axes are an attribute before operator set 13 and an input since.
func (b *builder) addOperatorWithAxes(op, x string, out onnxgraph.Value, axes ...int) string {
	if b.graph.Opset < 13 {
		return b.addNode(op, []string{x}, out, newIntsAttribute("axes", axes...))
	}
	return b.addNode(op, []string{x, b.addIntVector(axes...)}, out)
}

// addUnsqueeze adds an Unsqueeze of x by one or two axes. It returns false if x has rank 5.
func addUnsqueeze(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n >= 5 {
		return false
	}
	if n <= 3 && b.randomBool(25) { // two axes in any order
		axes := b.rng.Perm(n + 2)[:2]
		dims := slices.Clone(v.Dims)
		for _, axis := range slices.Sorted(slices.Values(axes)) {
			dims = slices.Insert(dims, axis, 1)
		}
		b.addOperatorWithAxes("Unsqueeze", x, v.WithDims(dims...), axes...)
		return true
	}
	axis := b.rng.IntN(n + 1)
	b.addOperatorWithAxes("Unsqueeze", x, v.WithDims(slices.Insert(slices.Clone(v.Dims), axis, 1)...), b.maybeNegativeAxis(axis, n+1))
	return true
}

// addSqueeze adds a Squeeze of one, two or all axes of x that have extent 1. It returns false if x
// has no such axis.
func addSqueeze(b *builder, x string) bool {
	v := b.findValue(x)
	var at []int
	for i, d := range v.Dims {
		if d == 1 {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return false
	}
	if b.randomBool(30) {
		dims := slices.DeleteFunc(slices.Clone(v.Dims), func(d int) bool { return d == 1 })
		b.addNode("Squeeze", []string{x}, v.WithDims(dims...))
		return true
	}
	if len(at) > 1 && b.randomBool(40) {
		// Axes need not be in order.
		b.rng.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
		at = at[:2]
		var dims []int
		for i, d := range v.Dims {
			if !slices.Contains(at, i) {
				dims = append(dims, d)
			}
		}
		b.addOperatorWithAxes("Squeeze", x, v.WithDims(dims...), b.maybeNegativeAxis(at[0], len(v.Dims)), b.maybeNegativeAxis(at[1], len(v.Dims)))
		return true
	}
	i := pickRandom(b, at...)
	b.addOperatorWithAxes("Squeeze", x, v.WithDims(slices.Delete(slices.Clone(v.Dims), i, i+1)...), b.maybeNegativeAxis(i, len(v.Dims)))
	return true
}

// addSelectionOrJoin adds an operator that selects, joins, pads or rearranges parts of x, such as
// Slice, Concat or DepthToSpace. It returns false if x is a scalar or does not fit the operator.
func addSelectionOrJoin(b *builder, x string) bool {
	if b.tensorRank(x) == 0 {
		return false
	}
	v := b.findValue(x)
	switch pickRandom(b, "Slice", "Slice", "Concat", "Concat", "Split", "Split", "Gather", "Pad", "DepthToSpace") {
	case "Slice":
		return addSlice(b, x)
	case "Concat":
		return addConcat(b, x)
	case "Split":
		return addSplit(b, x)
	case "Gather":
		return addGather(b, x)
	case "Pad":
		return addPad(b, x)
	}
	if len(v.Dims) != 4 || v.Type != onnx.Float {
		return false
	}
	n, c, h, w := v.Dims[0], v.Dims[1], v.Dims[2], v.Dims[3]
	if c%4 == 0 && b.randomBool(50) {
		a := []onnxgraph.Attribute{newIntAttribute("blocksize", 2)}
		// The attribute came with version 11; before, DCR was the only mode.
		if b.graph.Opset >= 11 {
			a = append(a, newTextAttribute("mode", pickRandom(b, "DCR", "CRD")))
		}
		b.addNode("DepthToSpace", []string{x}, v.WithDims(n, c/4, h*2, w*2), a...)
		return true
	}
	if h%2 != 0 || w%2 != 0 {
		return false
	}
	b.addNode("SpaceToDepth", []string{x}, v.WithDims(n, c*4, h/2, w/2), newIntAttribute("blocksize", 2))
	return true
}

// addSlice adds a Slice of one or two axes of x, with positive or negative steps. Starts and ends
// are sometimes counted from the end of the axis. It always returns true.
func addSlice(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	dims := slices.Clone(v.Dims)
	var starts, ends, axes, steps []int
	leading := b.randomBool(25) // slice the first axes
	for i, axis := range b.rng.Perm(n)[:b.randomInt(1, min(2, n))] {
		if leading {
			axis = i
		}
		d := dims[axis]
		from := b.rng.IntN(d)
		to := b.randomInt(from+1, d)
		step := pickRandom(b, 1, 1, 1, 2, 3, -1, -2)
		if b.graph.Opset < 10 {
			step = 1
		}
		count := (to - from + max(step, -step) - 1) / max(step, -step)
		start, end := from, to
		if step < 0 {
			start, end = to-1, from-1
			if end < 0 {
				end = -d - 1
			}
		} else if to == d && b.randomBool(40) {
			end = 1 << 62 // encoded as the largest int64, as exporters write it
		}
		if start > 0 && b.randomBool(20) {
			start -= d
		}
		if b.randomBool(15) { // bounds outside the axis are clamped
			switch {
			case step > 0 && from == 0, step < 0 && to == 1:
				start = -d - 2
			case step < 0 && to == d:
				start = d + 2
			}
			if step > 0 && to == d {
				end = d + 3
			}
		}
		dims[axis] = count
		starts, ends, axes, steps = append(starts, start), append(ends, end), append(axes, b.maybeNegativeAxis(axis, n)), append(steps, step)
	}
	leading = leading && b.randomBool(70)
	if b.graph.Opset < 10 {
		a := []onnxgraph.Attribute{newIntsAttribute("starts", starts...), newIntsAttribute("ends", ends...)}
		if !leading {
			a = append(a, newIntsAttribute("axes", axes...))
		}
		b.addNode("Slice", []string{x}, v.WithDims(dims...), a...)
		return true
	}
	in := []string{x, b.addIntVector(starts...), b.addIntVector(ends...)}
	if !leading {
		in = append(in, b.addIntVector(axes...))
	}
	if slices.ContainsFunc(steps, func(s int) bool { return s != 1 }) || b.randomBool(50) {
		if leading {
			in = append(in, "")
		}
		in = append(in, b.addIntVector(steps...))
	}
	b.addNode("Slice", in, v.WithDims(dims...))
	return true
}

// addConcat adds a Concat of x and itself, another tensor, or a constant. It returns false if the
// result would be too large.
func addConcat(b *builder, x string) bool {
	v := b.findValue(x)
	axis := b.randomAxis(len(v.Dims))
	fits := func(u onnxgraph.Value) bool {
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
	y := b.findOtherTensor(x, fits)
	if y == "" || b.randomBool(15) {
		y = x
	}
	if y == x && v.Type == onnx.Float && b.randomBool(40) {
		dims := slices.Clone(v.Dims)
		dims[axis] = b.randomInt(1, 4)
		if onnx.Elements(dims) <= maxElements {
			y = b.addAddendConstant(dims...)
		}
	}
	in := []string{x, y}
	if b.randomBool(40) {
		slices.Reverse(in)
	}
	// One tensor may be two operands.
	if b.randomBool(15) {
		in = append(in, x)
	}
	dims := slices.Clone(v.Dims)
	dims[axis] = 0
	for _, name := range in {
		u := b.findValue(name)
		dims[axis] += u.Dims[axis]
		v.Low, v.High, v.Exact = min(v.Low, u.Low), max(v.High, u.High), v.Exact && u.Exact
	}
	if onnx.Elements(dims) > maxElements {
		return false
	}
	b.addNode("Concat", in, v.WithDims(dims...), newIntAttribute("axis", b.maybeNegativeAxis(axis, len(dims))))
	return true
}

// addSplit adds a Split of x into two or three parts along a random axis. Parts of equal sizes are
// sometimes not listed. It returns false if the axis is too short.
func addSplit(b *builder, x string) bool {
	v := b.findValue(x)
	axis := b.randomAxis(len(v.Dims))
	n := v.Dims[axis]
	if n < 2 {
		return false
	}
	parts := b.randomInt(2, min(3, n))
	sizes := make([]int, parts)
	equal := b.randomBool(30) && (n%parts == 0 || b.graph.Opset >= 18) // the sizes can be left out
	for i := range sizes {
		sizes[i] = n / parts
	}
	switch {
	case equal && n%parts != 0: // the last part is the smallest
		first := (n + parts - 1) / parts
		if first*(parts-1) >= n {
			return false
		}
		for i := range sizes {
			sizes[i] = min(first, n-i*first)
		}
	case !equal:
		sizes[0] += n - n/parts*parts
		if b.randomBool(40) && sizes[0] > 1 {
			sizes[0], sizes[1] = sizes[0]-1, sizes[1]+1
		}
	}
	var out []onnxgraph.Value
	for _, s := range sizes {
		dims := slices.Clone(v.Dims)
		dims[axis] = s
		out = append(out, v.WithDims(dims...))
	}
	a := newIntAttribute("axis", b.maybeNegativeAxis(axis, len(v.Dims)))
	switch {
	case equal && b.graph.Opset >= 18:
		b.addNodeWithOutputs("Split", []string{x}, out, a, newIntAttribute("num_outputs", parts))
		return true
	case equal:
		b.addNodeWithOutputs("Split", []string{x}, out, a)
		return true
	case b.graph.Opset < 13:
		b.addNodeWithOutputs("Split", []string{x}, out, a, newIntsAttribute("split", sizes...))
		return true
	}
	b.addNodeWithOutputs("Split", []string{x, b.addIntVector(sizes...)}, out, a)
	return true
}

// addGather adds a Gather from a random axis of x, with a single constant index, a vector or a
// matrix of them. From operator set 11 on, indices may be negative. It returns false if the result
// would be too large.
func addGather(b *builder, x string) bool {
	v := b.findValue(x)
	axis := b.randomAxis(len(v.Dims))
	n := v.Dims[axis]
	shape := pickRandom(b, []int{}, []int{1}, []int{b.randomInt(1, 5)}, []int{2, 2})
	if len(v.Dims)+len(shape)-1 > 5 {
		return false
	}
	low := -n
	if b.graph.Opset < 11 {
		low = 0
	}
	indices := onnxgraph.RandomMultiples(b.rng, onnx.Elements(shape), low, n-1, 1)
	dims := slices.Concat(v.Dims[:axis], shape, v.Dims[axis+1:])
	if onnx.Elements(dims) > maxElements {
		return false
	}
	b.addNode("Gather", []string{x, b.addConstant(pickRandom(b, onnx.Int64, onnx.Int64, onnx.Int32), shape, indices)}, v.WithDims(dims...), newIntAttribute("axis", b.maybeNegativeAxis(axis, len(v.Dims))))
	return true
}

// addPad adds a Pad of one or two axes of x. Negative padding removes elements. Before operator set
// 11 the padding is an attribute; from 18 on the axes can be an input. It returns false if x is not
// float32 or the result would be too large.
func addPad(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if v.Type != onnx.Float {
		return false
	}
	mode := pickRandom(b, "constant", "constant", "reflect", "edge")
	dims, begin, end := slices.Clone(v.Dims), make([]int, n), make([]int, n)
	axes := b.rng.Perm(n)[:b.randomInt(1, min(2, n))]
	for _, axis := range axes {
		most, least := 3, 0
		if mode == "reflect" {
			// A reflection does not repeat the edge, so it has one element less to copy.
			most = min(most, v.Dims[axis]-1)
		}
		if mode == "constant" && b.randomBool(15) {
			least = -(v.Dims[axis] - 1) / 2
		}
		begin[axis], end[axis] = b.randomInt(least, most), b.randomInt(least, most)
		dims[axis] += begin[axis] + end[axis]
	}
	if onnx.Elements(dims) > maxElements {
		return false
	}
	fill := 0.0
	if mode == "constant" {
		fill = pickRandom(b, 0.0, 0, 1, -0.5)
		v.Low, v.High = min(v.Low, fill), max(v.High, fill)
	}
	if b.graph.Opset < 11 {
		b.addNode("Pad", []string{x}, v.WithDims(dims...), newTextAttribute("mode", mode), newIntsAttribute("pads", slices.Concat(begin, end)...), newFloatAttribute("value", float32(fill)))
		return true
	}
	in := []string{x, "", "", ""}
	if b.graph.Opset >= 18 && b.randomBool(40) {
		var pads, signed []int
		for _, axis := range axes {
			pads, signed = append(pads, begin[axis]), append(signed, b.maybeNegativeAxis(axis, n))
		}
		for _, axis := range axes {
			pads = append(pads, end[axis])
		}
		in[1], in[3] = b.addIntVector(pads...), b.addIntVector(signed...)
	} else {
		in[1] = b.addIntVector(slices.Concat(begin, end)...)
	}
	// 0 is the default, which exporters write or leave out.
	if mode == "constant" && (fill != 0 || b.randomBool(50)) {
		in[2] = b.addConstant(onnx.Float, nil, []float64{fill})
	}
	for in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	b.addNode("Pad", in, v.WithDims(dims...), newTextAttribute("mode", mode))
	return true
}
