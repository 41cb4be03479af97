package neural

import (
	"slices"

	"anesim/internal/network/graph"
)

// Rules of layers that count the axes as the format does, and of constants.

// planeShape returns a shape of one or three numbers as channel, height and width.
func (x *layer) planeShape(shape []int) []int {
	switch {
	case len(shape) == 1:
		shape = []int{shape[0], 1, 1}
	case len(shape) != 3:
		x.refusef("shape %v is not supported; want a number of channels, or 3 numbers", shape)
		return []int{1, 1, 1}
	}
	if err := graph.CheckExtents(shape); err != nil {
		x.refusef("%v", err)
		return []int{1, 1, 1}
	}
	return shape
}

func addScale(x *layer) []*graph.Value {
	y := x.emit("Mul", nil, x.in[0], x.orAbsent(x.weights(x.message, 2, x.planeShape(x.integers(1))...), x.integers(1)))
	if x.bool(3) {
		y = x.emit("Add", nil, y, x.orAbsent(x.weights(x.message, 5, x.planeShape(x.integers(4))...), x.integers(4)))
	}
	return x.keepShape(y)
}

func addBias(x *layer) []*graph.Value {
	y := x.emit("Add", nil, x.in[0], x.orAbsent(x.weights(x.message, 2, x.planeShape(x.integers(1))...), x.integers(1)))
	return x.keepShape(y)
}

// orAbsent returns v or, if it is nil, a constant of the given shape whose values the file lacks.
func (x *layer) orAbsent(v *graph.Value, shape []int) *graph.Value {
	if v == nil {
		return x.absent(x.planeShape(shape)...)
	}
	return v
}

// keepShape returns y as the only result, which must have the shape of the input.
func (x *layer) keepShape(y *graph.Value) []*graph.Value {
	if !slices.Equal(y.Dims, x.in[0].Dims) {
		x.refusef("weights do not have the shape of the input, %v", x.in[0].Dims)
	}
	return x.one(y)
}

// addLoadConstant adds a constant of channels, or of channels, rows and columns.
func addLoadConstant(x *layer) []*graph.Value {
	shape := x.planeShape(x.integers(1))
	v := x.orAbsent(x.weights(x.message, 2, shape...), shape)
	if x.why != nil {
		return nil
	}
	if x.exact {
		return []*graph.Value{x.reshape(v, append([]int{1, 1}, shape...)...)}
	}
	y := x.reshape(v, append([]int{1}, shape...)...)
	x.flat[y] = true
	return []*graph.Value{y}
}

func addLoadConstantND(x *layer) []*graph.Value {
	shape := x.integers(1)
	if err := graph.CheckExtents(shape); err != nil || len(shape) == 0 {
		x.refusef("shape %v is out of range", shape)
		return nil
	}
	v := x.weights(x.message, 2, shape...)
	if v == nil {
		v = x.absent(shape...)
	}
	return []*graph.Value{v}
}

// fill returns a tensor of the given shape that holds one number.
func (x *layer) fill(value float32, shape []int) []*graph.Value {
	return []*graph.Value{x.emit("Expand", nil, x.number(float64(value)), x.list(shape...))}
}

func addFillLike(x *layer) []*graph.Value   { return x.fill(x.float(1, 0), x.in[0].Dims) }
func addFillStatic(x *layer) []*graph.Value { return x.fill(x.float(1, 0), x.integers(2)) }

func addBroadcastToStatic(x *layer) []*graph.Value { return x.expand(x.integers(1)) }
func addBroadcastToLike(x *layer) []*graph.Value   { return x.expand(x.in[1].Dims) }

func (x *layer) expand(shape []int) []*graph.Value {
	y := x.emit("Expand", nil, x.in[0], x.list(shape...))
	if x.why == nil && !slices.Equal(y.Dims, shape) {
		x.refusef("input of shape %v does not broadcast to %v", x.in[0].Dims, shape)
	}
	return []*graph.Value{y}
}

func addTile(x *layer) []*graph.Value {
	reps := x.integers(1)
	if len(reps) != len(x.in[0].Dims) {
		x.refusef("%d repetitions for an input of shape %v; want one for each axis", len(reps), x.in[0].Dims)
	}
	return []*graph.Value{x.emit("Tile", nil, x.in[0], x.list(reps...))}
}

func addStack(x *layer) []*graph.Value {
	axis := x.integer(1, 0)
	var parts []*graph.Value
	for _, v := range x.in {
		parts = append(parts, x.emit("Unsqueeze", nil, v, x.list(axis)))
	}
	return []*graph.Value{x.emit("Concat", attrs{"axis": newInt(axis)}, parts...)}
}

func addGather(x *layer) []*graph.Value {
	places := x.emit("Cast", attrs{"to": newInt(int(graph.Int32))}, x.in[1])
	return []*graph.Value{x.emit("Gather", attrs{"axis": newInt(x.integer(1, 0))}, x.in[0], places)}
}

func addReverse(x *layer) []*graph.Value {
	flags := x.integers(1)
	if len(flags) != len(x.in[0].Dims) {
		x.refusef("%d flags for an input of shape %v; want one for each axis", len(flags), x.in[0].Dims)
		return nil
	}
	var axes []int
	for i, f := range flags {
		if f != 0 {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		return x.in[:1]
	}
	n := len(axes)
	back := slices.Repeat([]int{-1}, n)
	return []*graph.Value{x.emit("Slice", nil, x.in[0], x.list(back...), x.list(slices.Repeat([]int{-1 << 40}, n)...), x.list(axes...), x.list(back...))}
}

func addSplitND(x *layer) []*graph.Value {
	axis, n, sizes := x.integer(1, 0), x.integer(2, 0), x.integers(3)
	v := x.in[0]
	if axis < 0 {
		axis += len(v.Dims)
	}
	if axis < 0 || axis >= len(v.Dims) {
		x.refusef("axis %d is out of range for shape %v", axis, v.Dims)
		return nil
	}
	if len(sizes) == 0 {
		if n != x.outputs || v.Dims[axis]%n != 0 {
			x.refusef("input of shape %v cannot be split into %d equal parts, for %d outputs", v.Dims, n, x.outputs)
			return nil
		}
		sizes = slices.Repeat([]int{v.Dims[axis] / n}, n)
	} else if len(sizes) != x.outputs {
		x.refusef("%d sizes for %d outputs", len(sizes), x.outputs)
		return nil
	}
	return x.emitAll("Split", attrs{"axis": newInt(axis)}, len(sizes), v, x.list(sizes...))
}

func addConcatND(x *layer) []*graph.Value {
	return []*graph.Value{x.emit("Concat", attrs{"axis": newInt(x.integer(1, 0))}, x.in...)}
}

func addTranspose(x *layer) []*graph.Value {
	return []*graph.Value{x.emit("Transpose", attrs{"perm": newInts(x.integers(1)...)}, x.in[0])}
}

func addSliceStatic(x *layer) []*graph.Value {
	v := x.in[0]
	rank := len(v.Dims)
	begin, end, step := x.integers(1), x.integers(3), x.integers(5)
	flags := func(list []int, i int) bool { return i < len(list) && list[i] != 0 }
	first, last, drop := x.integers(2), x.integers(4), x.integers(6)
	if len(begin) != rank || len(end) != rank || len(step) != rank {
		x.refusef("%d, %d and %d indices for an input of shape %v; want one for each axis", len(begin), len(end), len(step), v.Dims)
		return nil
	}
	const far = 1 << 40
	var axes, dropped []int
	for i := range rank {
		axes = append(axes, i)
		if flags(drop, i) { // one element, whatever the step
			if step[i], dropped = 1, append(dropped, i); flags(first, i) {
				begin[i] = 0
			}
			// The last element begins at -1, and 0 as its end would select nothing.
			if end[i] = begin[i] + 1; end[i] == 0 {
				end[i] = far
			}
			continue
		}
		forward := step[i] > 0
		if flags(first, i) {
			if begin[i] = 0; !forward {
				begin[i] = far
			}
		}
		if flags(last, i) {
			if end[i] = far; !forward {
				end[i] = -far
			}
		}
	}
	y := x.emit("Slice", nil, v, x.list(begin...), x.list(end...), x.list(axes...), x.list(step...))
	if dropped != nil {
		y = x.emit("Squeeze", nil, y, x.list(dropped...))
	}
	return []*graph.Value{y}
}

func addSqueeze(x *layer) []*graph.Value {
	axes := x.integers(1)
	if x.bool(2) {
		return []*graph.Value{x.emit("Squeeze", nil, x.in[0])}
	}
	if len(axes) == 0 {
		x.refusef("no axes are given")
	}
	return []*graph.Value{x.emit("Squeeze", nil, x.in[0], x.list(axes...))}
}

func addExpandDims(x *layer) []*graph.Value {
	return []*graph.Value{x.emit("Unsqueeze", nil, x.in[0], x.list(x.integers(1)...))}
}

func addFlattenTo2D(x *layer) []*graph.Value {
	return []*graph.Value{x.emit("Flatten", attrs{"axis": newInt(x.integer(1, 0))}, x.in[0])}
}

func addReshapeLike(x *layer) []*graph.Value {
	return []*graph.Value{x.reshape(x.in[0], x.in[1].Dims...)}
}

func addReshapeStatic(x *layer) []*graph.Value {
	shape := x.integers(1)
	if slices.Contains(shape, 0) {
		x.refusef("shape %v has a 0", shape)
	}
	return []*graph.Value{x.emit("Reshape", nil, x.in[0], x.list(shape...))}
}

// addRankPreservingReshape adds a reshape in which 0 keeps the extent, and -1 takes the remaining elements.
func addRankPreservingReshape(x *layer) []*graph.Value {
	shape := x.integers(1)
	if len(shape) != len(x.in[0].Dims) {
		x.refusef("shape %v has another number of axes than the input of shape %v", shape, x.in[0].Dims)
	}
	return []*graph.Value{x.emit("Reshape", nil, x.in[0], x.list(shape...))}
}

func addConstantPad(x *layer) []*graph.Value {
	value, amounts := x.float(1, 0), x.integers(2)
	k := len(x.in[0].Dims)
	if len(amounts) != 2*k {
		x.refusef("%d amounts for an input of shape %v; want two for each axis", len(amounts), x.in[0].Dims)
		return nil
	}
	pads := make([]int, 2*k)
	for i := range k {
		pads[i], pads[k+i] = amounts[2*i], amounts[2*i+1]
	}
	return []*graph.Value{x.emit("Pad", attrs{"mode": newText("constant")}, x.in[0], x.list(pads...), x.number(float64(value)))}
}
