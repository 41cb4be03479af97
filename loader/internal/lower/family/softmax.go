package family

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerSoftmax lowers exp(x - max) / sum over an axis. The exponentials overwrite the
// differences, and the reciprocal of the sum overwrites the maximum. The number of descriptors
// matches all 183 rows of a public table.
//
//	over C            max (MAC), difference, 2^d (MAC), 1/sum (MAC), product
//	   one channel    difference, 2^d, 1/sum, product
//	over H            the same with C and H transposed; the product reads them as they are
//	over W, one row   max (planar), difference, 2^d (MAC), 1/sum (planar), product
//	over H and W      the same (inferred from layer norms)
//	over W            a copy before them; rows are groups, or of one channel channels
func lowerSoftmax(o *Output, j job) error {
	l := j.layer
	if len(j.weights.Table) != coeff.TableBytes || len(j.weights.Reciprocal) != coeff.TableBytes {
		return l.Errorf("tables of 2^x and 1/x have %d and %d bytes; want %d each", len(j.weights.Table), len(j.weights.Reciprocal), coeff.TableBytes)
	}
	if l.Axes&(l.Axes-1) != 0 && l.Axes != layer.AxisH|layer.AxisW {
		return lowerSoftmaxAxes(o, j)
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	in, out := place.NewView(x, l.In), place.NewView(y, l.In)
	var each func(in, out place.View) error
	switch l.Axes {
	case layer.AxisC:
		if err := checkMaximumChannels(l.In.C); err != nil {
			return err
		}
		each = func(in, out place.View) error { return lowerSoftmaxChannels(o, j, in, out, out.S) }
	case layer.AxisH:
		if err := checkMaximumChannels(l.In.H); err != nil {
			return err
		}
		each = func(in, out place.View) error {
			return lowerSoftmaxChannels(o, j, in.SwapChannelsAndRows(), out, out.S)
		}
	case layer.AxisH | layer.AxisW:
		return forEachElement(o, in, out, func(in, out place.View) error {
			return splitTensorToFit(o, l, in, out, func(in, out place.View) error { return lowerSoftmaxWithinChannels(o, j, in, out) })
		})
	case layer.AxisW:
		each = func(in, out place.View) error { return lowerSoftmaxWithinChannels(o, j, in, out) }
		if l.In.H > 1 {
			each = func(in, out place.View) error { return lowerSoftmaxRows(o, j, in, out) }
		}
		// Only over W does a known program show how tasks pass on a tensor that does not fit in L2. Over
		// other axes it is divided into parts that fit.
		if streamsBetweenTasks(l) {
			return lowerStreamedSoftmax(o, j, in, out)
		}
		// The ring is tried only if one batch of rows does not fit: a tensor that fits stays in L2 between
		// its tasks.
		if s := in.S; s.Groups == 1 && s.Height > 1 && place.Packed(s).Row*s.Height > l.LargestTile() && tryLowerSoftmaxRing(o, j, in, out) {
			return nil
		}
	}
	return forEachElement(o, in, out, func(in, out place.View) error { return splitRowsToFit(o, l, in, out, each) })
}

// lowerSoftmaxAxes appends the tasks of a softmax over several axes. It lowers the softmax to
// separate layers that pass their results through the scratch buffer (inferred; none of the known
// programs does this).
func lowerSoftmaxAxes(o *Output, j job) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	reduced := layer.Reduction(layer.ReduceMax, l.In, l.Axes)
	one := reduced.Out()
	largest, differences, powers, sum := o.allocateTensor(one), o.allocateTensor(l.In), o.allocateTensor(l.In), o.allocateTensor(one)
	power := layer.Unary(layer.Exp, l.In)
	return lowerSublayers(o, l,
		sublayer{reduced, &layer.Weights{}, ports{"x": x, "y": largest}},
		sublayer{layer.Binary(layer.Sub, l.In, one), &layer.Weights{}, ports{"x": x, "z": largest, "y": differences}},
		sublayer{power, &layer.Weights{Table: j.weights.Table}, ports{"x": differences, "y": powers}},
		sublayer{layer.Reduction(layer.ReduceSum, l.In, l.Axes), &layer.Weights{}, ports{"x": powers, "y": sum}},
		sublayer{layer.Binary(layer.RealDiv, l.In, one), &layer.Weights{Table: j.weights.Reciprocal}, ports{"x": powers, "z": sum, "y": y}},
	)
}

// splitRowsToFit calls f for views of in and out with as many rows as fit in L2 at a time. A
// softmax over H needs all rows, so splitRowsToFit divides its channels instead. It returns the
// first error of f, or a *layer.LimitError if not even one row fits.
func splitRowsToFit(o *Output, l *layer.Layer, in, out place.View, f func(in, out place.View) error) error {
	extent, overH := in.S.Height, l.Axes == layer.AxisH
	if overH {
		// Rows cannot be split, because softmax is over all rows of a column.
		return splitTensorToFit(o, l, in, out, func(in, out place.View) error {
			if err := checkSoftmaxFits(l, softmaxBytes(in.SwapChannelsAndRows().S)); err != nil {
				return err
			}
			return f(in, out)
		})
	}
	rows := extent
	part := in.S
	bytes := softmaxBytes
	if l.Axes == layer.AxisW && extent > 1 {
		bytes = softmaxRowsBytes
	}
	// Halving, as in other families. How the compiler divides such tensors is not known.
	for rows > 1 && bytes(part) > l.LargestTile() {
		rows = (rows + 1) / 2
		part.Height = rows
	}
	if err := layer.CheckLimit("size in bytes of the tiles of a row in L2", bytes(part), l.LargestTile(),
		"split the other axes until they have at most %d bytes"); err != nil {
		return err
	}
	for first := 0; first < extent; first += rows {
		m := min(rows, extent-first)
		if err := f(in.SliceRows(first, m), out.SliceRows(first, m)); err != nil {
			return err
		}
	}
	return nil
}

// softmaxBytes returns an upper bound for how many bytes of L2 the tiles of a softmax over a tensor
// of shape s occupy.
func softmaxBytes(s regs.Shape) int {
	row := place.Packed(s).Row + 0x100
	return (3*row + s.Width*place.UnitBytes*2) * s.Height
}

// checkSoftmaxFits returns a *layer.LimitError if the tiles of a softmax, which need the given number
// of bytes, do not fit in L2.
func checkSoftmaxFits(l *layer.Layer, bytes int) error {
	return layer.CheckLimit("size in bytes of the tiles in L2", bytes, l.LargestTile(),
		"split the other axes until they have at most %d bytes")
}

// softmaxRowsBytes returns how many bytes of L2 the tiles of lowerSoftmaxRows occupy: up to three
// copies of the tensor, and a value for each row.
func softmaxRowsBytes(s regs.Shape) int {
	held := place.Packed(s)
	exps := held.Skew(place.PlanarFetch)
	bytes := 2*held.Row + s.Channels*place.UnitBytes
	if exps.Row != held.Row {
		bytes += exps.Row
	}
	return bytes * s.Height
}

// newDifferenceTask returns the planar task that subtracts the maximum, which is its second source,
// and scales the difference for a table of 2^x. previous says whether the task before it runs on
// the planar engine.
func newDifferenceTask(s regs.Shape, second task.SourceView, previous bool) task.Planar {
	e := pass.Exponent(s)
	e.Second, e.Previous = second, previous
	return e
}

// newQuotientTask returns the planar task that multiplies exponentials by the reciprocal of their
// sum, which is its first source. previous says whether the task before it runs on the planar
// engine.
func newQuotientTask(s regs.Shape, first task.SourceView, previous bool) task.Planar {
	q := pass.Product(s)
	q.First, q.Previous = first, previous
	return q
}

// addPowerTask appends and returns the MAC task that looks up 2^d in a table for the differences d,
// which it reads from tile from with the given layout. A planar task writes that tile piece by
// piece while this task reads it.
func addPowerTask(o *Output, j job, s regs.Shape, from *task.Tile, layout place.Layout) *task.Task {
	t := task.NewCopy(s)
	t.SetPatch(task.FixedPatch(task.LinkedPatchLog2(s)))
	t.ReadTile(from, from.At)
	t.SetTable(o.Constants.PlaceTable(j.weights.Table, t.TableLanes()), j.weights.Table)
	o.addTask(t)
	return t
}

// lowerSoftmaxChannels appends the tasks of a softmax over the channels of in, with a result of
// shape s. For a softmax over rows, in is a view with channels and rows exchanged.
func lowerSoftmaxChannels(o *Output, j job, in, out place.View, s regs.Shape) error {
	v := in.S
	if v.Channels == 1 {
		return lowerSoftmaxOneChannel(o, j, in, out)
	}
	one := v
	one.Channels = 1
	single := place.Packed(one)
	exps := place.Packed(v)
	pixel := v.Height == 1 && v.Width == 1
	if v.Height > 1 {
		single = single.Skew(place.PlanarFetch)
		exps = exps.Skew(place.PlanarFetch)
	}
	singles := single.Row * v.Height
	// The exponentials overwrite the differences and the reciprocals the maxima, so L2 holds one tile of
	// each.
	exps = exps.Rebase(singles)
	bytes := exps.Row * v.Height
	free := exps.Base + bytes
	diffs, source := exps, exps.Rebase(free)
	if pixel {
		diffs = place.Packed(regs.Shape{Channels: 1, Width: v.Channels}).Rebase(free)
		source.Base += diffs.Row
	}

	top := task.NewChannelMaximum(v)
	top.SetPatch(task.KeptPatch(v))
	x := top.LoadSource1(in.M, source, true)
	largest := top.KeepResult(single)
	o.addTask(top)

	difference := newDifferenceTask(v, task.SourceView{Repeat: task.C}, false)
	difference.Transposed = pixel
	sub := difference.Task()
	sub.ReadTile(x, source)
	sub.ReadSecondTile(largest, single)
	var exp *task.Task
	if pixel {
		exp = addPixelPowerTask(o, j, sub, v.Channels, diffs)
	} else {
		sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(v)))
		differences := sub.KeepResult(exps)
		o.addTask(sub)
		exp = addPowerTask(o, j, v, differences, exps)
	}
	powers := exp.KeepResult(exps)
	reciprocals := addReciprocalSum(o, j, v, powers, single, pixel)

	along, second := task.C, exps
	if j.layer.Axes == layer.AxisH { // C and H may have the same extent
		single.Channel, single.Row, single.Depth = single.Row, single.Channel, single.Row
		second.Channel, second.Row, second.Depth = exps.Row, exps.Channel, exps.Row
		along = task.H
	}
	mul := newQuotientTask(s, task.SourceView{Repeat: along}, false).Task()
	mul.ReadTile(reciprocals, single)
	mul.ReadSecondTile(powers, second)
	mul.WriteResult(out.M, free)
	o.addTask(mul)
	return nil
}

// addPixelPowerTask appends the planar task sub, which computes the differences of one pixel, and
// the task that computes their exponentials. It returns the latter. Between the two, the pixel's
// channels become a row, so that sixteen engines share the work. As in the only known program, the
// registers of both tasks name a place in the scratch buffer for that row.
func addPixelPowerTask(o *Output, j job, sub *task.Task, channels int, layout place.Layout) *task.Task {
	row := o.allocateMatrix(1, channels, true)
	row.Row = row.Depth
	differences := sub.KeepDescribedResult(layout, row)
	o.addTask(sub)
	exp := task.NewTranspose(regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: channels})
	exp.SetPatch(task.FixedPatch(0)) // the preference for few pixels applies to DMA sources only
	exp.ReadDescribedTile(differences, differences.At, row)
	exp.SetTable(o.Constants.PlaceTable(j.weights.Table, exp.TableLanes()), j.weights.Table)
	o.addTask(exp)
	return exp
}

// addReciprocalSum appends the MAC task that computes 1 / (sum over the channels) for each pixel,
// and returns the tile with the reciprocals. The task reads tile from. The task applies the table
// of 1/x to its sums. Softmax over W does not need this table, because the planar engine computes
// reciprocals itself.
func addReciprocalSum(o *Output, j job, s regs.Shape, from *task.Tile, to place.Layout, pixel bool) *task.Tile {
	one := s
	one.Channels = 1
	t := task.MAC{Op: regs.MantissaTable, In: s, Out: one, Window: task.Pointwise}.Task()
	if s.Height > 1 && s.Width > 8 {
		t.SetPatch(task.FixedPatch(t.PatchLog2()))
	}
	t.ReadTile(from, from.At)
	t.SetTable(o.Constants.PlaceTable(j.weights.Reciprocal, t.TableLanes()), j.weights.Reciprocal)
	reciprocals := t.KeepResult(to)
	o.addTask(t)
	return reciprocals
}

// lowerSoftmaxOneChannel appends the tasks of a softmax over the channels of a tensor with a single
// channel. There every element is its own maximum, so the first task subtracts the input from
// itself.
func lowerSoftmaxOneChannel(o *Output, j job, in, out place.View) error {
	s := in.S
	exps := place.Packed(s)
	if s.Height > 1 || s.Width == 1 {
		exps = exps.Skew(place.PlanarFetch)
	}
	bytes := exps.Row * s.Height
	sub := newDifferenceTask(s, task.SourceView{Repeat: task.C}, false).Task()
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	at := sub.PlanarTile()
	sub.LoadSource1(in.M, at.Rebase(bytes), false)
	sub.LoadSource2(in.M, at.Rebase(bytes+at.Row*s.Height))
	differences := sub.KeepResult(exps)
	o.addTask(sub)
	powers := addPowerTask(o, j, s, differences, exps).KeepResult(exps)
	second := place.SecondBase(bytes) // the product reads both
	reciprocals := addReciprocalSum(o, j, s, powers, exps.Rebase(second), false)
	mul := newQuotientTask(s, task.SourceView{Repeat: task.C}, false).Task()
	mul.ReadTile(reciprocals, reciprocals.At)
	mul.ReadSecondTile(powers, exps)
	mul.WriteResult(out.M, second+bytes)
	o.addTask(mul)
	return nil
}

// lowerSoftmaxWithinChannels appends the tasks of a softmax over the rows and columns of each channel
// of in. The maxima of several channels are stored as one row.
func lowerSoftmaxWithinChannels(o *Output, j job, in, out place.View) error {
	s := in.S
	many := s.Channels > 1
	// In L2, the reciprocals of the sums take the place of the maxima, and the powers that of the differences.
	// The source comes last, because only the first two tasks read it: the result then passes there.
	single := place.Packed(regs.Shape{Channels: 1, Width: s.Channels})
	exps := place.Packed(s)
	if s.Height > 1 {
		exps = exps.Skew(place.PlanarFetch)
	}
	exps = exps.Rebase(single.Row)
	end := exps.Base + exps.Row*s.Height
	// The channels of one pixel become a row for the table (seen in 3 of 3 programs, from their
	// constants and scratch).
	pixel := many && s.Width == 1 && s.Height == 1
	diffs, free := exps, end
	if pixel {
		diffs = place.Packed(regs.Shape{Channels: 1, Width: s.Channels}).Rebase(end)
		free += diffs.Row
	}
	top := task.Planar{Form: regs.FormReduction, In: s, Op: task.Largest, Transposed: many, Next: true}.Task()
	source := top.KeptTile().Rebase(free)
	if err := checkSoftmaxFits(j.layer, source.Base+source.Row*s.Height); err != nil {
		return err
	}
	x := top.LoadSource1(in.M, source, true)
	largest := top.KeepResult(single)
	o.addTask(top)

	row := task.SourceView{Repeat: task.W.If(s.Width > 1) | task.H.If(s.Height > 1), Transposed: many}
	difference := newDifferenceTask(s, row, true)
	difference.Transposed = pixel
	sub := difference.Task()
	if !pixel {
		sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	}
	sub.ReadTile(x, source)
	sub.ReadSecondTile(largest, single)
	var exp *task.Task
	if pixel {
		exp = addPixelPowerTask(o, j, sub, s.Channels, diffs)
	} else {
		differences := sub.KeepResult(exps)
		o.addTask(sub)
		exp = addPowerTask(o, j, s, differences, exps)
	}
	powers := exp.KeepResult(exps)

	sum := task.Planar{Form: regs.FormReduction, In: s, Reciprocal: true, Transposed: many, Next: true}.Task()
	sum.ReadTile(powers, exps)
	reciprocals := sum.KeepResult(single)
	o.addTask(sum)

	mul := newQuotientTask(s, row, true).Task()
	mul.ReadTile(reciprocals, single)
	mul.ReadSecondTile(powers, exps)
	mul.WriteResult(out.M, end)
	o.addTask(mul)
	return nil
}

// lowerSoftmaxRows appends the tasks of a softmax over the columns of several rows, after a task
// that copies the rows to L2. Rows are read as groups, or as channels if in has one channel.
func lowerSoftmaxRows(o *Output, j job, in, out place.View) error {
	s := in.S
	alone := s.Channels == 1
	copied := task.NewCopy(s)
	if alone {
		copied.SetPatch(task.SlicedPatch(s))
	}
	held := place.Packed(s)
	exps := held.Skew(place.PlanarFetch)
	if alone {
		if s.Width%place.FoldColumns == 0 {
			held.Depth = held.Row * s.Height // rows can fold (seen in 2 of 2 programs)
		}
	} else {
		held = exps
	}
	bytes := held.Row * s.Height
	each := s.Channels * place.UnitBytes
	stats := place.Layout{Channel: place.UnitBytes, Row: s.Height * each, Depth: each, Group: each}
	flat := place.Layout{Channel: place.UnitBytes, Row: each, Depth: each}
	if alone {
		stats.Row = s.Height * place.UnitBytes
		stats.Depth, stats.Group = stats.Row, 0
		flat = place.Layout{Channel: stats.Row, Row: place.UnitBytes, Depth: stats.Row}
	}
	// L2 holds the copy, which the sums overwrite; the powers; the differences, if their rows are
	// longer than those of the powers (seen in 2 of 2 programs); and the maxima.
	powersAt, differencesAt := bytes, bytes
	if exps.Row != held.Row {
		differencesAt = 2 * bytes
	}
	maxima := differencesAt + exps.Row*s.Height
	from := copied.SourceTile().Rebase(bytes)
	copied.LoadSource1(in.M, from, false)
	x := copied.KeepResult(held)
	o.addTask(copied)

	tiles := rowTiles{s, held, stats}
	largest := tiles.reduceRows(o, x, 0, maxima, task.Planar{Op: task.Largest})
	row := task.SourceView{Repeat: task.W.If(s.Width > 1)}
	sub := newDifferenceTask(s, row, true).Task()
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	sub.ReadTile(x, held)
	sub.ReadSecondTile(largest, flat.Rebase(maxima))
	differences := sub.KeepResult(exps.Rebase(differencesAt))
	o.addTask(sub)
	powers := addPowerTask(o, j, s, differences, exps).KeepResult(held.Rebase(powersAt))
	reciprocals := tiles.reduceRows(o, powers, powersAt, 0, task.Planar{Reciprocal: true})

	mul := newQuotientTask(s, row, true).Task()
	mul.ReadTile(reciprocals, flat)
	mul.ReadSecondTile(powers, held.Rebase(powersAt))
	mul.WriteResult(out.M, powersAt+bytes)
	o.addTask(mul)
	return nil
}

// A rowTiles holds the layouts of lowerSoftmaxRows: rows in L2, and a value for each of them.
type rowTiles struct {
	s           regs.Shape
	held, stats place.Layout
}

// reduceRows appends the tasks that reduce each row of a tile to one value, by task r, and returns
// the tile with the results. from is the tile to read; base and to are the L2 addresses of the
// source and of the results. The tasks read rows as groups, or as channels if the tensor has one
// channel.
func (w rowTiles) reduceRows(o *Output, from *task.Tile, base, to int, r task.Planar) (last *task.Tile) {
	s, alone, parts := w.s, w.s.Channels == 1, 1
	if alone {
		parts = (s.Height + maxStatistics - 1) / maxStatistics
	}
	for i := range parts {
		rows := place.View{S: regs.Shape{Groups: s.Height, Channels: s.Channels, Height: 1, Width: s.Width}}
		at := place.Layout{Base: base, Channel: from.At.Channel, Row: from.At.Depth, Depth: from.At.Depth, Group: from.At.Row}
		result := w.stats.Rebase(to)
		if alone {
			first := i * maxStatistics
			rows = place.View{S: regs.Shape{Groups: 1, Channels: min(maxStatistics, s.Height-first), Height: 1, Width: s.Width}}.FoldRow()
			at = place.Layout{Base: base + first*w.held.Row, Channel: w.held.Row, Row: rows.S.Width * layer.ElementBytes, Depth: w.held.Depth}
			if rows.S.Height == 1 {
				at.Row = w.held.Row
			}
			result.Base += first * place.UnitBytes
		}
		r.Form, r.In, r.Previous, r.Next = regs.FormReduction, rows.S, i > 0, true
		t := r.Task()
		if rows.Folded {
			t.SetPatch(task.FoldedPatch)
		}
		t.ReadTileGroups(from, at)
		last = t.KeepResultGroups(result)
		o.addTask(t)
	}
	last.At = w.stats.Rebase(to)
	return last
}
