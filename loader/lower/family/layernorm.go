package family

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerLayerNorm lowers (x - mean) / sqrt(variance + epsilon). What is normalised together is
// a channel of the planar engine: as it stands over H and W, the tensor with channels as
// rows over C, H and W, every row over W.
//
//	HW, CHW, one row   mean (form 5), variance (form 6), affine (form 4), x kept
//	C of one pixel     channels to columns, the same three, columns to channels
//	W, C of rows       copy, mean, difference, variance, product; over C the copies transpose
//
// (3, 5 and 5 or 6 descriptors: 183/183 rows of a public table.)
func lowerLayerNorm(o *Output, j job) error {
	l := j.layer
	switch l.Axes {
	case layer.AxisH:
		return normaliseReordered(o, j, [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}, layer.AxisW)
	case layer.AxisC | layer.AxisH:
		return normaliseReordered(o, j, [3]layer.Axes{layer.AxisW, layer.AxisC, layer.AxisH}, layer.AxisH|layer.AxisW)
	case layer.AxisC | layer.AxisW:
		return normaliseReordered(o, j, [3]layer.Axes{layer.AxisH, layer.AxisC, layer.AxisW}, layer.AxisH|layer.AxisW)
	}
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	in, out := place.NewView(x, l.In), place.NewView(y, l.In)
	var each func(o *Output, l *layer.Layer, in, out place.View) error
	switch l.Axes {
	case layer.AxisH | layer.AxisW:
		each = normalise
	case layer.AxisC | layer.AxisH | layer.AxisW:
		each = normaliseWhole
	case layer.AxisW:
		switch {
		case l.In.C == 1 && l.In.H > maxStatistics:
			each = normaliseParts
		case l.In.C == 1 || l.In.H == 1:
			each = normaliseLines
		default:
			each = normaliseRows
		}
	case layer.AxisC:
		if l.In.H == 1 && l.In.W == 1 {
			each = normalisePixel
		} else {
			each = normaliseChannels
		}
	}
	return eachElement(in, out, func(in, out place.View) error {
		return eachPart(o, l, in, out, func(in, out place.View) error { return each(o, l, in, out) })
	})
}

// normaliseReordered orders the axes so that those that are normalised together become ones
// that programs show, and back (inferred).
func normaliseReordered(o *Output, j job, order [3]layer.Axes, axes layer.Axes) error {
	l := j.layer
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	turn := layer.Unary(layer.Transpose, l.In)
	turn.Order = order
	norm := layer.Reduction(layer.LayerNorm, turn.Out(), axes)
	norm.Epsilon = l.Epsilon
	back := layer.Unary(layer.Transpose, norm.In)
	back.Order = inverse(order)
	turned, normal := o.allocate(norm.In), o.allocate(norm.In)
	return lowerPieces(o, l,
		piece{turn, &layer.Weights{}, ports{"x": x, "y": turned}},
		piece{norm, &layer.Weights{}, ports{"x": turned, "y": normal}},
		piece{back, &layer.Weights{}, ports{"x": normal, "y": y}},
	)
}

// inverse returns the order of axes that undoes one.
func inverse(order [3]layer.Axes) [3]layer.Axes {
	all := [3]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW}
	var back [3]layer.Axes
	for i, axis := range order {
		back[slices.Index(all[:], axis)] = all[i]
	}
	return back
}

// maxStatistics is how many channels a planar reduction takes where rows stand as
// channels: 375 are 183 and 192 (183/183 rows; why is not known).
const maxStatistics = 192

// statistics returns where means and deviations stand: two rows of a value a channel, side by
// side where there are several.
func statistics(channels int) place.Layout {
	return place.Packed(regs.Shape{Channels: 1, Width: channels}).Skew(1, place.PlanarFetch)
}

// meanPass returns the pass that averages what is normalised together.
func meanPass(l *layer.Layer, s regs.Shape, previous, next bool) task.Planar {
	m := reductionPass(l, s)
	m.Previous, m.Next = previous, next
	return m
}

// deviationPass returns the pass that computes 1/sqrt of the mean squared difference of its two
// sources.
func deviationPass(l *layer.Layer, s regs.Shape) task.Planar {
	return task.Planar{
		Form: regs.FormTwoReduced, In: s, Op: task.SquaredDifference, Mean: together(l), Root: true,
		Addend: task.Half(l.Epsilon), Previous: true, Next: true,
	}
}

// rootSquarePass returns the pass that computes 1/sqrt of the mean square of its source.
func rootSquarePass(l *layer.Layer, s regs.Shape) task.Planar {
	r := deviationPass(l, s)
	r.Form, r.Op = regs.FormReduction, task.Squares
	return r
}

// affine returns the pass that subtracts the first row of its second source, which is in the L2,
// and multiplies by the second.
func affine(s regs.Shape, second task.SourceView, next bool) task.Planar {
	a := pass.Affine(s)
	a.Second, a.Previous, a.Next = second, true, next
	return a
}

// together returns how many values are normalised together.
func together(l *layer.Layer) int {
	n := 1
	for axis, extent := range map[layer.Axes]int{layer.AxisC: l.In.C, layer.AxisH: l.In.H, layer.AxisW: l.In.W} {
		if l.Axes&axis != 0 {
			n *= extent
		}
	}
	return n
}

func checkStatistics(l *layer.Layer, bytes int) error {
	return layer.CheckLimit("bytes of a tile and its statistics in the L2", bytes, l.LargestTile(),
		"split the axes that are left until they are at most %d")
}

// normalise appends the three tasks of a tile whose channels are normalised each by
// itself. Several channels' statistics stand in a row, transposed.
func normalise(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	many := s.Channels > 1
	stats := statistics(s.Channels)
	base := 2 * stats.Row
	m := meanPass(l, s, false, true)
	m.Transposed = many
	mean := m.Task()
	at := mean.KeptTile().Rebase(base)
	end := base + at.Row*s.Height
	if err := checkStatistics(l, end); err != nil {
		return err
	}
	tile := mean.LoadSource1(in.M, at, true)
	means := mean.KeepResult(stats, stats.Row)
	o.add(mean)

	r := deviationPass(l, s)
	r.First = task.SourceView{Repeat: task.W.If(s.Width > 1) | task.H.If(s.Height > 1), Transposed: many}
	r.Transposed = many
	spread := r.Task()
	spread.ReadTile(means, stats)
	spread.ReadSecondTile(tile, at)
	spreads := spread.KeepResult(stats.Rebase(stats.Row), stats.Row)
	o.add(spread)

	whole := l.Axes == layer.AxisC|layer.AxisH|layer.AxisW
	normal := affine(s, task.SourceView{Repeat: task.C.If(whole), Transposed: many}, false).Task()
	normal.ReadTile(tile, at)
	normal.ReadSecondTile(spreads, stats)
	normal.WriteResult(out.M, end)
	o.add(normal)
	return nil
}

// normaliseLines normalises every row of one channel, or of one row of channels: rows stand as
// channels.
func normaliseLines(o *Output, l *layer.Layer, in, out place.View) error {
	return normalise(o, l, in.RowsAsChannels(), out.RowsAsChannels())
}

// normaliseWhole normalises the whole tensor. Its statistics take channels as rows and
// rows as depth; the third task reads the tensor again as it is.
func normaliseWhole(o *Output, l *layer.Layer, in, out place.View) error {
	if in.S.Channels == 1 {
		return normalise(o, l, in, out)
	}
	turned, depth := in, in.S.Height
	turned.M.Row, turned.M.Plane, turned.M.Depth = in.M.Plane, in.M.Depth, in.M.Row
	turned.S.Height, turned.S.Channels = in.S.Channels, 1
	s := turned.S
	stats := statistics(1)
	m := meanPass(l, s, false, true)
	m.Depth = depth
	mean := m.Task()
	at := mean.KeptTile().Rebase(2 * stats.Row)
	normal := affine(in.S, task.SourceView{Repeat: task.C}, false).Task()
	again := normal.PlanarTile().Rebase(at.Base)
	end := again.Base + again.Row*in.S.Height
	if err := checkStatistics(l, max(end, at.Base+at.Row*s.Height)); err != nil {
		return err
	}
	if s.Width == 1 {
		mean.SetPatch(task.OnePatchPerTile)
	}
	tile := mean.LoadSource1(turned.M, at, true)
	means := mean.KeepResult(stats, stats.Row)
	o.add(mean)

	r := deviationPass(l, s)
	r.Depth = depth
	r.First.Repeat = task.W.If(s.Width > 1) | task.H.If(s.Height > 1) | task.D.If(depth > 1)
	spread := r.Task()
	spread.ReadTile(means, stats)
	spread.ReadSecondTile(tile, at)
	spreads := spread.KeepResult(stats.Rebase(stats.Row), stats.Row)
	o.add(spread)

	normal.LoadSource1(in.M, again, false)
	normal.ReadSecondTile(spreads, stats)
	normal.WriteResult(out.M, end)
	o.add(normal)
	return nil
}

// normaliseParts normalises every row of one channel where there are many: rows stand as
// channels, their statistics in parts, the remainder first into its place behind the
// rest. Each task reads its rows anew.
func normaliseParts(o *Output, l *layer.Layer, in, out place.View) error {
	v, w := in.RowsAsChannels(), out.RowsAsChannels()
	rows := v.S.Channels
	stats := place.Layout{Channel: place.UnitBytes, Row: rows * place.UnitBytes, Depth: rows * place.UnitBytes}
	base := 2 * stats.Row
	var parts []place.View
	for first := 0; first < rows; first += maxStatistics {
		part := v
		part.M.Base += first * v.M.Plane
		part.S.Channels = min(maxStatistics, rows-first)
		parts = append(parts, part)
	}
	normal := affine(v.S, task.SourceView{}, false).Task()
	all := normal.PlanarTile().Rebase(base)
	if err := checkStatistics(l, all.Base+all.Row); err != nil {
		return err
	}
	means := make([]*task.Tile, len(parts))
	offset := func(i int) int { return i * maxStatistics * place.UnitBytes }
	for i := len(parts) - 1; i >= 0; i-- {
		t := meanPass(l, parts[i].S, i < len(parts)-1, true).Task()
		at := t.PlanarTile().Rebase(base)
		t.LoadSource1(parts[i].M, at, false)
		means[i] = t.KeepResult(stats.Rebase(offset(i)), parts[i].S.Channels*place.UnitBytes)
		o.add(t)
	}
	var last *task.Tile
	for i := range parts {
		r := deviationPass(l, parts[i].S)
		r.First.Repeat = task.W
		t := r.Task()
		at := t.PlanarTile().Rebase(base)
		t.ReadTile(means[i], stats.Rebase(offset(i)))
		t.LoadOnlySource2(parts[i].M, at, 0)
		last = t.KeepResult(stats.Rebase(stats.Row+offset(i)), parts[i].S.Channels*place.UnitBytes)
		o.add(t)
	}
	normal.LoadSource1(v.M, all, false)
	normal.ReadSecondTile(last, stats)
	normal.WriteResult(w.M, all.Base+all.Row)
	o.add(normal)
	return nil
}

// normalisePixel normalises the channels of one pixel: as a row of columns between two
// planar tasks that transpose channel and x.
func normalisePixel(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	row := regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: s.Channels}
	stats := statistics(1)
	at := place.Packed(row).Rebase(2 * stats.Row)
	end := at.Base + at.Row
	turn := task.Planar{Form: regs.FormConstant, In: s, Transposed: true, Next: true}.Task()
	from := turn.PlanarTile().Rebase(end)
	if err := checkStatistics(l, end+from.Row); err != nil {
		return err
	}
	turn.LoadSource1(in.M, from, false)
	kept := turn.KeepResult(at, at.Row)
	o.add(turn)

	mean := meanPass(l, row, true, true).Task()
	mean.ReadTile(kept, at)
	means := mean.KeepResult(stats, stats.Row)
	o.add(mean)

	r := deviationPass(l, row)
	r.First.Repeat = task.W
	spread := r.Task()
	spread.ReadTile(means, stats)
	spread.ReadSecondTile(kept, at)
	spreads := spread.KeepResult(stats.Rebase(stats.Row), stats.Row)
	o.add(spread)

	normal := affine(row, task.SourceView{Transposed: true}, true).Task()
	normal.ReadTile(kept, at)
	normal.ReadSecondTile(spreads, stats)
	values := normal.KeepResult(at, at.Row)
	o.add(normal)

	back := task.Planar{Form: regs.FormConstant, In: s, First: task.SourceView{Transposed: true}, Previous: true}.Task()
	back.ReadTile(values, at)
	back.WriteResult(out.M, end)
	o.add(back)
	return nil
}

// centred subtracts the means, which repeat along an axis.
func centred(s regs.Shape, along task.RepeatAxes) *task.Task {
	d := pass.Difference(s)
	d.Second.Repeat, d.Previous, d.Next = along, true, true
	return d.Task()
}

// spreadOut multiplies by the reciprocal deviations, which repeat along an axis.
func spreadOut(s regs.Shape, along task.RepeatAxes) *task.Task {
	m := pass.Product(s)
	m.Second.Repeat, m.Previous = along, true
	return m.Task()
}

// normaliseRows normalises every row of several channels: rows are groups of their
// channels.
func normaliseRows(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	rows := regs.Shape{Groups: s.Height, Channels: s.Channels, Height: 1, Width: s.Width}
	copied := task.NewCopy(s)
	at := place.Packed(s).Skew(1, place.PlanarFetch)
	bytes := at.Row * s.Height
	each := s.Channels * place.UnitBytes
	stats := place.Layout{Channel: place.UnitBytes, Row: s.Height * each, Depth: each, Group: each}
	from := copied.SourceTile().Rebase(2 * bytes)
	if err := checkStatistics(l, 2*bytes+max(from.Row*s.Height, 2*stats.Row)); err != nil {
		return err
	}
	copied.LoadSource1(in.M, from, false)
	x := copied.KeepResult(at.Rebase(bytes), bytes)
	o.add(copied)

	asRows := func(base int) place.Layout {
		return place.Layout{Base: base, Channel: at.Channel, Row: at.Depth, Depth: at.Depth, Group: at.Row}
	}
	reduce := func(t *task.Task, from *task.Tile, base, to int) *task.Tile {
		t.ReadTileGroups(from, asRows(base))
		reduced := t.KeepResultGroups(stats.Rebase(to), stats.Row)
		o.add(t)
		return reduced
	}
	// A row's values are read row by row.
	flat := place.Layout{Channel: place.UnitBytes, Row: each, Depth: each}
	means := reduce(meanPass(l, rows, false, true).Task(), x, bytes, 2*bytes)

	sub := centred(s, task.W.If(s.Width > 1))
	sub.ReadTile(x, x.At)
	sub.ReadSecondTile(means, flat.Rebase(2*bytes))
	differences := sub.KeepResult(at, bytes)
	o.add(sub)

	spreads := reduce(rootSquarePass(l, rows).Task(), differences, 0, bytes)

	mul := spreadOut(s, task.W.If(s.Width > 1))
	mul.ReadTile(differences, at)
	mul.ReadSecondTile(spreads, flat.Rebase(bytes))
	mul.WriteResult(out.M, bytes+stats.Row)
	o.add(mul)
	return nil
}

// normaliseChannels normalises every pixel's channels: a transpose makes them columns
// for the mean, another one for the variance.
func normaliseChannels(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	transposed := transposedTile(s)
	turnedBytes := transposed.Row * s.Height
	stats := place.Packed(regs.Shape{Channels: 1, Width: s.Width})
	statBytes := stats.Channel * s.Height
	stats.Row, stats.Group = statBytes, stats.Channel
	rows := regs.Shape{Groups: s.Height, Channels: s.Width, Height: 1, Width: s.Channels}
	first := task.NewTranspose(s)
	first.SetPatch(task.KeptPatch(s))
	// Two tiles' places: what is transposed and the differences stand in the first, what
	// is transposed again in the second.
	at := place.ResultTile(s)
	one := layer.RoundUp(statBytes, place.UnitBytes)
	two := one + max(at.Row*s.Height, turnedBytes)
	source := at.Rebase(two + turnedBytes)
	if err := checkStatistics(l, source.Base+at.Row*s.Height); err != nil {
		return err
	}
	x := first.LoadSource1(in.M, source, true)
	turned := first.KeepResult(transposed.Rebase(one), turnedBytes)
	o.add(first)

	reduce := func(r task.Planar, from *task.Tile) *task.Tile {
		r.Transposed = true
		t := r.Task()
		rows := from.At
		rows.Row, rows.Group = rows.Depth, from.At.Row
		t.ReadTileGroups(from, rows)
		reduced := t.KeepResultGroups(stats, statBytes)
		o.add(t)
		return reduced
	}
	flat := place.Layout{Channel: stats.Channel, Row: stats.Channel, Depth: stats.Channel}
	means := reduce(meanPass(l, rows, false, true), turned)

	sub := centred(s, task.C)
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	sub.ReadTile(x, source)
	sub.ReadSecondTile(means, flat)
	differences := sub.KeepResult(at.Rebase(one), at.Row*s.Height)
	o.add(sub)

	second := task.NewTranspose(s)
	second.SetPatch(task.FixedPatch(task.LinkedPatchLog2(s)))
	second.MarkPlanarNeighbours(false, true) // the bits of the planar tasks on both sides count this one (1/1)
	second.ReadTile(differences, at.Rebase(one))
	again := second.KeepResult(transposed.Rebase(two), turnedBytes)
	o.add(second)

	spreads := reduce(rootSquarePass(l, rows), again)

	mul := spreadOut(s, task.C)
	mul.ReadTile(differences, at.Rebase(one))
	mul.ReadSecondTile(spreads, flat)
	mul.WriteResult(out.M, two)
	o.add(mul)
	return nil
}
