package family

import (
	"cmp"
	"errors"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerReduction lowers a sum, mean, maximum or minimum. The planar engine reduces the rows and
// columns of a channel, and the MAC engines compute a maximum over channels. Other axes are
// transposed first, so that one of the two applies. The number of descriptors matches all 183
// rows of a public table.
//
//	H W, C H W       planar: the tensor as it is, or its channels as rows and rows as depth
//	W                planar: every row a group
//	C, one pixel     planar: channels as rows
//	sum C            transpose channel and x in L2, then planar
//	max C            MAC engines
//	H                transpose, planar, transpose
//	C W, C H         planar with channels as rows; C, then H (assumed)
//	C, H of extent 1 a copy (one task in the table for C; that it copies is assumed)
func lowerReduction(o *Output, j job) error {
	l := j.layer
	if l.Op == layer.ReduceMin {
		return lowerMinimum(o, j)
	}
	// The planar engine reduces rows and columns of a channel. Strides can make rows of channels, but
	// columns are always adjacent elements, so C and H need two reductions.
	if l.Axes == layer.AxisC|layer.AxisH {
		return lowerTwoReductions(o, j, layer.AxisC)
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	in, out := place.NewView(x, l.In), place.NewView(y, l.Out())
	if l.Out() == l.In && l.Axes&layer.AxisW == 0 {
		return copyUnreduced(o, l, in, out)
	}
	switch l.Axes {
	case layer.AxisH | layer.AxisW:
		return splitTensorToFit(o, l, in, out, func(in, out place.View) error { return reduceChannels(o, l, in, out, 1) })
	case layer.AxisC | layer.AxisH | layer.AxisW:
		return forEachElement(o, in, out, func(in, out place.View) error {
			depth := in.S.Height
			in.M.Row, in.M.Plane, in.M.Depth, in.M.Group = in.M.Plane, in.M.Depth, in.M.Row, in.M.Depth
			in.S.Height, in.S.Channels = in.S.Channels, 1
			// Channels become rows and rows depth, so one task reads the tensor where it is, without a
			// copy.
			return reduceChannels(o, l, in, out, depth)
		})
	case layer.AxisC | layer.AxisW:
		return forEachElement(o, in, out, func(in, out place.View) error {
			in.S.Channels, in.S.Height, in.S.Groups = 1, in.S.Channels, in.S.Height
			in.M.Row, in.M.Plane, in.M.Group = in.M.Plane, in.M.Depth, in.M.Row
			return reduceChannels(o, l, in, out.GroupRows(), 1)
		})
	case layer.AxisW:
		if l.In.H == 1 {
			return reduceChannels(o, l, in.FoldRow(), out, 1)
		}
		return forEachElement(o, in, out, func(in, out place.View) error {
			return reduceChannels(o, l, in.GroupRows(), out.GroupRows(), 1)
		})
	case layer.AxisH:
		return forEachElement(o, in, out, func(in, out place.View) error {
			return splitTensorToFit(o, l, in, out, func(in, out place.View) error { return reduceRows(o, l, in, out) })
		})
	case layer.AxisC:
		switch {
		// Only the maximum over channels is an operation of the MAC engines in known programs. They
		// transpose a sum for the planar engine.
		case l.Op == layer.ReduceMax:
			return computeChannelMaxima(o, l, in, out)
		case l.In.H == 1 && l.In.W == 1:
			return reduceChannels(o, l, in.ChannelsAsRows(), out, 1)
		}
		return forEachElement(o, in, out, func(in, out place.View) error {
			return splitTensorToFit(o, l, in, out, func(in, out place.View) error { return sumPixelChannels(o, l, in, out) })
		})
	}
	return l.Errorf("unknown axes %#x", uint8(l.Axes))
}

// copyUnreduced appends the task that copies in, whose reduced axes have extent 1, to out.
func copyUnreduced(o *Output, l *layer.Layer, in, out place.View) error {
	return splitTensorToFit(o, l, in, out, func(in, out place.View) error {
		t := task.NewCopy(in.S)
		at := t.SourceTile()
		if err := checkRowsFit(l, at, 1); err != nil {
			return err
		}
		rows := min(in.S.Height, l.LargestTile()/at.Row)
		t.SetTileHeight(rows)
		t.LoadSource1(in.M, at, false)
		t.WriteResult(out.M, at.Row*rows)
		o.addTask(t)
		return nil
	})
}

// forEachElement calls f once for each element of the batch, with the views of that element in in
// and out. It stops at the first error and returns it. It also stops once there are more than
// task.MaxTasks tasks, for which Lower returns an error.
func forEachElement(o *Output, in, out place.View, f func(in, out place.View) error) error {
	for n := range in.S.Groups {
		if len(o.Tasks) > task.MaxTasks {
			return nil
		}
		if err := f(in.BatchElement(n), out.BatchElement(n)); err != nil {
			return err
		}
	}
	return nil
}

// splitTensorToFit calls f with in and out. If f returns a *layer.LimitError, splitTensorToFit
// removes the tasks that f appended and repeats this for each half of the tensors, until they fit.
// It divides the channels if l does not reduce them, and otherwise the rows. If it can divide
// neither, it returns the error of f. (How Apple's compiler divides such tensors is not
// known.)
func splitTensorToFit(o *Output, l *layer.Layer, in, out place.View, f func(in, out place.View) error) error {
	tasks, held, scratch := len(o.Tasks), o.held, o.Scratch
	err := f(in, out)
	if limit := (*layer.LimitError)(nil); !errors.As(err, &limit) {
		return err
	}
	cut := place.View.SliceChannels
	n := in.S.Channels
	if axes := l.Axes; axes&layer.AxisC != 0 || n == 1 {
		if cut, n = place.View.SliceRows, in.S.Height; axes&layer.AxisH != 0 || n == 1 {
			return err
		}
	}
	o.Tasks, o.held, o.Scratch = o.Tasks[:tasks], held, scratch
	half := (n + 1) / 2
	if err := splitTensorToFit(o, l, cut(in, 0, half), cut(out, 0, half), f); err != nil {
		return err
	}
	return splitTensorToFit(o, l, cut(in, half, n-half), cut(out, half, n-half), f)
}

// lowerMinimum appends the tasks of a minimum, computed as -max(-x). (This is assumed: none of the
// known programs computes a minimum on the planar engine.)
func lowerMinimum(o *Output, j job) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	negative := o.allocateTensor(l.In)
	least := o.allocateTensor(l.Out())
	minus := &layer.Weights{Second: []float16.Float16{0xbc00}}
	greatest := *l
	greatest.Op = layer.ReduceMax
	return lowerSublayers(o, l,
		sublayer{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, minus, ports{"x": x, "y": negative}},
		sublayer{greatest, j.weights, ports{"x": negative, "y": least}},
		sublayer{layer.Layer{Op: layer.Mul, In: l.Out(), Second: layer.Scalar}, minus, ports{"x": least, "y": y}},
	)
}

// lowerReductionInSteps appends the tasks that reduce one axis of a tensor, the last one that l
// reduces, and then the others of the result.
func lowerReductionInSteps(o *Output, j job) error {
	last := layer.AxisW
	for j.layer.Axes&last == 0 {
		last >>= 1
	}
	return lowerTwoReductions(o, j, last)
}

// lowerTwoReductions appends the tasks that reduce one axis, and then the others of l.
func lowerTwoReductions(o *Output, j job, axis layer.Axes) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.Out())
	first, second := *l, *l
	first.Axes = axis
	second.In, second.Axes = first.Out(), l.Axes&^axis
	between := o.allocateTensor(second.In)
	return lowerSublayers(o, l,
		sublayer{first, j.weights, ports{"x": x, "y": between}},
		sublayer{second, j.weights, ports{"x": between, "y": y}},
	)
}

// valuesPerResult returns the number of input values that each value of the result is computed
// from.
func valuesPerResult(l *layer.Layer) int { return l.In.Elements() / l.Out().Elements() }

// reduceChannels appends the planar task that reduces each channel of each group of in to one
// value. depth is the depth of the source. The error is a *layer.LimitError if there are too many
// groups or the source does not fit in L2.
func reduceChannels(o *Output, l *layer.Layer, in, out place.View, depth int) error {
	if err := layer.CheckLimit("number of row groups", in.S.Groups, layer.MaxGroups, "split the tensor into parts of at most %d rows"); err != nil {
		return err
	}
	r := newReductionTask(l, in.S)
	r.Depth = depth
	t := r.Task()
	if in.Folded {
		t.SetPatch(task.FoldedPatch)
	}
	at := t.SkewedPlanarTile()
	bytes := at.Row * in.S.Height
	if err := layer.CheckLimit("size in bytes of a tile in L2", bytes, l.LargestTile(),
		"split the tensor into tiles of at most %d bytes and reduce their results"); err != nil {
		return err
	}
	t.LoadSource1(in.M, at, false)
	t.WriteResult(out.M, bytes)
	o.addTask(t)
	return nil
}

// newReductionTask returns the planar task that reduces each channel of a source of shape in to one
// value, by the operation of layer l.
func newReductionTask(l *layer.Layer, in regs.Shape) task.Planar {
	r := task.Planar{Form: regs.FormReduction, In: in}
	switch l.Op {
	case layer.ReduceMean:
		r.Mean = valuesPerResult(l)
	case layer.LayerNorm:
		r.Mean = countNormalizedValues(l)
	case layer.ReduceMax:
		r.Op = task.Largest
	}
	return r
}

// transposedRowsLayout returns the layout in L2 of a tensor of shape s after a transpose, when its
// rows hold the channels of s. The rows are spaced to avoid bank conflicts, unless s has one row or
// the engine folds them, that is, splits a long row into four.
func transposedRowsLayout(s regs.Shape) place.Layout {
	l := place.Packed(regs.Shape{Channels: s.Width, Width: s.Channels})
	if s.Height == 1 || s.Channels%place.FoldColumns == 0 {
		return l
	}
	return l.Skew(place.TransposeFetch)
}

// sumPixelChannels appends the tasks that sum the channels of each pixel: a transpose, after which
// a row holds the channels of a pixel, and a planar reduction of the rows. If there is a single
// row, both tasks describe it in the scratch buffer (seen in 2 of 2 programs).
func sumPixelChannels(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	transposed := transposedRowsLayout(s)
	bytes := transposed.Row * s.Height
	prep := task.NewTranspose(s)
	from := prep.SourceTile()
	if err := cmp.Or(
		layer.CheckLimit("number of rows", s.Height, layer.MaxGroups, "split the tensor into parts of at most %d rows"),
		layer.CheckLimit("size in bytes of tiles in L2", bytes+from.Row*s.Height, l.LargestTile(),
			"split the tensor until they have at most %d bytes"),
	); err != nil {
		return err
	}
	prep.LoadSource1(in.M, from.Rebase(bytes), false)
	staged := o.allocateMatrix(s.Width, s.Channels, s.Height == 1)
	var kept *task.Tile
	if s.Height == 1 {
		kept = prep.KeepDescribedResult(transposed, staged)
	} else {
		kept = prep.KeepResult(transposed)
	}
	o.addTask(prep)

	transposedView := place.View{S: regs.Shape{Groups: s.Height, Channels: s.Width, Height: 1, Width: s.Channels}}.FoldRow()
	rows := transposedView.S
	r := newReductionTask(l, rows)
	r.Transposed = true
	t := r.Task()
	if transposedView.Folded {
		t.SetPatch(task.FoldedPatch)
	}
	at := transposed
	at.Row, at.Group = at.Depth, transposed.Row
	if rows.Height > 1 {
		at.Row = rows.Width * layer.ElementBytes
	}
	if s.Height == 1 {
		t.ReadDescribedTile(kept, at, staged)
	} else {
		t.ReadTileGroups(kept, at)
	}
	// The result is a row of pixels. It goes through L2 as a tile, not as a stream (seen in 4 of 4
	// programs).
	dst := out.M
	dst.Group, dst.Row = dst.Row, dst.Plane
	result := place.Packed(regs.Shape{Channels: 1, Width: s.Width}).Rebase(bytes)
	result.Row, result.Group = result.Channel*s.Height, 0
	if s.Height == 1 {
		result.Group = result.Row
	}
	t.WriteThroughTile(dst, result)
	o.addTask(t)
	return nil
}

// allocateMatrix returns a place in the scratch buffer, after the tensors allocated so far, for a
// rows x columns matrix. If used is false, tasks only name that place in their registers without
// accessing it, and the buffer does not grow.
func (o *Output) allocateMatrix(rows, columns int, used bool) place.Memory {
	m := place.Matrix(place.BarScratch, rows, columns)
	m.Row = m.Plane
	m.Base = o.held
	if used {
		o.Scratch = max(o.Scratch, o.held+m.Depth)
	}
	return m
}

// reduceRows appends three tasks that reduce the rows of each channel: one transposes rows to
// columns, a planar task reduces the columns, and one transposes the result back. Every known
// program that reduces rows has these three tasks.
func reduceRows(o *Output, l *layer.Layer, in, out place.View) error {
	v, w := in.SwapChannelsAndRows(), out.SwapChannelsAndRows()
	s := v.S // rows as channels, channels as rows
	transposed := place.Packed(regs.Shape{Channels: s.Width, Width: s.Channels}).Skew(place.TransposeFetch)
	bytes := transposed.Row * s.Height
	prep := task.NewTranspose(s)
	from := prep.SourceTile()
	// One value for each column and channel, column by column.
	each := s.Height * place.UnitBytes
	means := place.Layout{Base: bytes, Channel: place.UnitBytes, Row: s.Width * each, Depth: each, Group: each}
	last := max(bytes+from.Row*s.Height, means.Base+2*means.Row)
	if err := cmp.Or(
		layer.CheckLimit("number of columns", s.Width, layer.MaxGroups, "split the tensor into parts of at most %d columns"),
		layer.CheckLimit("size in bytes of tiles in L2", last, l.L2Bytes()-place.UnitBytes, "split the tensor until they have at most %d bytes"),
	); err != nil {
		return err
	}
	prep.LoadSource1(v.M, from.Rebase(bytes), false)
	kept := prep.KeepResult(transposed)
	o.addTask(prep)

	t := newReductionTask(l, regs.Shape{Groups: s.Width, Channels: s.Height, Height: 1, Width: s.Channels}).Task()
	at := place.Layout{Channel: transposed.Row, Row: transposed.Depth, Depth: transposed.Depth, Group: transposed.Channel}
	t.ReadTileGroups(kept, at)
	reduced := t.KeepResultGroups(means)
	o.addTask(t)

	back := task.NewTranspose(regs.Shape{Groups: 1, Channels: s.Width, Height: s.Height, Width: 1})
	back.SetPatch(task.OnePatchPerTile)
	back.ReadTile(reduced, place.Layout{Base: means.Base, Channel: means.Group, Row: means.Channel, Depth: means.Group})
	back.WriteResult(w.M, means.Base+means.Row)
	o.addTask(back)
	return nil
}

// checkMaximumChannels returns a *layer.LimitError if a task cannot compute a maximum over the
// given number of channels.
func checkMaximumChannels(channels int) error {
	return layer.CheckLimit("number of channels of a maximum", channels, 1<<16-1, "take the maximum of at most %d channels at a time")
}

// computeChannelMaxima appends the MAC task that computes the maximum over the channels of each
// pixel.
func computeChannelMaxima(o *Output, l *layer.Layer, in, out place.View) error {
	if err := checkMaximumChannels(in.S.Channels); err != nil {
		return err
	}
	t := task.NewChannelMaximum(in.S)
	at := t.SourceTile()
	if err := checkRowsFit(l, at, 1); err != nil {
		return err
	}
	rows, tile := TileHeight(l, in.S, layer.Shape{N: 1, C: 1, H: in.S.Height, W: in.S.Width}, &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at, false)
	t.SetTileHeight(tile)
	t.LoadSource1(in.M, at, false)
	t.WriteResult(out.M, at.Row*rows)
	o.addTask(t)
	return nil
}
