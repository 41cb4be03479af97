package family

import (
	"errors"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// No program shows a pooling window, a stride above 3 or a transposed convolution. The functions of
// this file compute the same values with windows of the planar engine, as a dump of a later target
// counts them, and with operations that programs show: views by DMA strides, planar maxima,
// transposes and convolutions with stride 1. All of it is inferred.

// lowerPool lowers a maximum over windows to two planar tasks: maxima over the rows of each window,
// and over its columns. The dump of a later target counts as many tasks in this order, the second
// of which reads from L2. A window of one row or one column needs one task.
//
//	x --DMA--> maxima of rows --L2--> maxima of columns --> y
//
// The strides of a window have two bits. Longer ones, and dilated windows, are lowered as maxima of
// shifted rows. A window of one element that is not strided is a copy, as there.
func lowerPool(o *Output, j job) error {
	l := j.layer
	w := l.Window
	if l.Dilation > 1 || max(w.Sy, w.Sx) > layer.MaxStride || max(w.Kh, w.Kw, w.Sy, w.Sx) == 1 {
		return lowerShiftedMaxima(o, j)
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	in, out := place.NewView(x, l.In), place.NewView(y, l.Out())
	rows, columns := w, w
	rows.Kw, rows.Sx, rows.Px, rows.Qx = 1, 1, 0, 0
	columns.Kh, columns.Sy, columns.Py, columns.Qy = 1, 1, 0, 0
	// Parts of a tensor that does not fit have fewer channels, because windows overlap in rows.
	split := *l
	split.Axes = layer.AxisH
	one := func(w layer.Window) error {
		return splitTensorToFit(o, &split, in, out, func(in, out place.View) error { return addWindowTask(o, l, w, in, out) })
	}
	switch {
	case w.Kh == 1 && w.Sy == 1:
		return one(columns)
	case w.Kw == 1 && w.Sx == 1:
		return one(rows)
	}
	tasks := len(o.Tasks)
	err := splitTensorToFit(o, &split, in, out, func(in, out place.View) error {
		return addWindowPair(o, l, rows, columns, in, out)
	})
	if limit := (*layer.LimitError)(nil); !errors.As(err, &limit) {
		return err
	}
	// Not even one channel fits in L2, so the maxima of rows go through memory.
	o.Tasks = o.Tasks[:tasks]
	high := l.In
	high.H = l.Out().H
	m := o.allocateTensor(high)
	return lowerSublayers(o, l,
		sublayer{layer.Layer{Op: layer.Pool, In: l.In, Window: rows}, &layer.Weights{}, ports{"x": x, "y": m}},
		sublayer{layer.Layer{Op: layer.Pool, In: high, Window: columns}, &layer.Weights{}, ports{"x": m, "y": y}},
	)
}

// newWindowTask returns the planar task that computes the maximum of each window w of a tensor of
// shape s.
func newWindowTask(s regs.Shape, w *layer.Window, previous, next bool) *task.Task {
	return task.Planar{Form: regs.FormConstant, In: s, Op: task.Largest, Window: w, Previous: previous, Next: next}.Task()
}

// addWindowTask appends the task that computes the maximum of each window w of in and writes it to out.
func addWindowTask(o *Output, l *layer.Layer, w layer.Window, in, out place.View) error {
	t := newWindowTask(in.S, &w, false, false)
	at, err := loadWindowRows(l, t, w, in, 0)
	if err != nil {
		return err
	}
	t.WriteResult(out.M, at)
	o.addTask(t)
	return nil
}

// loadWindowRows makes t, which has window w, load in from memory to L2, after its first used bytes.
// It computes as many rows at a time as there is room for. It returns the address after those
// rows, or a *layer.LimitError if not even the rows of one window fit.
func loadWindowRows(l *layer.Layer, t *task.Task, w layer.Window, in place.View, used int) (end int, err error) {
	at := t.KeptTile() // whole rows, because windows overlap in columns
	room := l.LargestTile() - used
	if err := layer.CheckLimit("size in bytes of the rows of one window in L2", at.Row*min(w.Kh, in.S.Height), max(0, room),
		"split the width or the channels until they have at most %d bytes"); err != nil {
		return 0, err
	}
	rows := in.S.Height
	if at.Row*rows > room {
		rows = min(rows, room/at.Row)
		t.SetTileHeight(min(t.OutShape().Height, (rows-min(w.Kh, rows))/w.Sy+1))
	}
	t.LoadSource1(in.M, at.Rebase(used), false)
	return used + at.Row*rows, nil
}

// addWindowPair appends the two tasks of a maximum over windows of in, which leave the maxima of
// rows in L2. It returns a *layer.LimitError if these need more than half of L2, because the rest
// would hold few rows of in at a time.
func addWindowPair(o *Output, l *layer.Layer, rows, columns layer.Window, in, out place.View) error {
	first := newWindowTask(in.S, &rows, false, true)
	s := first.OutShape()
	second := newWindowTask(s, &columns, true, false)
	kept := place.Packed(s)
	if s.Height > 1 {
		kept = kept.Skew(place.PlanarFetch)
	}
	kept.Group = kept.Row * s.Height
	bytes := kept.Group * s.Groups
	if s.Groups > 1 && bytes > l.LargestTile()/2 {
		return forEachElement(o, in, out, func(in, out place.View) error {
			return addWindowPair(o, l, rows, columns, in, out)
		})
	}
	if err := layer.CheckLimit("size in bytes of the maxima of rows in L2", bytes, l.LargestTile()/2,
		"split the channels until they have at most %d bytes"); err != nil {
		return err
	}
	if _, err := loadWindowRows(l, first, rows, in, bytes); err != nil {
		return err
	}
	tile := first.KeepResultGroups(kept)
	o.addTask(first)
	second.ReadTileGroups(tile, kept)
	second.WriteResult(out.M, bytes)
	o.addTask(second)
	return nil
}

// lowerShiftedMaxima lowers a maximum over windows to maxima over the rows of each window, then over
// its columns, which are transposed to rows.
//
//	x --max of shifted rows--> scratch --transpose--> columns as rows
//	  --max of shifted rows--> scratch --transpose--> y
func lowerShiftedMaxima(o *Output, j job) error {
	l := j.layer
	w, out := l.Window, l.Out()
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", out)
	rows := l.In
	rows.H = out.H
	transposedShape := layer.Shape{N: rows.N, C: rows.C, H: rows.W, W: rows.H}
	columns := transposedShape
	columns.H = out.W
	if w.Kw == 1 && w.Sx == 1 {
		return computeWindowMaxima(o, l, l.In, out.H, rowTaps(l), x, y)
	}
	high, transposed, both := x, o.allocateTensor(transposedShape), o.allocateTensor(columns)
	if w.Kh > 1 || w.Sy > 1 {
		high = o.allocateTensor(rows)
		if err := computeWindowMaxima(o, l, l.In, out.H, rowTaps(l), x, high); err != nil {
			return err
		}
	}
	if err := transposeRows(o, l, rows, high, transposed); err != nil {
		return err
	}
	columnTaps := axisTaps{l.TapColumns(), w.Sx, max(1, l.Dilation), w.Px}
	if err := computeWindowMaxima(o, l, transposedShape, out.W, columnTaps, transposed, both); err != nil {
		return err
	}
	return transposeRows(o, l, columns, both, y)
}

// transposeRows appends the tasks that exchange the rows and the columns of x, of shape s, and
// write y.
func transposeRows(o *Output, l *layer.Layer, s layer.Shape, x, y place.Memory) error {
	turn := layer.Unary(layer.Transpose, s)
	turn.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
	return lowerSublayers(o, l, sublayer{turn, &layer.Weights{}, ports{"x": x, "y": y}})
}

// An axisTaps describes the windows along one axis. Each has count taps that are dilation places
// apart. Windows are stride places apart, and the first one begins before places ahead of the
// tensor.
type axisTaps struct{ count, stride, dilation, before int }

// rowTaps returns the layer's window along the rows: the number of taps, the stride, the dilation
// and the padding before the first row.
func rowTaps(l *layer.Layer) axisTaps {
	return axisTaps{l.TapRows(), l.Window.Sy, max(1, l.Dilation), l.Window.Py}
}

// computeWindowMaxima appends the tasks that compute n rows of y. Each is the maximum of the rows
// of x that window w covers. One task copies the rows of x under one tap of the window, and further
// tasks take the maximum with the rows under the other taps.
func computeWindowMaxima(o *Output, l *layer.Layer, in layer.Shape, n int, w axisTaps, x, y place.Memory) error {
	begin, end := 0, 0 // range of rows of y that have a value
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
			return lowerSublayers(o, l, sublayer{layer.Binary(layer.Max, s, s), &layer.Weights{}, ports{"x": to, "z": from, "y": to}})
		}
		return lowerSublayers(o, l, sublayer{layer.Layer{Op: layer.Slice, In: s, Size: s}, &layer.Weights{}, ports{"x": from, "y": to}})
	}
	// Starting at the tap on the first row, the rows of y with a value stay contiguous.
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
		// Rows of y whose window has this tap inside the tensor.
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
			return l.Unsupportedf("some windows with dilation %d have no tap inside the %d rows of the input; pool without dilation", w.dilation, in.H)
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
		return l.Errorf("found a window outside the input; want at least one row in each window")
	}
	return nil
}

// nativeStride returns stride if the engine supports convolutions with that stride. Otherwise
// it returns 1, and lowerLongStrideConvolution selects rows and columns of the result.
func nativeStride(stride int) int {
	if stride > layer.MaxStride {
		return 1
	}
	return stride
}

// lowerLongStrideConvolution appends the tasks of a convolution whose stride is too long for the
// engine: the convolution without that stride, and transposes that select every stride-th row and
// column by DMA strides.
func lowerLongStrideConvolution(o *Output, j job) error {
	l := *j.layer
	w := l.Window
	x, out := o.placeInput(j, "x", l.In), l.Out()
	y := o.placeOutput(j, "y", out)
	l.Window.Sy, l.Window.Sx = nativeStride(w.Sy), nativeStride(w.Sx)
	every, columns := w.Sy/l.Window.Sy, w.Sx/l.Window.Sx
	all := l.Out()
	dense := o.allocateTensor(all)
	rows := all
	rows.H = out.H
	transposedShape := layer.Shape{N: all.N, C: all.C, H: all.W, W: out.H}
	transposed := o.allocateTensor(transposedShape)
	if err := lowerSublayers(o, j.layer, sublayer{l, j.weights, ports{"x": x, "y": dense}}); err != nil {
		return err
	}
	dense.Row *= every
	if err := transposeRows(o, j.layer, rows, dense, transposed); err != nil {
		return err
	}
	transposed.Row *= columns
	transposedShape.H = out.W
	return transposeRows(o, j.layer, transposedShape, transposed, y)
}
