package family

import (
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerInParts appends the tasks of a layer that exceeds a limit as a whole. It divides the layer
// into two along an axis on which results depend on their own part of the sources only; each half
// may be divided again. o is first reset to before, its state before the attempt that failed with
// refusal. If no axis can be divided, lowerInParts returns refusal. (How the vendor's compiler
// divides such layers is not known.)
func lowerInParts(o *Output, before Output, j job, refusal error) error {
	l := j.layer
	axis, half, ok := chooseDivision(l)
	stepwise := !ok && l.Op >= layer.ReduceSum && l.Op <= layer.ReduceMin && l.Axes&(l.Axes-1) != 0
	if !ok && !stepwise {
		return refusal
	}
	o.Constants.Cut(before.Constants.Bytes)
	before.Constants = o.Constants
	*o = before
	if stepwise {
		return lowerReductionInSteps(o, j)
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
	case !l.Op.IsActivation() && !l.Op.IsBinary() && l.Op != layer.Transpose:
		return 0, 0, false
	}
	if l.In.Elements() < 2*leastPart {
		return 0, 0, false
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
