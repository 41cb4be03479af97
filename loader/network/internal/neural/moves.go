package neural

import (
	"slices"

	"anesim/internal/network/graph"
)

// addReshape adds a layer that gives each sample a new shape, or with four numbers also the sequence.
func addReshape(x *layer) []*graph.Value {
	shape := x.integers(1)
	if mode := x.integer(2, 0); mode != 0 {
		x.refusef("mode %d, which reorders elements, is not supported", mode)
	}
	v := x.in[0]
	switch {
	case len(v.Dims) != 4 || len(shape) != 3 && (len(shape) != 4 || !x.flat[v]):
		x.refusef("shape %v for an input of shape %v is not supported", shape, v.Dims)
		return nil
	case len(shape) == 3:
		shape = append([]int{v.Dims[0]}, shape...)
	}
	for _, d := range shape {
		if d < 1 {
			x.refusef("shape %v has numbers below 1", shape)
		}
	}
	return x.one(x.reshape(v, shape...))
}

func addFlatten(x *layer) []*graph.Value {
	mode := x.integer(1, 0)
	return []*graph.Value{x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value {
		d := v.Dims
		if mode == 1 {
			v = x.emit("Transpose", attrs{"perm": newInts(0, 2, 3, 1)}, v)
		} else if mode != 0 {
			x.refusef("mode %d is unknown", mode)
		}
		return x.reshape(v, d[0], d[1]*d[2]*d[3], 1, 1)
	})}
}

// addPermute adds a layer that orders the axes sequence, channel, height and width.
func addPermute(x *layer) []*graph.Value {
	perm := x.integers(1)
	v := x.in[0]
	if len(perm) != 4 || len(v.Dims) != 4 || !x.flat[v] && perm[0] != 0 {
		x.refusef("axes %v of an input of shape %v are not supported", perm, v.Dims)
		return nil
	}
	return x.one(x.emit("Transpose", attrs{"perm": newInts(perm...)}, v))
}

func addConcat(x *layer) []*graph.Value {
	x.alignBatch()
	axis := -3
	if x.bool(100) {
		if axis = -5; x.flat[x.in[0]] {
			axis = 0
		}
	}
	return x.one(x.emit("Concat", attrs{"axis": newInt(axis)}, x.in...))
}

func addSplit(x *layer) []*graph.Value {
	n := x.integer(1, 0)
	v := x.in[0]
	k := len(v.Dims) - 3
	if n != x.outputs || k < 0 || v.Dims[k]%n != 0 {
		x.refusef("input of shape %v cannot be split into %d equal parts, for %d outputs", v.Dims, n, x.outputs)
		return nil
	}
	y := x.emitAll("Split", attrs{"axis": newInt(k)}, n, v, x.list(slices.Repeat([]int{v.Dims[k] / n}, n)...))
	for _, part := range y {
		x.flat[part] = x.flat[v]
	}
	return y
}

func addSequenceRepeat(x *layer) []*graph.Value {
	n := x.integer(1, 0)
	v := x.in[0]
	if n < 1 || len(v.Dims) != 5 && !x.flat[v] {
		x.refusef("%d repetitions of an input of shape %v are not supported", n, v.Dims)
		return nil
	}
	reps := slices.Repeat([]int{1}, len(v.Dims))
	reps[0] = n
	return x.one(x.emit("Tile", nil, v, x.list(reps...)))
}

func addReorganizeData(x *layer) []*graph.Value {
	mode, size := x.integer(1, 0), x.integer(2, 0)
	if size < 1 || size > graph.MaxExtent {
		x.refusef("block size %d is out of range", size)
	}
	a := attrs{"blocksize": newInt(size)}
	op := "DepthToSpace"
	switch mode {
	case 0:
		op = "SpaceToDepth"
	case 1:
	case 2: // PyTorch's order of channels
		a["mode"] = newText("CRD")
	default:
		x.refusef("mode %d is unknown", mode)
	}
	return []*graph.Value{x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value { return x.emit(op, a, v) })}
}

// addSlice adds a slice of channels, rows or columns. The meaning of negative indices is not certain.
func addSlice(x *layer) []*graph.Value {
	begin, end, step, axis := x.integer(1, 0), x.integer(2, 0), x.integer(3, 1), x.integer(4, 0)
	v := x.in[0]
	if begin < 0 || end <= begin || step < 1 || axis < 0 || axis > 2 || len(v.Dims) < 3 {
		x.refusef("indices %d to %d by %d of axis %d of shape %v are not supported", begin, end, step, axis, v.Dims)
		return nil
	}
	if extent := v.Dims[len(v.Dims)-3+axis]; end > extent {
		x.refusef("index %d is beyond the extent %d", end, extent)
	}
	return x.one(x.emit("Slice", nil, v, x.list(begin), x.list(end), x.list(axis-3), x.list(step)))
}

// addCrop adds a layer that removes borders, or all but a plane of the size of a second input, at an offset.
func addCrop(x *layer) []*graph.Value {
	v := x.in[0]
	k := len(v.Dims) - 2
	if k < 1 || len(x.in[len(x.in)-1].Dims) < 3 {
		x.refusef("input has shape %v; want at least 3 axes", v.Dims)
		return nil
	}
	amounts, offset := x.borders(x.part(1)), x.integers(5)
	begin, end := amounts[:2], []int{v.Dims[k] - amounts[2], v.Dims[k+1] - amounts[3]}
	if len(x.in) == 2 {
		if len(offset) != 2 || amounts[0]+amounts[1]+amounts[2]+amounts[3] != 0 || min(offset[0], offset[1]) < 0 {
			x.refusef("offset %v with amounts %v is not supported; want 2 numbers from 0 and no amounts", offset, amounts)
			return nil
		}
		like := x.in[1].Dims[len(x.in[1].Dims)-2:]
		begin, end = offset, []int{offset[0] + like[0], offset[1] + like[1]}
	} else if len(offset) != 0 && (offset[0] != 0 || offset[len(offset)-1] != 0) {
		x.refusef("an offset without a second input is not supported")
	}
	if begin[0] >= end[0] || begin[1] >= end[1] || end[0] > v.Dims[k] || end[1] > v.Dims[k+1] {
		x.refusef("rows and columns %v to %v are out of range for shape %v", begin, end, v.Dims)
	}
	return x.one(x.emit("Slice", nil, v, x.list(begin...), x.list(end...), x.list(-2, -1)))
}

func addPadding(x *layer) []*graph.Value {
	constant, reflection, replication := x.part(1), x.part(2), x.part(3)
	mode, value, count := "constant", float32(0), 0
	if constant != nil {
		value, count = constant.float(1, 0), count+1
	}
	if reflection != nil {
		mode, count = "reflect", count+1
	}
	if replication != nil {
		mode, count = "edge", count+1
	}
	v := x.in[0]
	k := len(v.Dims)
	if count != 1 || k < 2 {
		x.refusef("%d kinds of padding of an input of shape %v; want 1", count, v.Dims)
		return nil
	}
	b := x.borders(x.part(10))
	pads := make([]int, 2*k)
	pads[k-2], pads[k-1], pads[2*k-2], pads[2*k-1] = b[0], b[1], b[2], b[3]
	return x.one(x.emit("Pad", attrs{"mode": newText(mode)}, v, x.list(pads...), x.number(float64(value))))
}

// resize adds a Resize of rows and columns by scales or to sizes, of which one is nil.
func (x *layer) resize(scales []float64, sizes []int, mode, place string) *graph.Value {
	return x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value {
		a := attrs{"mode": newText(mode), "coordinate_transformation_mode": newText(place), "nearest_mode": newText("floor")}
		if scales != nil {
			s := x.constant(&graph.Const{Dims: []int{4}, Type: graph.Float, Numbers: append([]float64{1, 1}, scales...)})
			return x.emit("Resize", a, v, nil, s)
		}
		var region *graph.Value
		if place == "tf_crop_and_resize" { // the whole plane
			region = x.constant(&graph.Const{Dims: []int{8}, Type: graph.Float, Numbers: []float64{0, 0, 0, 0, 1, 1, 1, 1}})
		}
		return x.emit("Resize", a, v, region, nil, x.list(append(slices.Clone(v.Dims[:2]), sizes...)...))
	})
}

func addUpsample(x *layer) []*graph.Value {
	factors, mode, linear := x.pairOf(1, 1, 1), x.integer(5, 0), x.integer(6, 0)
	if mode == 0 {
		return []*graph.Value{x.resize([]float64{float64(factors[0]), float64(factors[1])}, nil, "nearest", "asymmetric")}
	}
	if mode != 1 || linear < 0 || linear > 2 {
		x.refusef("mode %d with the linear mode %d is unknown", mode, linear)
		return nil
	}
	place := []string{"asymmetric", "align_corners", "half_pixel"}[linear]
	return []*graph.Value{x.resize([]float64{float64(factors[0]), float64(factors[1])}, nil, "linear", place)}
}

// addResizeBilinear adds an interpolation. The mode says where the samples are: with both ends, or a
// single one in the middle (1); with both ends, or a single one at the start (0); at multiples of the
// ratio of the extents (2); or at the centers of as many parts (3).
func addResizeBilinear(x *layer) []*graph.Value {
	sizes := x.pairOf(1, 1, 1)
	mode := x.part(2).integer(1, 0)
	if mode < 0 || mode > 3 {
		x.refusef("mode %d is unknown", mode)
		return nil
	}
	return []*graph.Value{x.resize(nil, sizes, "linear", []string{"align_corners", "tf_crop_and_resize", "asymmetric", "half_pixel"}[mode])}
}
