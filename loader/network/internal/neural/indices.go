package neural

import (
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
)

// places returns an input as integers, which select elements.
func (x *layer) places(i int) *graph.Value {
	return x.emit("Cast", attrs{"to": newInt(int(graph.Int64))}, x.in[i])
}

// axisOf returns the axis in field num, from 0 to one less than the rank of v. It refuses another.
func (x *layer) axisOf(num protowire.Number, v *graph.Value) int {
	axis, rank := x.integer(num, 0), len(v.Dims)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		x.refusef("axis %d is out of range for shape %v", axis, v.Dims)
		return 0
	}
	return axis
}

// addOneHot adds an axis on which the place that an index names has one value, and all others another.
func addOneHot(x *layer) []*graph.Value {
	size := x.integer(1, 0)
	if size < 1 || size > graph.MaxExtent {
		x.refusef("a vector of %d elements is out of range", size)
	}
	values := x.constant(&graph.Const{Dims: []int{2}, Type: graph.Float, Numbers: []float64{float64(x.float(4, 0)), float64(x.float(3, 0))}})
	return []*graph.Value{x.emit("OneHot", attrs{"axis": newInt(x.integer(2, 0))}, x.places(0), x.list(size), values)}
}

func addArgSort(x *layer) []*graph.Value {
	v := x.in[0]
	axis := x.axisOf(1, v)
	if len(v.Dims) == 0 {
		return nil
	}
	y := x.emitAll("TopK", attrs{"axis": newInt(axis), "largest": newFlag(x.bool(2))}, 2, v, x.list(v.Dims[axis]))
	return []*graph.Value{x.asFloat(y[1])}
}

// addTopK adds a layer that finds the largest elements along an axis, or the smallest, and their indices.
func addTopK(x *layer) []*graph.Value {
	y := x.emitAll("TopK", attrs{"axis": newInt(x.axisOf(1, x.in[0])), "largest": newFlag(!x.bool(3))}, 2, x.in[0], x.list(x.integer(2, 0)))
	return []*graph.Value{y[0], x.asFloat(y[1])}[:x.outputs]
}

// addSlidingWindows adds a layer that reads overlapping windows along an axis. Two axes take its place:
// the number of the window, and the element in it.
func addSlidingWindows(x *layer) []*graph.Value {
	v := x.in[0]
	axis, size, step := x.axisOf(1, v), x.integer(2, 0), x.integer(3, 0)
	if len(v.Dims) == 0 || size < 1 || step < 1 || size > v.Dims[axis] {
		x.refusef("windows of %d elements at each %d along axis %d do not fit shape %v", size, step, axis, v.Dims)
		return nil
	}
	windows := (v.Dims[axis]-size)/step + 1
	if windows > maxFilled/size || x.filled+windows*size > maxFilled {
		x.refusef("%d windows of %d elements exceed the limit of %d elements of the file", windows, size, maxFilled)
		return nil
	}
	x.filled += windows * size
	at := &graph.Const{Dims: []int{windows, size}, Type: graph.Int64}
	for w := range windows {
		for k := range size {
			at.Numbers = append(at.Numbers, float64(w*step+k))
		}
	}
	return []*graph.Value{x.emit("Gather", attrs{"axis": newInt(axis)}, v, x.constant(at))}
}

// diagonals keeps the elements of each matrix on the diagonals up to number k above the main one, or from
// it on if upper is set.
func (x *layer) diagonals(v *graph.Value, k int, upper bool) *graph.Value {
	return x.emit("Trilu", attrs{"upper": newFlag(upper)}, v, x.constant(&graph.Const{Dims: []int{}, Type: graph.Int64, Numbers: []float64{float64(k)}}))
}

// addBandPart adds a layer that keeps a band of diagonals. A negative number keeps all of a side.
func addBandPart(x *layer) []*graph.Value {
	v := x.in[0]
	lower, upper := x.integer(1, 0), x.integer(2, 0)
	if lower >= 0 {
		v = x.diagonals(v, -lower, true)
	}
	if upper >= 0 {
		v = x.diagonals(v, upper, false)
	}
	return x.one(v)
}

func newTriangleRule(upper bool) func(x *layer) []*graph.Value {
	return func(x *layer) []*graph.Value { return x.one(x.diagonals(x.in[0], x.integer(1, 0), upper)) }
}

func addGatherND(x *layer) []*graph.Value {
	return []*graph.Value{x.emit("GatherND", nil, x.in[0], x.places(1))}
}

func addGatherAlongAxis(x *layer) []*graph.Value {
	return x.one(x.emit("GatherElements", attrs{"axis": newInt(x.integer(1, 0))}, x.in[0], x.places(1)))
}

// scatterModes has ONNX's reductions for the modes of scatters.
var scatterModes = map[int]string{0: "none", 1: "add", 3: "mul", 5: "max", 6: "min"}

// scatterMode returns the reduction for the mode in field num.
func (x *layer) scatterMode(num protowire.Number) *graph.Attr {
	mode := x.integer(num, 0)
	name, ok := scatterModes[mode]
	if !ok {
		x.refusef("mode %d, a difference or a quotient, is not supported", mode)
	}
	return newText(name)
}

func addScatterND(x *layer) []*graph.Value {
	return x.one(x.emit("ScatterND", attrs{"reduction": x.scatterMode(1)}, x.in[0], x.places(1), x.in[2]))
}

func addScatterAlongAxis(x *layer) []*graph.Value {
	return x.one(x.emit("ScatterElements", attrs{"axis": newInt(x.integer(1, 0)), "reduction": x.scatterMode(2)}, x.in[0], x.places(1), x.in[2]))
}
