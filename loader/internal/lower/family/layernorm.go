package family

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerLayerNorm lowers (x - mean) / sqrt(variance + epsilon). The planar engine normalizes the
// values of a channel. Over H and W, these are the tensor's own channels. Over C, H and W, the
// tensor's channels are read as rows of one channel. Over W, each row is read as a channel.
//
//	HW, CHW, one row   mean (form 5), variance (form 6), affine (form 4), x kept
//	C of one pixel     channels to columns, the same three, columns to channels
//	W, C of rows       copy, mean, difference, variance, product; over C the copies transpose
//
//	too large for L2   mean, difference, square, mean, 1/sqrt, product, each through memory
//
// The number of descriptors of the first three is 3, 5, and 5 or 6. It matches all 183 rows of a public table.
func lowerLayerNorm(o *Output, j job) error {
	l := j.layer
	switch l.Axes {
	// The planar engine reduces rows and columns of a channel. No program shows these three sets of axes;
	// the transposes make one that programs show of them.
	case layer.AxisH:
		return normalizeWithTransposes(o, j, [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}, layer.AxisW)
	case layer.AxisC | layer.AxisH:
		return normalizeWithTransposes(o, j, [3]layer.Axes{layer.AxisW, layer.AxisC, layer.AxisH}, layer.AxisH|layer.AxisW)
	case layer.AxisC | layer.AxisW:
		return normalizeWithTransposes(o, j, [3]layer.Axes{layer.AxisH, layer.AxisC, layer.AxisW}, layer.AxisH|layer.AxisW)
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	in, out := place.NewView(x, l.In), place.NewView(y, l.In)
	var each func(o *Output, l *layer.Layer, in, out place.View) error
	switch l.Axes {
	case layer.AxisH | layer.AxisW:
		each = normalizeWithinChannels
	case layer.AxisC | layer.AxisH | layer.AxisW:
		each = normalizeAllValues
	case layer.AxisW:
		switch {
		// Rows of one channel become channels by their strides, without a copy, up to the number of
		// channels that one task reduces.
		case l.In.C == 1 && l.In.H > maxStatistics:
			each = normalizeRowParts
		case l.In.C == 1 || l.In.H == 1:
			each = normalizeLines
		default:
			each = normalizeRows
		}
	case layer.AxisC:
		if l.In.H == 1 && l.In.W == 1 {
			each = normalizePixel
		} else {
			each = normalizeChannels
		}
	}
	return forEachElement(o, in, out, func(in, out place.View) error {
		return splitTensorToFit(o, l, in, out, func(in, out place.View) error { return each(o, l, in, out) })
	})
}

// lowerLayerNormInSteps appends the tasks of a layer norm whose values that share a mean exceed what one
// task reads. It lowers the norm to separate layers that pass their results through the scratch buffer
// (inferred; none of the known programs does this).
func lowerLayerNormInSteps(o *Output, j job) error {
	l := j.layer
	if len(j.weights.Table) != coeff.TableBytes {
		return l.Errorf("table of 1/sqrt(x) has %d bytes; want %d", len(j.weights.Table), coeff.TableBytes)
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	mean := layer.Reduction(layer.ReduceMean, l.In, l.Axes)
	one := mean.Out()
	root := layer.Unary(layer.Rsqrt, one)
	root.Epsilon = l.Epsilon
	means, differences, squares, variances := o.allocateTensor(one), o.allocateTensor(l.In), o.allocateTensor(l.In), o.allocateTensor(one)
	return lowerSublayers(o, l,
		sublayer{mean, &layer.Weights{}, ports{"x": x, "y": means}},
		sublayer{layer.Binary(layer.Sub, l.In, one), &layer.Weights{}, ports{"x": x, "z": means, "y": differences}},
		sublayer{layer.Unary(layer.Square, l.In), &layer.Weights{}, ports{"x": differences, "y": squares}},
		sublayer{mean, &layer.Weights{}, ports{"x": squares, "y": variances}},
		sublayer{root, &layer.Weights{Table: j.weights.Table}, ports{"x": variances, "y": means}},
		sublayer{layer.Binary(layer.Mul, l.In, one), &layer.Weights{}, ports{"x": differences, "z": means, "y": y}},
	)
}

// normalizeWithTransposes appends tasks that transpose the tensor to the axis order given by order,
// normalize it over the given axes, and transpose the result back (inferred).
func normalizeWithTransposes(o *Output, j job, order [3]layer.Axes, axes layer.Axes) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	turn := layer.Unary(layer.Transpose, l.In)
	turn.Order = order
	norm := layer.Reduction(layer.LayerNorm, turn.Out(), axes)
	norm.Epsilon = l.Epsilon
	back := layer.Unary(layer.Transpose, norm.In)
	back.Order = inverseOrder(order)
	turned, normal := o.allocateTensor(norm.In), o.allocateTensor(norm.In)
	return lowerSublayers(o, l,
		sublayer{turn, &layer.Weights{}, ports{"x": x, "y": turned}},
		sublayer{norm, j.weights, ports{"x": turned, "y": normal}},
		sublayer{back, &layer.Weights{}, ports{"x": normal, "y": y}},
	)
}

// inverseOrder returns the axis order for a transpose that undoes a transpose to the given order.
func inverseOrder(order [3]layer.Axes) [3]layer.Axes {
	all := [3]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW}
	var back [3]layer.Axes
	for i, axis := range order {
		back[slices.Index(all[:], axis)] = all[i]
	}
	return back
}

// maxStatistics is the number of channels that one reduction of the planar engine covers if rows
// are read as channels. 375 rows are split into 183 and 192 in all 183 rows of a public table.
// The reason is not known.
const maxStatistics = 192

// statisticsLayout returns the layout in L2 of one row with a mean or a deviation for each channel.
func statisticsLayout(channels int) place.Layout {
	return place.Packed(regs.Shape{Channels: 1, Width: channels}).Skew(place.PlanarFetch)
}

// newMeanTask returns the planar task that computes the means for layer norm l from a source of
// shape s. previous and next say whether the task before it and the task after it run on the planar
// engine.
func newMeanTask(l *layer.Layer, s regs.Shape, previous, next bool) task.Planar {
	m := newReductionTask(l, s)
	m.Previous, m.Next = previous, next
	return m
}

// newDeviationTask returns the planar task that computes 1/sqrt(m + epsilon), where m is the mean
// of the squared differences of its two sources.
func newDeviationTask(l *layer.Layer, s regs.Shape) task.Planar {
	return task.Planar{
		Form: regs.FormTwoReduced, In: s, Op: task.SquaredDifference, Mean: countNormalizedValues(l), Root: true,
		Addend: task.Half(l.Epsilon), Previous: true, Next: true,
	}
}

// newRootMeanSquareTask returns the planar task that computes 1/sqrt(m + epsilon), where m is the
// mean of the squares of its source.
func newRootMeanSquareTask(l *layer.Layer, s regs.Shape) task.Planar {
	r := newDeviationTask(l, s)
	r.Form, r.Op = regs.FormReduction, task.Squares
	return r
}

// newAffineTask returns the planar task that computes (x - a) * b for each element x of its first
// source. The view second locates a and b, the first and second row of the second source. The flag
// next says whether the task after it runs on the planar engine.
func newAffineTask(s regs.Shape, second task.SourceView, next bool) task.Planar {
	a := pass.Affine(s)
	a.Second, a.Previous, a.Next = second, true, next
	return a
}

// countNormalizedValues returns the number of values that share a mean and a deviation.
func countNormalizedValues(l *layer.Layer) int {
	n := 1
	for axis, extent := range map[layer.Axes]int{layer.AxisC: l.In.C, layer.AxisH: l.In.H, layer.AxisW: l.In.W} {
		if l.Axes&axis != 0 {
			n *= extent
		}
	}
	return n
}

// checkStatisticsFit returns a *layer.LimitError if a tile and its means and deviations, which need
// the given number of bytes together, do not fit in L2.
func checkStatisticsFit(l *layer.Layer, bytes int) error {
	return layer.CheckLimit("size in bytes of a tile and its statistics in L2", bytes, l.LargestTile(),
		"split the other axes until they have at most %d bytes")
}

// normalizeWithinChannels appends the three tasks that normalize each channel of in and write the
// result to out: mean, deviation, and the affine function of both.
func normalizeWithinChannels(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	many := s.Channels > 1
	stats := statisticsLayout(s.Channels)
	// The statistics of all channels, a mean and a deviation each, lie below the tensor and stay until the
	// last task.
	base := 2 * stats.Row
	m := newMeanTask(l, s, false, true)
	// With several channels, the compiler keeps the means of a layer norm over H and W as columns of one
	// row.
	m.Transposed = many
	mean := m.Task()
	at := mean.KeptTile().Rebase(base)
	end := base + at.Row*s.Height
	if err := checkStatisticsFit(l, end); err != nil {
		return err
	}
	tile := mean.LoadSource1(in.M, at, true)
	means := mean.KeepResult(stats)
	o.addTask(mean)

	r := newDeviationTask(l, s)
	r.First = task.SourceView{Repeat: task.W.If(s.Width > 1) | task.H.If(s.Height > 1), Transposed: many}
	r.Transposed = many
	deviation := r.Task()
	deviation.ReadTile(means, stats)
	deviation.ReadSecondTile(tile, at)
	deviations := deviation.KeepResult(stats.Rebase(stats.Row))
	o.addTask(deviation)

	whole := l.Axes == layer.AxisC|layer.AxisH|layer.AxisW
	normal := newAffineTask(s, task.SourceView{Repeat: task.C.If(whole), Transposed: many}, false).Task()
	normal.ReadTile(tile, at)
	normal.ReadSecondTile(deviations, stats)
	normal.WriteResult(out.M, end)
	o.addTask(normal)
	return nil
}

// normalizeLines appends the tasks that normalize each row of in, which must have a single channel
// or a single row. The tasks read each row as a channel.
func normalizeLines(o *Output, l *layer.Layer, in, out place.View) error {
	return normalizeWithinChannels(o, l, in.RowsAsChannels(), out.RowsAsChannels())
}

// normalizeAllValues appends the tasks that normalize all values of in together. The tasks that
// compute mean and deviation read channels as rows and rows as depth. The third task loads the
// tensor again in its own shape.
func normalizeAllValues(o *Output, l *layer.Layer, in, out place.View) error {
	if in.S.Channels == 1 {
		return normalizeWithinChannels(o, l, in, out)
	}
	turned, depth := in, in.S.Height
	turned.M.Row, turned.M.Plane, turned.M.Depth = in.M.Plane, in.M.Depth, in.M.Row
	turned.S.Height, turned.S.Channels = in.S.Channels, 1
	s := turned.S
	stats := statisticsLayout(1)
	m := newMeanTask(l, s, false, true)
	m.Depth = depth
	mean := m.Task()
	at := mean.KeptTile().Rebase(2 * stats.Row)
	normal := newAffineTask(in.S, task.SourceView{Repeat: task.C}, false).Task()
	again := normal.PlanarTile().Rebase(at.Base)
	end := again.Base + again.Row*in.S.Height
	if err := checkStatisticsFit(l, max(end, at.Base+at.Row*s.Height)); err != nil {
		return err
	}
	if s.Width == 1 {
		mean.SetPatch(task.OnePatchPerTile)
	}
	tile := mean.LoadSource1(turned.M, at, true)
	means := mean.KeepResult(stats)
	o.addTask(mean)

	r := newDeviationTask(l, s)
	r.Depth = depth
	r.First.Repeat = task.W.If(s.Width > 1) | task.H.If(s.Height > 1) | task.D.If(depth > 1)
	deviation := r.Task()
	deviation.ReadTile(means, stats)
	deviation.ReadSecondTile(tile, at)
	deviations := deviation.KeepResult(stats.Rebase(stats.Row))
	o.addTask(deviation)

	// The tile in L2 has channels as rows, so the last task, which works in the tensor's own shape, cannot
	// read it.
	normal.LoadSource1(in.M, again, false)
	normal.ReadSecondTile(deviations, stats)
	normal.WriteResult(out.M, end)
	o.addTask(normal)
	return nil
}

// normalizeRowParts appends the tasks that normalize each row of in, which has one channel and more
// rows than one task can reduce. Tasks compute the means and deviations of parts of the rows, the
// last part first. Each task loads its rows again.
func normalizeRowParts(o *Output, l *layer.Layer, in, out place.View) error {
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
	normal := newAffineTask(v.S, task.SourceView{}, false).Task()
	all := normal.PlanarTile().Rebase(base)
	if err := checkStatisticsFit(l, all.Base+all.Row); err != nil {
		return err
	}
	means := make([]*task.Tile, len(parts))
	// Parts write their statistics into one row in L2, so that the last task reads all of them as one
	// operand.
	offset := func(i int) int { return i * maxStatistics * place.UnitBytes }
	// The compiler begins with the remainder: 183 of 375 rows, then 192.
	for i := len(parts) - 1; i >= 0; i-- {
		t := newMeanTask(l, parts[i].S, i < len(parts)-1, true).Task()
		at := t.PlanarTile().Rebase(base)
		t.LoadSource1(parts[i].M, at, false)
		means[i] = t.KeepResult(stats.Rebase(offset(i)))
		o.addTask(t)
	}
	var last *task.Tile
	for i := range parts {
		r := newDeviationTask(l, parts[i].S)
		r.First.Repeat = task.W
		t := r.Task()
		at := t.PlanarTile().Rebase(base)
		t.ReadTile(means[i], stats.Rebase(offset(i)))
		t.LoadOnlySource2(parts[i].M, at, 0)
		last = t.KeepResult(stats.Rebase(stats.Row + offset(i)))
		o.addTask(t)
	}
	normal.LoadSource1(v.M, all, false)
	normal.ReadSecondTile(last, stats)
	normal.WriteResult(w.M, all.Base+all.Row)
	o.addTask(normal)
	return nil
}

// normalizePixel appends the tasks that normalize the channels of one pixel. A planar task
// transposes them to columns first, and another one transposes the result back.
func normalizePixel(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	row := regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: s.Channels}
	stats := statisticsLayout(1)
	at := place.Packed(row).Rebase(2 * stats.Row)
	// The normalized values replace the source, so nothing but the first and the last task needs memory
	// above it.
	end := at.Base + at.Row
	turn := task.Planar{Form: regs.FormConstant, In: s, Transposed: true, Next: true}.Task()
	from := turn.PlanarTile().Rebase(end)
	if err := checkStatisticsFit(l, end+from.Row); err != nil {
		return err
	}
	turn.LoadSource1(in.M, from, false)
	kept := turn.KeepResult(at)
	o.addTask(turn)

	mean := newMeanTask(l, row, true, true).Task()
	mean.ReadTile(kept, at)
	means := mean.KeepResult(stats)
	o.addTask(mean)

	r := newDeviationTask(l, row)
	r.First.Repeat = task.W
	deviation := r.Task()
	deviation.ReadTile(means, stats)
	deviation.ReadSecondTile(kept, at)
	deviations := deviation.KeepResult(stats.Rebase(stats.Row))
	o.addTask(deviation)

	normal := newAffineTask(row, task.SourceView{Transposed: true}, true).Task()
	normal.ReadTile(kept, at)
	normal.ReadSecondTile(deviations, stats)
	values := normal.KeepResult(at)
	o.addTask(normal)

	back := task.Planar{Form: regs.FormConstant, In: s, First: task.SourceView{Transposed: true}, Previous: true}.Task()
	back.ReadTile(values, at)
	back.WriteResult(out.M, end)
	o.addTask(back)
	return nil
}

// newSubtractionTask returns the planar task that subtracts its second source, the means, from a
// tensor of shape s. The means are repeated along the given axes.
func newSubtractionTask(s regs.Shape, along task.RepeatAxes) *task.Task {
	d := pass.Difference(s)
	d.Second.Repeat, d.Previous, d.Next = along, true, true
	return d.Task()
}

// newScalingTask returns the planar task that multiplies a tensor of shape s by its second source,
// the reciprocals of deviations. They are repeated along the given axes.
func newScalingTask(s regs.Shape, along task.RepeatAxes) *task.Task {
	m := pass.Product(s)
	m.Second.Repeat, m.Previous = along, true
	return m.Task()
}

// normalizeRows appends the tasks that normalize each row of each channel of in. The tasks that
// compute statistics read the rows as groups (independent tensors).
func normalizeRows(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	rows := regs.Shape{Groups: s.Height, Channels: s.Channels, Height: 1, Width: s.Width}
	copied := task.NewCopy(s)
	at := place.Packed(s).Skew(place.PlanarFetch)
	bytes := at.Row * s.Height
	each := s.Channels * place.UnitBytes
	stats := place.Layout{Channel: place.UnitBytes, Row: s.Height * each, Depth: each, Group: each}
	from := copied.SourceTile().Rebase(2 * bytes)
	if err := checkStatisticsFit(l, 2*bytes+max(from.Row*s.Height, 2*stats.Row)); err != nil {
		return err
	}
	copied.LoadSource1(in.M, from, false)
	x := copied.KeepResult(at.Rebase(bytes))
	o.addTask(copied)

	asRows := func(base int) place.Layout {
		return place.Layout{Base: base, Channel: at.Channel, Row: at.Depth, Depth: at.Depth, Group: at.Row}
	}
	// Rows become groups, so that one reduction gives a value for each row of each channel.
	reduce := func(t *task.Task, from *task.Tile, base, to int) *task.Tile {
		t.ReadTileGroups(from, asRows(base))
		reduced := t.KeepResultGroups(stats.Rebase(to))
		o.addTask(t)
		return reduced
	}
	// The statistics of a row are read row by row.
	flat := place.Layout{Channel: place.UnitBytes, Row: each, Depth: each}
	means := reduce(newMeanTask(l, rows, false, true).Task(), x, bytes, 2*bytes)

	sub := newSubtractionTask(s, task.W.If(s.Width > 1))
	sub.ReadTile(x, x.At)
	sub.ReadSecondTile(means, flat.Rebase(2*bytes))
	differences := sub.KeepResult(at)
	o.addTask(sub)

	deviations := reduce(newRootMeanSquareTask(l, rows).Task(), differences, 0, bytes)

	mul := newScalingTask(s, task.W.If(s.Width > 1))
	mul.ReadTile(differences, at)
	mul.ReadSecondTile(deviations, flat.Rebase(bytes))
	mul.WriteResult(out.M, bytes+stats.Row)
	o.addTask(mul)
	return nil
}

// normalizeChannels appends the tasks that normalize the channels of each pixel. Two tasks
// transpose the channels to columns, one for the mean and one for the deviation.
func normalizeChannels(o *Output, l *layer.Layer, in, out place.View) error {
	s := in.S
	transposed := transposedRowsLayout(s)
	turnedBytes := transposed.Row * s.Height
	stats := place.Packed(regs.Shape{Channels: 1, Width: s.Width})
	statBytes := stats.Channel * s.Height
	stats.Row, stats.Group = statBytes, stats.Channel
	rows := regs.Shape{Groups: s.Height, Channels: s.Width, Height: 1, Width: s.Channels}
	first := task.NewTranspose(s)
	first.SetPatch(task.KeptPatch(s))
	// There are two places for tiles. The first holds the transposed source and then the
	// differences, the second the transposed differences.
	at := place.ResultTile(s)
	one := layer.RoundUp(statBytes, place.UnitBytes)
	two := one + max(at.Row*s.Height, turnedBytes)
	source := at.Rebase(two + turnedBytes)
	if err := checkStatisticsFit(l, source.Base+at.Row*s.Height); err != nil {
		return err
	}
	x := first.LoadSource1(in.M, source, true)
	turned := first.KeepResult(transposed.Rebase(one))
	o.addTask(first)

	reduce := func(r task.Planar, from *task.Tile) *task.Tile {
		r.Transposed = true
		t := r.Task()
		rows := from.At
		rows.Row, rows.Group = rows.Depth, from.At.Row
		t.ReadTileGroups(from, rows)
		reduced := t.KeepResultGroups(stats)
		o.addTask(t)
		return reduced
	}
	flat := place.Layout{Channel: stats.Channel, Row: stats.Channel, Depth: stats.Channel}
	means := reduce(newMeanTask(l, rows, false, true), turned)

	sub := newSubtractionTask(s, task.C)
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	sub.ReadTile(x, source)
	sub.ReadSecondTile(means, flat)
	differences := sub.KeepResult(at.Rebase(one))
	o.addTask(sub)

	second := task.NewTranspose(s)
	second.SetPatch(task.FixedPatch(task.LinkedPatchLog2(s)))
	second.MarkPlanarNeighbours(false, true) // the bits of the planar tasks on both sides count this one in the one program seen
	second.ReadTile(differences, at.Rebase(one))
	again := second.KeepResult(transposed.Rebase(two))
	o.addTask(second)

	deviations := reduce(newRootMeanSquareTask(l, rows), again)

	mul := newScalingTask(s, task.C)
	mul.ReadTile(differences, at.Rebase(one))
	mul.ReadSecondTile(deviations, flat)
	mul.WriteResult(out.M, two)
	o.addTask(mul)
	return nil
}
