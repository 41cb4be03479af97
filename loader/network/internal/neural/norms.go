package neural

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
)

func addBatchNorm(x *layer) []*graph.Value {
	c := x.integer(1, 0)
	computed, instance, epsilon := x.bool(5), x.bool(6), x.float(10, 1e-5)
	rank := len(x.in[0].Dims)
	if rank < 3 || x.in[0].Dims[rank-3] != c {
		x.refusef("input has shape %v; want %d channels", x.in[0].Dims, c)
		return nil
	}
	values := func(num protowire.Number, fallback float64) *graph.Value {
		if v := x.weights(x.message, num, c); v != nil {
			return v
		}
		return x.uniform(fallback, c)
	}
	gamma, beta := values(15, 1), values(16, 0)
	return []*graph.Value{x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value {
		a := attrs{"epsilon": newFloat(epsilon)}
		switch {
		case computed && instance: // the file's mean and variance, if any, are not used
			x.has(17)
			x.has(18)
			return x.emit("InstanceNormalization", a, v, gamma, beta)
		case computed || instance:
			x.refusef("want both of computeMeanVar and instanceNormalization, or neither")
			return v
		}
		return x.emit("BatchNormalization", a, v, gamma, beta, values(17, 0), values(18, 1))
	})}
}

// largestEpsilon bounds the epsilon of layers for which it is not certain whether the epsilon is added
// to the variance or to its root. Below, the difference is less than the precision of fp16 for a variance
// of 1.
const largestEpsilon = 1e-3

func addMeanVarianceNorm(x *layer) []*graph.Value {
	across, variance, epsilon := x.bool(1), x.bool(2), x.float(3, 1e-5)
	if epsilon > largestEpsilon {
		x.refusef("epsilon %g is not supported; want at most %g", epsilon, largestEpsilon)
	}
	axes := newInts(-2, -1)
	if across {
		axes = newInts(-3, -2, -1)
	}
	v := x.in[0]
	if len(v.Dims) < 3 {
		x.refusef("input has %d axes; want at least 3", len(v.Dims))
		return nil
	}
	if !variance {
		return x.one(x.emit("Sub", nil, v, x.emit("ReduceMean", attrs{"axes": axes}, v)))
	}
	return []*graph.Value{x.onPlanes(v, func(v *graph.Value) *graph.Value {
		d := v.Dims
		if across { // all channels as one
			y := x.emit("InstanceNormalization", attrs{"epsilon": newFloat(epsilon)}, x.reshape(v, d[0], 1, d[1]*d[2], d[3]), x.uniform(1, 1), x.uniform(0, 1))
			return x.reshape(y, d...)
		}
		return x.emit("InstanceNormalization", attrs{"epsilon": newFloat(epsilon)}, v, x.uniform(1, d[1]), x.uniform(0, d[1]))
	})}
}

// addL2Norm adds x / sqrt(s + epsilon), where s is the sum of squares over channels, height and width.
func addL2Norm(x *layer) []*graph.Value {
	v := x.in[0]
	s := x.emit("ReduceSumSquare", attrs{"axes": newInts(-3, -2, -1)}, v)
	r := x.emit("Rsqrt", attrs{"epsilon": newFloat(x.float(1, 1e-6))}, s)
	return x.one(x.emit("Mul", nil, v, r))
}

func addLocalNorm(x *layer) []*graph.Value {
	size := x.integer(3, 0)
	if size < 1 || size > graph.MaxExtent {
		x.refusef("local size %d is out of range", size)
	}
	a := attrs{"alpha": newFloat(x.float(1, 0)), "beta": newFloat(x.float(2, 0)), "bias": newFloat(x.float(4, 1)), "size": newInt(size)}
	return []*graph.Value{x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value { return x.emit("LRN", a, v) })}
}

func addSoftmax(x *layer) []*graph.Value {
	return x.one(x.emit("Softmax", attrs{"axis": newInt(-3)}, x.in[0]))
}

func addSoftmaxND(x *layer) []*graph.Value {
	return x.one(x.emit("Softmax", attrs{"axis": newInt(x.integer(1, 0))}, x.in[0]))
}

func addLayerNorm(x *layer) []*graph.Value {
	shape, epsilon := x.integers(1), x.float(2, 1e-5)
	v := x.in[0]
	k := len(v.Dims) - len(shape)
	if len(shape) == 0 || k < 0 || !slices.Equal(v.Dims[k:], shape) {
		x.refusef("normalized shape %v does not end the input's shape %v", shape, v.Dims)
		return nil
	}
	a := attrs{"axis": newInt(-len(shape)), "epsilon": newFloat(epsilon)}
	return x.one(x.emit("LayerNormalization", a, v, x.weights(x.message, 3, shape...), x.weights(x.message, 4, shape...)))
}

// reducedAxes holds the axes of the layer reduce by the number of its parameter.
var reducedAxes = [][]int{{-3, -2, -1}, {-2, -1}, {-3}, {-2}, {-1}}

func addReduce(x *layer) []*graph.Value {
	mode, epsilon, axis := x.integer(1, 0), x.float(2, 1e-6), x.integer(3, 0)
	v := x.in[0]
	if axis < 0 || axis >= len(reducedAxes) || len(v.Dims) < 3 {
		x.refusef("axis %d of shape %v is unknown", axis, v.Dims)
		return nil
	}
	a := attrs{"axes": newInts(reducedAxes[axis]...), "keepdims": newInt(1)}
	names := []string{"ReduceSum", "ReduceMean", "ReduceProd", "", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMin"}
	switch {
	case mode == 3:
		return x.one(x.emit("Log", nil, x.emit("Add", nil, x.emit("ReduceSum", a, v), x.number(float64(epsilon)))))
	case mode == 9 && axis >= 2:
		return x.one(x.asFloat(x.emit("ArgMax", attrs{"axis": newInt(reducedAxes[axis][0]), "keepdims": newInt(1)}, v)))
	case mode < 0 || mode >= len(names):
		x.refusef("mode %d of axis %d is not supported", mode, axis)
		return nil
	}
	return x.one(x.emit(names[mode], a, v))
}

// newReduceRule returns the rule of a layer that reduces axes given by number.
func newReduceRule(op string) func(x *layer) []*graph.Value {
	return func(x *layer) []*graph.Value {
		axes, keep, all := x.integers(1), x.bool(2), x.bool(3)
		a := attrs{"keepdims": newFlag(keep)}
		if !all {
			if len(axes) == 0 {
				x.refusef("no axes are given, and not all are reduced")
			}
			a["axes"] = newInts(axes...)
		}
		return []*graph.Value{x.emit(op, a, x.in[0])}
	}
}

func newArgRule(op string) func(x *layer) []*graph.Value {
	return func(x *layer) []*graph.Value {
		a := attrs{"axis": newInt(x.integer(1, 0)), "keepdims": newFlag(!x.bool(2))}
		return []*graph.Value{x.asFloat(x.emit(op, a, x.in[0]))}
	}
}

func addDotProduct(x *layer) []*graph.Value {
	x.alignBatch()
	a, b := x.in[0], x.in[1]
	axes := attrs{"axes": newInts(-3), "keepdims": newInt(1)}
	for _, v := range x.in {
		if k := len(v.Dims); k < 3 || v.Dims[k-1] != 1 || v.Dims[k-2] != 1 {
			x.refusef("input has shape %v; want a single row and column", v.Dims)
			return nil
		}
	}
	y := x.emit("ReduceSum", axes, x.emit("Mul", nil, a, b))
	if x.bool(1) {
		y = x.emit("Div", nil, y, x.emit("Mul", nil, x.emit("ReduceL2", axes, a), x.emit("ReduceL2", axes, b)))
	}
	return x.one(y)
}

func addCumSum(x *layer) []*graph.Value {
	a := attrs{"exclusive": newFlag(x.bool(2)), "reverse": newFlag(x.bool(3))}
	return x.one(x.emit("CumSum", a, x.in[0], x.constant(&graph.Const{Dims: []int{}, Type: graph.Int64, Numbers: []float64{float64(x.integer(1, 0))}})))
}
