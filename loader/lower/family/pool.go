package family

import (
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// No program shows a pooling window, a stride above 3 or a transposed convolution. What
// stands here makes the same values of what programs show: views by DMA strides, planar
// maxima, transposes, stride 1 (inferred).

// lowerPool lowers a maximum over windows to maxima over the rows of each, then over its columns
// with columns as rows.
//
//	x --max of shifted rows--> scratch --transpose--> columns as rows
//	  --max of shifted rows--> scratch --transpose--> y
func lowerPool(o *Output, j job) error {
	l := j.layer
	w, out := l.Window, l.Out()
	x, y := o.input(j, "x", l.In), o.output(j, "y", out)
	rows := l.In
	rows.H = out.H
	turned := layer.Shape{N: rows.N, C: rows.C, H: rows.W, W: rows.H}
	columns := turned
	columns.H = out.W
	if w.Kw == 1 && w.Sx == 1 {
		return maximizeRows(o, l, l.In, out.H, rowTaps(l), x, y)
	}
	high, transposed, both := x, o.allocate(turned), o.allocate(columns)
	if w.Kh > 1 || w.Sy > 1 {
		high = o.allocate(rows)
		if err := maximizeRows(o, l, l.In, out.H, rowTaps(l), x, high); err != nil {
			return err
		}
	}
	if err := transposeRows(o, l, rows, high, transposed); err != nil {
		return err
	}
	columnTaps := axisTaps{l.TapColumns(), w.Sx, max(1, l.Dilation), w.Px}
	if err := maximizeRows(o, l, turned, out.W, columnTaps, transposed, both); err != nil {
		return err
	}
	return transposeRows(o, l, columns, both, y)
}

// transposeRows makes rows columns and columns rows.
func transposeRows(o *Output, l *layer.Layer, s layer.Shape, x, y place.Memory) error {
	turn := layer.Unary(layer.Transpose, s)
	turn.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
	return lowerPieces(o, l, piece{turn, &layer.Weights{}, ports{"x": x, "y": y}})
}

// axisTaps describes a window along one axis: it has count taps, dilation places apart. Windows
// are stride places apart, and the first one begins before places ahead of the tensor.
type axisTaps struct{ count, stride, dilation, before int }

// rowTaps returns the taps of the layer's window along its height.
func rowTaps(l *layer.Layer) axisTaps {
	return axisTaps{l.TapRows(), l.Window.Sy, max(1, l.Dilation), l.Window.Py}
}

// maximizeRows makes each of n rows the largest of those that the taps of its window meet. A
// window's first row is copied, the others join it.
func maximizeRows(o *Output, l *layer.Layer, in layer.Shape, n int, w axisTaps, x, y place.Memory) error {
	begin, end := 0, 0 // rows that have a value
	stride, before := w.stride, w.before
	one := func(tap, first, last int, join bool) error {
		if first >= last {
			return nil
		}
		s := in
		s.H = last - first
		from, to := x, y
		from.Base += (first*stride + tap*w.dilation - before) * x.Row
		from.Row *= stride
		to.Base += first * y.Row
		if join {
			return lowerPieces(o, l, piece{layer.Binary(layer.Max, s, s), &layer.Weights{}, ports{"x": to, "z": from, "y": to}})
		}
		return lowerPieces(o, l, piece{layer.Layer{Op: layer.Slice, In: s, Size: s}, &layer.Weights{}, ports{"x": from, "y": to}})
	}
	// From the tap on the first row outwards the rows with a value stay together.
	start := min(w.count-1, before/w.dilation)
	order := []int{start}
	for d := 1; d < w.count; d++ {
		for _, tap := range [...]int{start + d, start - d} {
			if tap >= 0 && tap < w.count {
				order = append(order, tap)
			}
		}
	}
	for _, tap := range order {
		// Rows whose window has this tap inside the tensor.
		at := tap * w.dilation
		first := max(0, (before-at+stride-1)/stride)
		last := min(n, (in.H-1-at+before+stride)/stride)
		if in.H-1-at+before < 0 || first >= last {
			continue
		}
		if begin == end {
			begin, end = first, first
		}
		if first > end || last < begin {
			return l.Unsupportedf("a window dilated by %d over %d rows leaves rows out between its taps; pool without the dilation", w.dilation, in.H)
		}
		joinFirst, joinLast := max(first, begin), min(last, end)
		if err := one(tap, joinFirst, joinLast, true); err != nil {
			return err
		}
		if err := one(tap, first, min(last, begin), false); err != nil {
			return err
		}
		if err := one(tap, max(first, end), last, false); err != nil {
			return err
		}
		begin, end = min(begin, first), max(end, last)
	}
	if begin != 0 || end != n {
		return l.Errorf("a window that holds no row of the input")
	}
	return nil
}

// nearStride returns the stride of the convolution that one of a longer stride takes its rows from.
func nearStride(stride int) int {
	if stride > layer.MaxStride {
		return 1
	}
	return stride
}

// lowerLongStride convolves without the stride, takes every so many rows by the DMA's strides
// and transposes rows and columns on the way, twice.
func lowerLongStride(o *Output, j job) error {
	l := *j.layer
	w := l.Window
	x, out := o.input(j, "x", l.In), l.Out()
	y := o.output(j, "y", out)
	l.Window.Sy, l.Window.Sx = nearStride(w.Sy), nearStride(w.Sx)
	every, columns := w.Sy/l.Window.Sy, w.Sx/l.Window.Sx
	all := l.Out()
	dense := o.allocate(all)
	rows := all
	rows.H = out.H
	turned := layer.Shape{N: all.N, C: all.C, H: all.W, W: out.H}
	transposed := o.allocate(turned)
	if err := lowerPieces(o, j.layer, piece{l, j.weights, ports{"x": x, "y": dense}}); err != nil {
		return err
	}
	dense.Row *= every
	if err := transposeRows(o, j.layer, rows, dense, transposed); err != nil {
		return err
	}
	transposed.Row *= columns
	turned.H = out.W
	return transposeRows(o, j.layer, turned, transposed, y)
}
