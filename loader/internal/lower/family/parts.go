package family

import (
	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerInParts appends the tasks of a layer that exceeds a limit as a whole. It divides the layer
// into two along an axis on which results depend on their own part of the sources only; each half
// may be divided again. o is first reset to before, its state before the attempt that failed with
// refusal. If no axis can be divided, lowerInParts returns refusal. (How Apple's compiler
// divides such layers is not known.)
func lowerInParts(o *Output, before Output, j job, refusal error) error {
	l := j.layer
	axis, half, ok := chooseDivision(l)
	combine := lowerHalvesOf(l)
	if !ok && combine == nil {
		return refusal
	}
	// The attempt that failed has left tasks and constants behind.
	o.Constants.Cut(before.Constants.Bytes)
	before.Constants = o.Constants
	*o = before
	if !ok {
		return combine(o, j)
	}

	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	var z place.Memory
	two := l.Op.IsBinary() && l.Second == layer.Runtime
	if two {
		z = o.placePort(j, "z", loader.Input, place.Bar6, l.SecondShape, place.Surface(place.Bar6, l.SecondShape))
	}
	extent := extentAlong(l.In, axis)
	parts := [...]struct{ first, n int }{{0, half}, {half, extent - half}}
	for _, p := range parts {
		if len(o.Tasks) > task.MaxTasks {
			return nil // Lower reports the limit
		}
		part := sublayer{*l, j.weights, ports{"x": advance(x, axis, p.first), "y": advance(y, resultAxis(l, axis), p.first)}}
		setExtent(&part.layer.In, axis, p.n)
		if two {
			part.ports["z"] = z
			if extentAlong(l.SecondShape, axis) == extent {
				setExtent(&part.layer.SecondShape, axis, p.n)
				part.ports["z"] = advance(z, axis, p.first)
			}
		}
		// Constants per channel are divided with the channels.
		if axis == layer.AxisC && len(j.weights.Second) == extent {
			w := *j.weights
			w.Second = w.Second[p.first:][:p.n]
			if len(w.Bias) == extent {
				w.Bias = w.Bias[p.first:][:p.n]
			}
			part.weights = &w
		}
		if err := lowerSublayers(o, l, part); err != nil {
			return refusal
		}
	}
	return nil
}

// lowerHalvesOf returns the function that lowers layer l as smaller layers whose results it combines,
// or nil if there is none.
func lowerHalvesOf(l *layer.Layer) func(o *Output, j job) error {
	several := l.Axes&(l.Axes-1) != 0
	switch {
	case l.HasConstantProduct() && l.In.W > layer.MaxChannels && !l.TransposeX && !l.TransposeY:
		return lowerProductOfHalves
	case l.Op >= layer.ReduceSum && l.Op <= layer.ReduceMin && several:
		return lowerReductionInSteps
	case l.In.Elements() < 2*leastPart:
		return nil
	case (l.Op == layer.Softmax || l.Op == layer.LayerNorm) && l.FoldedRows() > 1:
		return lowerFoldedRows
	case l.Op >= layer.ReduceSum && l.Op <= layer.ReduceMin:
		return lowerReductionOfHalves
	case l.Op == layer.Softmax:
		return lowerSoftmaxAxes
	case l.Op == layer.LayerNorm:
		return lowerLayerNormInSteps
	}
	return nil
}

// lowerProductOfHalves appends the tasks of a matmul whose sums are too long for a task: two matmuls
// with half of the terms each, and the sum of their results.
func lowerProductOfHalves(o *Output, j job) error {
	l, w := j.layer, j.weights
	y := o.placePort(j, "y", loader.Output, place.Bar4, l.Out(), place.Surface(place.Bar4, l.Out()))
	x := o.placePort(j, "x", loader.Input, place.Bar5, l.In, place.Surface(place.Bar5, l.In))
	half := layer.RoundUp((l.In.W+1)/2, 64/layer.ElementBytes)
	var list []sublayer
	var sums [2]place.Memory
	for i, p := range [...]struct{ first, n int }{{0, half}, {half, l.In.W - half}} {
		part, terms := *l, w.Terms(l, p.first, p.n)
		part.In.W, part.Activation = p.n, 0
		if i > 0 {
			part.Bias, terms.Bias = false, nil
		}
		sums[i] = o.allocateTensor(l.Out())
		list = append(list, sublayer{part, terms, ports{"x": advance(x, layer.AxisW, p.first), "y": sums[i]}})
	}
	sum := layer.Binary(layer.Add, l.Out(), l.Out())
	sum.Activation, sum.Epsilon, sum.Alpha, sum.Low, sum.High = l.Activation, l.Epsilon, l.Alpha, l.Low, l.High
	return lowerSublayers(o, l, append(list, sublayer{
		sum, &layer.Weights{Table: w.Table, Tables: w.Tables}, ports{"x": sums[0], "z": sums[1], "y": y},
	})...)
}

// lowerReductionOfHalves appends the tasks that reduce each half of the one axis that l reduces, and
// combine the results.
func lowerReductionOfHalves(o *Output, j job) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	n := extentAlong(l.In, l.Axes)
	half := layer.RoundUp((n+1)/2, 64/layer.ElementBytes)
	if half >= n {
		return l.Unsupportedf("cannot divide %d elements", n)
	}
	var list []sublayer
	var results [2]place.Memory
	for i, p := range [...]struct{ first, n int }{{0, half}, {half, n - half}} {
		part := *l
		setExtent(&part.In, l.Axes, p.n)
		results[i] = o.allocateTensor(l.Out())
		list = append(list, sublayer{part, j.weights, ports{"x": advance(x, l.Axes, p.first), "y": results[i]}})
		if l.Op == layer.ReduceMean { // the mean of all is the sum of the means, each times its share
			share := layer.Layer{Op: layer.Mul, In: l.Out(), Second: layer.Scalar}
			factor := float16.Fromfloat32(float32(p.n) / float32(n))
			list = append(list, sublayer{share, &layer.Weights{Second: []float16.Float16{factor}}, ports{"x": results[i], "y": results[i]}})
		}
	}
	op := map[layer.Op]layer.Op{layer.ReduceSum: layer.Add, layer.ReduceMean: layer.Add, layer.ReduceMax: layer.Max, layer.ReduceMin: layer.Min}[l.Op]
	return lowerSublayers(o, l, append(list, sublayer{
		layer.Binary(op, l.Out(), l.Out()), &layer.Weights{}, ports{"x": results[0], "z": results[1], "y": y},
	})...)
}

// lowerFoldedRows appends the tasks of a softmax or a layer norm whose rows are too wide for a task.
// Each row becomes several rows of a channel, which tasks read and keep in L2 as a whole.
func lowerFoldedRows(o *Output, j job) error {
	l := *j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	rows := l.FoldedRows()
	if l.Axes == layer.AxisW {
		l.In.C, l.In.H, l.Axes = l.In.C*l.In.H, 1, layer.AxisH|layer.AxisW
	}
	l.In.H, l.In.W = l.In.H*rows, l.In.W/rows
	fold := func(m place.Memory) place.Memory {
		at := place.Surface(m.Bar, l.In)
		at.Base = m.Base
		return at
	}
	return lowerSublayers(o, j.layer, sublayer{l, j.weights, ports{"x": fold(x), "y": fold(y)}})
}

// leastPart is the number of elements of the smallest part that lowerInParts makes. It bounds the
// number of tasks where L2 is too small for any part.
const leastPart = 1 << 12

// chooseDivision returns an axis along which layer l can be divided, and where: the first half has
// the given extent. Rows are divided at a multiple of 64 bytes, where DMA can start.
func chooseDivision(l *layer.Layer) (axis layer.Axes, half int, ok bool) {
	whole := layer.Axes(0) // axes along which results depend on each other
	switch {
	case l.Op == layer.LogicalNot:
		return 0, 0, false // 8-bit elements
	case l.Op == layer.Convolution:
		if l.Window != layer.Valid(1, 1) {
			return 0, 0, false
		}
		whole = layer.AxisC
	case l.Op >= layer.ReduceSum && l.Op <= layer.LayerNorm:
		whole = l.Axes
	case l.Op == layer.Transpose && l.Order == layer.SwapBatch:
		whole = layer.AxisC
	case !l.Op.IsActivation() && !l.Op.IsBinary() && l.Op != layer.Transpose:
		return 0, 0, false
	}
	if l.In.Elements() < 2*leastPart {
		return 0, 0, false
	}
	if l.In.W > layer.MaxExtent { // dividing another axis would not help
		whole |= layer.AxisC | layer.AxisH
	} else if l.In.H > layer.MaxExtent {
		whole |= layer.AxisC | layer.AxisW
	}
	const unit = 64 / layer.ElementBytes
	for _, a := range [...]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW} {
		n := extentAlong(l.In, a)
		half := (n + 1) / 2
		if a == layer.AxisW || l.Op == layer.Transpose && resultAxis(l, a) == layer.AxisW {
			half = layer.RoundUp(half, unit)
		}
		if whole&a == 0 && half < n {
			return a, half, true
		}
	}
	return 0, 0, false
}

// resultAxis returns the axis of the result of l that an axis of its input becomes.
func resultAxis(l *layer.Layer, axis layer.Axes) layer.Axes {
	if l.Op == layer.Transpose {
		for i, from := range l.Permutation() {
			if from == axis {
				return layer.AxisC << i
			}
		}
	}
	return axis
}

// extentAlong returns the extent of s along an axis.
func extentAlong(s layer.Shape, axis layer.Axes) int {
	switch axis {
	case layer.AxisC:
		return s.C
	case layer.AxisH:
		return s.H
	}
	return s.W
}

// setExtent sets the extent of s along an axis.
func setExtent(s *layer.Shape, axis layer.Axes, n int) {
	switch axis {
	case layer.AxisC:
		s.C = n
	case layer.AxisH:
		s.H = n
	default:
		s.W = n
	}
}

// advance returns the place of the part of a tensor that begins at element first along an axis.
func advance(m place.Memory, axis layer.Axes, first int) place.Memory {
	switch axis {
	case layer.AxisC:
		m.Base += first * m.Plane
	case layer.AxisH:
		m.Base += first * m.Row
	default:
		m.Base += first * layer.ElementBytes
	}
	return m
}
