package choose

import (
	"slices"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
)

// mergeOtherAxes merges the axes of a tensor of shape dims into N, C, H and W so that the given
// axis stays separate. It returns the merged shape, and which of its axes is the given one.
func mergeOtherAxes(dims []int, axis int) (layer.Shape, layer.Axes) {
	if natural := axis + 4 - len(dims); len(dims) <= 4 && natural > 0 {
		s, _ := ShapeOf(dims)
		return s, [...]layer.Axes{0, layer.AxisC, layer.AxisH, layer.AxisW}[natural]
	}
	if axis == len(dims)-1 {
		s, _ := ShapeOf(dims)
		return s, layer.AxisW
	}
	last := dims[len(dims)-1]
	return layer.Shape{N: graph.Elements(dims[:axis]), C: dims[axis], H: graph.Elements(dims[axis+1:]) / max(1, last), W: last}, layer.AxisC
}

// reduceAxes adds layers that apply the reduction op to each axis i of x for which axes[i] is true;
// the extent of such an axis becomes 1. It uses one layer if the tensor has at most four axes and
// the batch axis is not reduced, and one layer per axis otherwise.
func (n *Chooser) reduceAxes(op layer.Op, x Operand, axes []bool) (Operand, error) {
	d := slices.Clone(x.Dims)
	var set layer.Axes
	natural := len(d) <= 4
	for i, e := range d {
		if !axes[i] || e == 1 {
			continue
		}
		at := i + 4 - len(d)
		// The batch is no axis that the engine reduces. Merged with others, it becomes one.
		if at <= 0 {
			natural = false
			continue
		}
		set |= [...]layer.Axes{0, layer.AxisC, layer.AxisH, layer.AxisW}[at]
	}
	natural = natural && set != 0
	if natural {
		for i := range d {
			if axes[i] {
				d[i] = 1
			}
		}
		return n.addLayer(layer.Reduction(op, x.shape(), set), layer.Weights{}, d, x)
	}
	// Reduce one axis at a time, the last first.
	for i := len(d) - 1; i >= 0; i-- {
		if !axes[i] || d[i] == 1 {
			continue
		}
		s, axis := mergeOtherAxes(d, i)
		d[i] = 1
		var err error
		if x, err = n.addLayer(layer.Reduction(op, s, axis), layer.Weights{}, slices.Clone(d), x); err != nil {
			return x, err
		}
	}
	return x, nil
}

// multiplyAxisByMatrix adds layers that multiply each vector along an axis of x by a constant
// matrix of out rows. The product can select, repeat or mix the elements of the axis. weight(o, i)
// is the element of the matrix in row o and column i.
func (n *Chooser) multiplyAxisByMatrix(x Operand, axis, out int, weight func(o, i int) float64) (Operand, error) {
	in := x.Dims[axis]
	if err := n.Spend(HalfBytes * out * in); err != nil {
		return x, err
	}
	result := slices.Clone(x.Dims)
	result[axis] = out
	matrix := make([]float16.Float16, out*in)
	for o := range out {
		for i := range in {
			matrix[o*in+i] = float16.Fromfloat32(float32(weight(o, i)))
		}
	}
	if axis == len(x.Dims)-1 {
		l := layer.Layer{Op: layer.Linear, In: x.shape(), Second: layer.Constant, Columns: out}
		return n.addLayer(l, layer.Weights{Filter: matrix}, result, x)
	}
	last := x.Dims[len(x.Dims)-1]
	s := layer.Shape{N: graph.Elements(x.Dims[:axis]), C: in, H: graph.Elements(x.Dims[axis+1:]) / max(1, last), W: last}
	return n.addLayer(layer.Conv(s, out, layer.Valid(1, 1)), layer.Weights{Filter: matrix}, result, x)
}

// selectElements adds layers that select the elements of an axis that index lists, in that order.
// Up to three runs of consecutive indices become slices that are concatenated. Otherwise, x is
// multiplied by a matrix of ones and zeros.
func (n *Chooser) selectElements(x Operand, axis int, index []int) (Operand, error) {
	const maxRuns = 3
	var runs [][2]int
	for _, i := range index {
		if k := len(runs) - 1; k >= 0 && runs[k][0]+runs[k][1] == i {
			runs[k][1]++
		} else {
			runs = append(runs, [2]int{i, 1})
		}
	}
	if len(runs) > maxRuns {
		return n.multiplyAxisByMatrix(x, axis, len(index), func(o, i int) float64 { return graph.Truth(index[o] == i) })
	}
	var parts []Operand
	for _, r := range runs {
		p, err := n.sliceAxis(x, axis, r[0], r[1])
		if err != nil {
			return x, err
		}
		parts = append(parts, p)
	}
	return n.concatenate(axis, parts)
}

// sliceAxis adds layers that select size elements along an axis of x, starting with element begin.
// It adds none if these are all elements of the axis.
func (n *Chooser) sliceAxis(x Operand, axis, begin, size int) (Operand, error) {
	if begin == 0 && size == x.Dims[axis] {
		return x, nil
	}
	d := slices.Clone(x.Dims)
	d[axis] = size
	in, set := mergeOtherAxes(x.Dims, axis)
	out, _ := mergeOtherAxes(d, axis)
	l := layer.Layer{Op: layer.Slice, In: in, Size: out}
	switch set {
	case layer.AxisC:
		l.Begin.C = begin
	case layer.AxisH:
		l.Begin.H = begin
	case layer.AxisW:
		l.Begin.W = begin
	}
	return n.addLayer(l, layer.Weights{}, d, x)
}

// concatenate adds layers that join tensors along an axis, at most 16 at a time. To join columns,
// channels and columns are transposed first, and transposed back afterwards.
func (n *Chooser) concatenate(axis int, parts []Operand) (Operand, error) {
	const most = 16 // inputs of one Concat layer
	if len(parts) == 1 {
		return parts[0], nil
	}
	if len(parts) > most {
		var groups []Operand
		for first := 0; first < len(parts); first += most {
			g, err := n.concatenate(axis, parts[first:min(first+most, len(parts))])
			if err != nil {
				return g, err
			}
			groups = append(groups, g)
		}
		return n.concatenate(axis, groups)
	}
	d := slices.Clone(parts[0].Dims)
	d[axis] = 0
	for _, p := range parts {
		d[axis] += p.Dims[axis]
	}
	// Rows that are too long for a task are joined as lines of 64 bytes, if each part is several of them.
	const line = 64 / HalfBytes
	if last := len(d) - 1; axis == last && d[last] > layer.MaxExtent && !slices.ContainsFunc(parts, func(p Operand) bool { return p.Dims[last]%line != 0 }) {
		lines := make([]Operand, len(parts))
		for i, p := range parts {
			lines[i] = p.As(graph.Elements(d[:last]), p.Dims[last]/line, line)
		}
		y, err := n.concatenate(1, lines)
		return y.As(d...), err
	}
	// Parts of a row begin at any byte, and tasks write at multiples of 64. Parts of the channels always
	// begin at one.
	if last := len(d) - 1; axis == last && last > 0 && graph.Elements(d[:last]) > 1 {
		// The channels become the columns of the transposed tensor. With few channels, a row of it would have
		// more padding than elements, as a row takes 64 bytes: then all axes before the last one are channels.
		// [1,64,6400] and [1,64,2000] take 148 us instead of 1,439 so.
		rows := graph.Elements(d[:last])
		merge := rows <= layer.MaxExtent && parts[0].shape().C < 16
		swapped := make([]Operand, len(parts))
		for i, p := range parts {
			if merge {
				p = p.As(1, rows, 1, p.Dims[last])
			}
			var err error
			if swapped[i], err = n.swapChannelsAndColumns(p); err != nil {
				return p, err
			}
		}
		s := swapped[0].shape()
		s.C = d[last]
		l := layer.Layer{Op: layer.Concat, In: s}
		for _, p := range swapped {
			l.Parts = append(l.Parts, p.shape().C)
		}
		y, err := n.addLayer(l, layer.Weights{}, nil, swapped...)
		if err != nil {
			return y, err
		}
		y, err = n.swapChannelsAndColumns(y)
		return y.As(d...), err
	}
	s, set := mergeOtherAxes(d, axis)
	if set != layer.AxisC {
		last := d[len(d)-1]
		if axis == len(d)-1 {
			last = 1
		}
		s = layer.Shape{N: graph.Elements(d[:axis]), C: d[axis], H: graph.Elements(d[axis+1:]) / max(1, last), W: last}
	}
	l := layer.Layer{Op: layer.Concat, In: s}
	for _, p := range parts {
		l.Parts = append(l.Parts, p.Dims[axis])
	}
	return n.addLayer(l, layer.Weights{}, d, parts...)
}
