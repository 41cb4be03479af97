package rows

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// newStatisticsExtent returns an extent in L2 that holds n numbers, such as a mean, for each of the
// given number of rows. It stays in use for the whole chain and has the lowest address, as seen in
// 2 of 2 chains (a layer norm with a projection, and attention).
func (c *chain) newStatisticsExtent(rows, n int) *place.Extent {
	e := c.newExtent(n * layer.RoundUp(rows*layer.ElementBytes, 64))
	e.First, e.Last = 0, task.MaxTasks
	return e
}

// A part is a run of n rows, starting with row first.
type part struct{ first, n int }

// splitIntoReducibleRuns divides the given number of rows into runs of up to 192 rows, because one
// task reduces at most that many. The remainder comes first: 375 rows become 183 and 192.
func splitIntoReducibleRuns(rows int) []part {
	var parts []part
	for at := 0; at < rows; {
		n := rows % 192
		if at > 0 || n == 0 {
			n = 192
		}
		parts = append(parts, part{at, n})
		at += n
	}
	return parts
}

// emitNorm appends the tasks that compute v, a layer norm over the rows of its input. They compute
// the mean and the reciprocal standard deviation of every row, subtract the first, and multiply by
// the second. out says whether v is the output of the chain.
func (c *chain) emitNorm(g *Group, v *value, out bool) {
	x, rows := c.values[g.Inputs[0]], v.rows
	stats := c.newStatisticsExtent(rows, 2)
	unit := stats.Bytes / 2
	at := place.Layout{Channel: unit, Row: unit, Depth: unit}
	var spreads *heldTile
	tile := x.rowTile
	for _, part := range splitIntoReducibleRuns(rows) {
		s := regs.Shape{Groups: 1, Channels: part.n, Height: 1, Width: v.width}
		mean := task.Planar{Form: regs.FormReduction, In: s, Mean: v.width, Transposed: true, Next: true}.Task()
		mean.SetPatch(task.WidePatch(v.width))
		src := place.Packed(v.channelShape())
		if x.rowTile != nil {
			src = x.rowTile.channelsLayout()
		}
		// Rows are read as channels, so that one task reduces many of them: the planar engine reduces a
		// channel to one value.
		src.Base += part.first * src.Channel
		if x.rowTile != nil {
			c.readFirstFromTile(mean, x.rowTile, src)
		} else {
			tile = c.loadRowPart(mean, x, part, src, tile)
		}
		first := at.Rebase(layer.RoundUp(part.first*layer.ElementBytes, 16))
		means := c.keepResultInL2(mean, first, unit, stats)
		c.appendTask(mean)

		spread := task.Planar{
			Form: regs.FormTwoReduced, In: s, Op: task.SquaredDifference, Mean: v.width, Root: true,
			Addend: task.Half(g.Layer.Epsilon), First: task.SourceView{Repeat: task.W, Transposed: true},
			Transposed: true, Previous: true, Next: true,
		}.Task()
		spread.SetPatch(task.WidePatch(v.width))
		c.readFirstFromTile(spread, means, first)
		c.readSecondFromTile(spread, tile, src)
		spreads = c.keepResultInL2(spread, first.Rebase(first.Base+unit), unit, stats)
		c.appendTask(spread)
	}
	// All rows are in L2 now, so later readers, such as an addition, need not load them again.
	if x.rowTile == nil && c.hasSeveralReaders(x) {
		tile.at, tile.pitch = place.Packed(v.channelShape()), place.Packed(v.channelShape()).Channel
		x.rowTile = tile
	}
	s := v.channelShape()
	affine := pass.Affine(s)
	affine.Second.Transposed, affine.Previous = true, true
	normal := affine.Task()
	normal.SetPatch(task.WidePatch(v.width))
	whole := place.Packed(s)
	if x.rowTile != nil {
		whole = x.rowTile.channelsLayout()
	}
	c.readFirstFromTile(normal, tile, whole)
	c.readSecondFromTile(normal, spreads, at)
	if out {
		c.streamRowsToOutput(normal, rows)
	} else {
		v.rowTile = c.keepResultInL2(normal, place.Packed(s), place.Packed(s).Row, nil)
		v.rowTile.pitch = place.Packed(s).Channel
	}
	c.appendTask(normal)
}

// loadRowPart makes task t load part p of the rows of x from memory with layout src. It returns the
// tile in L2 that holds all rows of x. tile is that tile from an earlier call, or nil for the first
// part.
func (c *chain) loadRowPart(t *task.Task, x *value, p part, src place.Layout, tile *heldTile) *heldTile {
	m := x.channelsSurface()
	m.Base += p.first * m.Plane
	if tile == nil {
		tile = c.loadFirstSource(t, m, src, true)
		tile.extent.Bytes = place.Packed(x.channelShape()).Row
		return tile
	}
	loaded := t.LoadSource1(m, src, true)
	c.fixups = append(c.fixups, fixup{t, task.Operand1, tile.extent, loaded})
	tile.extent.Last = max(tile.extent.Last, c.taskIndex())
	return tile
}

// streamRowsToOutput makes task t write its result to the output of the chain, with each channel of
// the result as a row.
func (c *chain) streamRowsToOutput(t *task.Task, rows int) {
	m := c.output
	m.Plane = m.Row
	m.Row = m.Plane * rows
	m.Depth, m.Group = m.Row, m.Row
	c.streamResultToMemory(t, m)
}

// emitSoftmax appends the tasks that compute v, a softmax over the rows of its input. If the input
// is the matmul of two tensors, the tasks read its rows as channels of one row; otherwise they read
// them as rows of one channel. out says whether v is the output of the chain.
func (c *chain) emitSoftmax(g *Group, v *value, out bool) {
	x := c.values[g.Inputs[0]]
	scores := x.scores
	rows := v.rows
	parts := []part{{0, rows}}
	if !scores {
		parts = splitIntoReducibleRuns(rows)
	}
	const unit = place.UnitBytes
	single := place.Layout{Channel: unit, Row: rows * unit, Depth: rows * unit}
	stats := c.newExtent(rows * unit)
	// In use for the whole chain, and so at the lowest address, as in the known chains (see
	// newStatisticsExtent).
	stats.First, stats.Last = 0, task.MaxTasks
	reduce := func(src *heldTile, r task.Planar) (reduced *heldTile) {
		for _, part := range parts {
			r.Form, r.In = regs.FormReduction, regs.Shape{Groups: 1, Channels: part.n, Height: 1, Width: v.width}
			t := r.Task()
			t.SetPatch(task.WidePatch(v.width))
			at := src.channelsLayout()
			at.Base += part.first * src.pitch
			c.readFirstFromTile(t, src, at)
			reduced = c.keepResultInL2(t, single.Rebase(part.first*unit), rows*unit, stats)
			c.appendTask(t)
		}
		return reduced
	}
	whole := c.copyToL2(x)
	top := reduce(whole, task.Planar{Op: task.Largest})
	top.at = single

	s := v.channelShape()
	difference := pass.Exponent(s)
	difference.Second.Repeat = task.W
	sub := difference.Task()
	c.readFirstFromTile(sub, whole, whole.channelsLayout())
	c.readSecondFromTile(sub, top, single)
	exps := place.Packed(s)
	differences := c.keepResultInL2(sub, exps, exps.Row, nil)
	differences.pitch = exps.Channel
	c.appendTask(sub)

	powers := c.emitPowers(g, v, differences, scores)
	sums := reduce(powers, task.Planar{Reciprocal: true})
	quotient := pass.Product(s)
	quotient.First.Repeat = task.W
	mul := quotient.Task()
	c.readFirstFromTile(mul, sums, single)
	c.readSecondFromTile(mul, powers, exps)
	switch {
	case out:
		c.streamRowsToOutput(mul, rows)
	// Engines load weights only from memory: the next matmul reads these rows as its weights, so they are
	// written there and not kept.
	case isOnlyLeftSide(c.uses[g.Output]):
		c.writeRowsAsWeights(mul, v, c.uses[g.Output][0].group.Rows)
	default:
		v.rowTile = c.keepResultInL2(mul, exps, exps.Row, nil)
		v.rowTile.pitch = exps.Channel
	}
	c.appendTask(mul)
}

// emitPowers appends the task that computes 2^d by table for the differences d, and returns the
// tile with the results. If scores is set, the task reads the rows as channels of one row, and
// otherwise as rows of one channel.
func (c *chain) emitPowers(g *Group, v *value, differences *heldTile, scores bool) *heldTile {
	at := place.Packed(v.channelShape())
	shape, view := v.channelShape(), at
	if !scores {
		shape, view = v.rowsShape(), place.Layout{Channel: at.Row, Row: at.Channel, Depth: at.Row}
	}
	t := task.NewCopy(shape)
	c.readFirstFromTile(t, differences, view)
	h := c.keepResultInL2(t, view, at.Row, nil)
	h.at, h.pitch = at, at.Channel
	c.setActivationTable(t, g.Weights.Table)
	c.appendTask(t)
	return h
}

// isOnlyLeftSide reports whether a tensor with the given uses is read only once, as the left side
// of a matmul of two tensors.
func isOnlyLeftSide(uses []use) bool {
	return len(uses) == 1 && uses[0].group.Kind == PairProduct && uses[0].input == 0
}
