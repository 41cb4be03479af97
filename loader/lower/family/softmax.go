package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerSoftmax lowers exp(x - max) / sum over an axis. Differences and exponentials stand in
// the same place, the reciprocal of the sum in the maximum's.
//
//	over C            max (MAC), difference, 2^d (MAC), 1/sum (MAC), product
//	   one channel    difference, 2^d, 1/sum, product
//	over H            the same with C and H transposed; the product reads them as they are
//	over W, one row   max (planar), difference, 2^d (MAC), 1/sum (planar), product
//	over W            a copy before them; rows are groups, or of one channel channels
//
// (183/183 rows of a public table have so many descriptors.)
func lowerSoftmax(o *Output, j job) error {
	l := j.layer
	if len(j.weights.Table) != coeff.TableBytes || len(j.weights.Reciprocal) != coeff.TableBytes {
		return l.Errorf("softmax takes the table of 2^x and the one of 1/x, %d bytes each", coeff.TableBytes)
	}
	if l.Axes&(l.Axes-1) != 0 {
		return lowerSoftmaxAxes(o, j)
	}
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	in, out := place.NewView(x, l.In), place.NewView(y, l.In)
	var each func(in, out place.View) error
	switch l.Axes {
	case layer.AxisC:
		if err := checkUnicast(l.In.C); err != nil {
			return err
		}
		each = func(in, out place.View) error { return softmaxChannels(o, j, in, out, out.S) }
	case layer.AxisH:
		if err := checkUnicast(l.In.H); err != nil {
			return err
		}
		each = func(in, out place.View) error { return softmaxChannels(o, j, in.SwapChannelsAndRows(), out, out.S) }
	case layer.AxisW:
		each = func(in, out place.View) error { return softmaxRow(o, j, in, out) }
		if l.In.H > 1 {
			each = func(in, out place.View) error { return softmaxRows(o, j, in, out) }
		}
		if passes(l) {
			return softmaxStreams(o, j, in, out)
		}
		if s := in.S; s.Groups == 1 && s.Height > 1 && place.Packed(s).Row*s.Height > l.LargestTile() && trySoftmaxRing(o, j, in, out) {
			return nil
		}
	}
	return eachElement(in, out, func(in, out place.View) error { return eachRun(o, l, in, out, each) })
}

// lowerSoftmaxAxes lowers softmax over several axes, step by step through the scratch buffer: no
// program shows one (inferred).
func lowerSoftmaxAxes(o *Output, j job) error {
	l := j.layer
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	reduced := layer.Reduction(layer.ReduceMax, l.In, l.Axes)
	one := reduced.Out()
	largest, differences, powers, sum := o.allocate(one), o.allocate(l.In), o.allocate(l.In), o.allocate(one)
	power := layer.Unary(layer.Exp, l.In)
	return lowerPieces(o, l,
		piece{reduced, &layer.Weights{}, ports{"x": x, "y": largest}},
		piece{layer.Binary(layer.Sub, l.In, one), &layer.Weights{}, ports{"x": x, "z": largest, "y": differences}},
		piece{power, &layer.Weights{Table: j.weights.Table}, ports{"x": differences, "y": powers}},
		piece{layer.Reduction(layer.ReduceSum, l.In, l.Axes), &layer.Weights{}, ports{"x": powers, "y": sum}},
		piece{layer.Binary(layer.RealDiv, l.In, one), &layer.Weights{Table: j.weights.Reciprocal}, ports{"x": powers, "z": sum, "y": y}},
	)
}

// eachRun runs f for so many rows at a time as fit the L2. Over H it takes columns.
func eachRun(o *Output, l *layer.Layer, in, out place.View, f func(in, out place.View) error) error {
	extent, overH := in.S.Height, l.Axes == layer.AxisH
	if overH {
		// Columns stand side by side: only whole ones can be taken.
		return eachPart(o, l, in, out, func(in, out place.View) error {
			if err := layer.CheckLimit("bytes of the tiles in the L2", softmaxBytes(in.SwapChannelsAndRows().S), l.LargestTile(),
				"split the axes that softmax leaves until they are at most %d"); err != nil {
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
	for ; ; rows = (rows + 1) / 2 {
		part.Height = rows
		if rows == 1 || bytes(part) <= l.LargestTile() {
			break
		}
	}
	if err := layer.CheckLimit("bytes of a row's tiles in the L2", bytes(part), l.LargestTile(),
		"split the axes that softmax leaves until they are at most %d"); err != nil {
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

// softmaxBytes returns the most that the tiles of a run take.
func softmaxBytes(s regs.Shape) int {
	row := place.Packed(s).Row + 0x100
	return (3*row + s.Width*place.UnitBytes*2) * s.Height
}

// softmaxRowsBytes returns the most that the tiles of softmaxRows take: three copies, the
// longest of them with a skew, and a value for each row.
func softmaxRowsBytes(s regs.Shape) int {
	held := place.Packed(s)
	exps := held.Skew(1, place.PlanarFetch)
	bytes := 2*held.Row + s.Channels*place.UnitBytes
	if exps.Row != held.Row {
		bytes += exps.Row
	}
	return bytes * s.Height
}

// exponent returns the pass that computes the difference from a maximum, which repeats along an
// axis and which the task before finds if previous is set.
func exponent(s regs.Shape, second task.SourceView, previous bool) task.Planar {
	e := pass.Exponent(s)
	e.Second, e.Previous = second, previous
	return e
}

// quotient returns the pass that multiplies the powers by the reciprocal of their sum, which is
// the first source.
func quotient(s regs.Shape, first task.SourceView, previous bool) task.Planar {
	q := pass.Product(s)
	q.First, q.Previous = first, previous
	return q
}

// addPowerTask appends and returns the exponential of differences that a planar task hands over
// tile by tile.
func addPowerTask(o *Output, j job, s regs.Shape, from *task.Tile, at place.Layout) *task.Task {
	t := task.NewCopy(s)
	t.SetPatch(task.FixedPatch(task.LinkedPatchLog2(s)))
	t.ReadTile(from, from.At)
	t.SetTable(o.Constants.PlaceTable(j.weights.Table, t.TableLanes()), j.weights.Table)
	o.add(t)
	return t
}

// softmaxChannels reduces channels; s is the result's own shape, with channels and rows
// transposed where the rows are reduced.
func softmaxChannels(o *Output, j job, in, out place.View, s regs.Shape) error {
	v := in.S
	if v.Channels == 1 {
		return softmaxOneChannel(o, j, in, out)
	}
	one := v
	one.Channels = 1
	single := place.Packed(one)
	exps := place.Packed(v)
	pixel := v.Height == 1 && v.Width == 1
	if v.Height > 1 {
		single = single.Skew(1, place.PlanarFetch)
		exps = exps.Skew(1, place.PlanarFetch)
	}
	singles := single.Row * v.Height
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
	largest := top.KeepResult(single, singles)
	o.add(top)

	difference := exponent(v, task.SourceView{Repeat: task.C}, false)
	difference.Transposed = pixel
	sub := difference.Task()
	sub.ReadTile(x, source)
	sub.ReadSecondTile(largest, single)
	var exp *task.Task
	if pixel {
		exp = addPixelPowerTask(o, j, sub, v.Channels, diffs)
	} else {
		sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(v)))
		differences := sub.KeepResult(exps, bytes)
		o.add(sub)
		exp = addPowerTask(o, j, v, differences, exps)
	}
	powers := exp.KeepResult(exps, bytes)
	reciprocals := addReciprocalSum(o, j, v, powers, single, pixel)

	along, second := task.C, exps
	if j.layer.Axes == layer.AxisH { // C and H may be as long as each other
		single.Channel, single.Row, single.Depth = single.Row, single.Channel, single.Row
		second.Channel, second.Row, second.Depth = exps.Row, exps.Channel, exps.Row
		along = task.H
	}
	mul := quotient(s, task.SourceView{Repeat: along}, false).Task()
	mul.ReadTile(reciprocals, single)
	mul.ReadSecondTile(powers, second)
	mul.WriteResult(out.M, free)
	o.add(mul)
	return nil
}

// addPixelPowerTask appends the task of a pixel's differences and the one that returns their
// exponentials. The pixel's channels become a row, so that sixteen engines share the table's work;
// the row is described in the scratch buffer on the way (1/1).
func addPixelPowerTask(o *Output, j job, sub *task.Task, channels int, at place.Layout) *task.Task {
	row := o.stage(1, channels, true)
	row.Row = row.Depth
	differences := sub.KeepDescribedResult(at, at.Row, row)
	o.add(sub)
	exp := task.NewTranspose(regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: channels})
	exp.SetPatch(task.FixedPatch(0)) // what few pixels prefer is for sources by DMA (1/1)
	exp.ReadDescribedTile(differences, differences.At, row)
	exp.SetTable(o.Constants.PlaceTable(j.weights.Table, exp.TableLanes()), j.weights.Table)
	o.add(exp)
	return exp
}

// addReciprocalSum appends the reciprocal of the channels' sum: a multiply-accumulate of ones
// behind the reciprocal's table, which stands behind that of the powers. (Over W the planar
// engine takes the reciprocal, and the constants have the table of powers alone.)
func addReciprocalSum(o *Output, j job, s regs.Shape, from *task.Tile, to place.Layout, pixel bool) *task.Tile {
	one := s
	one.Channels = 1
	t := task.MAC{Op: regs.MantissaTable, In: s, Out: one, Window: task.Pointwise}.Task()
	if s.Height > 1 && s.Width > 8 {
		t.SetPatch(task.FixedPatch(t.PatchLog2()))
	}
	t.ReadTile(from, from.At)
	t.SetTable(o.Constants.PlaceTable(j.weights.Reciprocal, t.TableLanes()), j.weights.Reciprocal)
	reciprocals := t.KeepResult(to, to.Row*s.Height)
	o.add(t)
	return reciprocals
}

// softmaxOneChannel appends softmax over one channel, whose own difference is zero.
func softmaxOneChannel(o *Output, j job, in, out place.View) error {
	s := in.S
	exps := place.Packed(s)
	if s.Height > 1 || s.Width == 1 {
		exps = exps.Skew(1, place.PlanarFetch)
	}
	bytes := exps.Row * s.Height
	sub := exponent(s, task.SourceView{Repeat: task.C}, false).Task()
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	at := sub.PlanarTile()
	sub.LoadSource1(in.M, at.Rebase(bytes), false)
	sub.LoadSource2(in.M, at.Rebase(bytes+place.SecondBase(at.Row*s.Height)))
	differences := sub.KeepResult(exps, bytes)
	o.add(sub)
	powers := addPowerTask(o, j, s, differences, exps).KeepResult(exps, bytes)
	reciprocals := addReciprocalSum(o, j, s, powers, exps.Rebase(bytes), false)
	mul := quotient(s, task.SourceView{Repeat: task.C}, false).Task()
	mul.ReadTile(reciprocals, reciprocals.At)
	mul.ReadSecondTile(powers, exps)
	mul.WriteResult(out.M, 2*bytes)
	o.add(mul)
	return nil
}

// softmaxRow reduces the columns of one row of each channel. Several channels' maxima
// stand in a row.
func softmaxRow(o *Output, j job, in, out place.View) error {
	s := in.S
	many := s.Channels > 1
	single := place.Packed(regs.Shape{Channels: 1, Width: s.Channels})
	exps := place.Packed(s).Rebase(single.Row)
	end := exps.Base + exps.Row
	top := task.Planar{Form: regs.FormReduction, In: s, Op: task.Largest, Transposed: many, Next: true}.Task()
	source := top.KeptTile().Rebase(end)
	x := top.LoadSource1(in.M, source, true)
	largest := top.KeepResult(single, single.Row)
	o.add(top)

	row := task.SourceView{Repeat: task.W.If(s.Width > 1), Transposed: many}
	sub := exponent(s, row, true).Task()
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	sub.ReadTile(x, source)
	sub.ReadSecondTile(largest, single)
	differences := sub.KeepResult(exps, exps.Row)
	o.add(sub)
	powers := addPowerTask(o, j, s, differences, exps).KeepResult(exps, exps.Row)

	sum := task.Planar{Form: regs.FormReduction, In: s, Reciprocal: true, Transposed: many, Next: true}.Task()
	sum.ReadTile(powers, exps)
	reciprocals := sum.KeepResult(single, single.Row)
	o.add(sum)

	mul := quotient(s, row, true).Task()
	mul.ReadTile(reciprocals, single)
	mul.ReadSecondTile(powers, exps)
	mul.WriteResult(out.M, end)
	o.add(mul)
	return nil
}

// softmaxRows reduces the columns of several rows, from a copy in the L2: rows are
// groups, or channels in parts where there is one channel.
func softmaxRows(o *Output, j job, in, out place.View) error {
	s := in.S
	alone := s.Channels == 1
	copied := task.NewCopy(s)
	if alone {
		copied.SetPatch(task.SlicedPatch(s))
	}
	held := place.Packed(s)
	exps := held.Skew(1, place.PlanarFetch)
	if alone {
		if s.Width%place.FoldColumns == 0 {
			held.Depth = held.Row * s.Height // rows that fold (2/2)
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
	// The copy, later the sums; the powers; the differences by themselves where their
	// rows are longer (2/2); the maxima.
	powersAt, differencesAt := bytes, bytes
	if exps.Row != held.Row {
		differencesAt = 2 * bytes
	}
	maxima := differencesAt + exps.Row*s.Height
	from := copied.SourceTile().Rebase(bytes)
	copied.LoadSource1(in.M, from, false)
	x := copied.KeepResult(held, bytes)
	o.add(copied)

	tiles := rowTiles{s, held, stats}
	largest := tiles.reduce(o, x, 0, maxima, task.Planar{Op: task.Largest})
	row := task.SourceView{Repeat: task.W.If(s.Width > 1)}
	sub := exponent(s, row, true).Task()
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	sub.ReadTile(x, held)
	sub.ReadSecondTile(largest, flat.Rebase(maxima))
	differences := sub.KeepResult(exps.Rebase(differencesAt), exps.Row*s.Height)
	o.add(sub)
	powers := addPowerTask(o, j, s, differences, exps).KeepResult(held.Rebase(powersAt), bytes)
	reciprocals := tiles.reduce(o, powers, powersAt, 0, task.Planar{Reciprocal: true})

	mul := quotient(s, row, true).Task()
	mul.ReadTile(reciprocals, flat)
	mul.ReadSecondTile(powers, held.Rebase(powersAt))
	mul.WriteResult(out.M, powersAt+bytes)
	o.add(mul)
	return nil
}

// rowTiles are the tiles of softmaxRows: rows in the L2, and a value for each of them.
type rowTiles struct {
	s           regs.Shape
	held, stats place.Layout
}

// reduce appends the tasks that reduce each row of a tile at base to a value at to: all rows at a
// time as groups, or, of one channel, runs of rows as channels. It returns the tile of the values.
func (w rowTiles) reduce(o *Output, from *task.Tile, base, to int, r task.Planar) (last *task.Tile) {
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
		last = t.KeepResultGroups(result, w.stats.Row)
		o.add(t)
	}
	last.At = w.stats.Rebase(to)
	return last
}
