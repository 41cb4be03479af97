package rows

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// statistics holds one or two rows of a value each row, below everything for the whole
// chain (2/2: layer norm with a projection, attention).
func (c *chain) statistics(rows, n int) *place.Extent {
	e := c.extent(n * layer.RoundUp(rows*layer.ElementBytes, 64))
	e.First, e.Last = 0, task.MaxTasks
	return e
}

// A part is n rows from first on.
type part struct{ first, n int }

// normParts are the runs of rows whose statistics one task takes: at most 192, the
// remainder first (183 and 192 of 375).
func normParts(rows int) []part {
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

// norm appends a layer norm of rows: mean and reciprocal deviation of every row in a row
// of statistics each, then both applied.
func (c *chain) norm(g *Group, v *value, out bool) {
	x, rows := c.value(g.Inputs[0]), v.rows
	stats := c.statistics(rows, 2)
	unit := stats.Bytes / 2
	at := place.Layout{Channel: unit, Row: unit, Depth: unit}
	var spreads *held
	tile := x.nat
	for _, part := range normParts(rows) {
		s := regs.Shape{Groups: 1, Channels: part.n, Height: 1, Width: v.width}
		mean := task.Planar{Form: regs.FormReduction, In: s, Mean: v.width, Transposed: true, Next: true}.Task()
		mean.Cut(task.WidePatch(v.width))
		src := place.Packed(v.channelShape())
		if x.nat != nil {
			src = x.nat.channelsAt()
		}
		src.Base += part.first * src.Channel
		if x.nat != nil {
			c.from(mean, x.nat, src)
		} else {
			tile = c.loadPart(mean, x, part, src, tile)
		}
		first := at.Moved(layer.RoundUp(part.first*layer.ElementBytes, 16))
		means := c.hold(mean, first, unit, stats)
		c.add(mean)

		spread := task.Planar{
			Form: regs.FormTwoReduced, In: s, Op: task.SquaredDifference, Mean: v.width, Root: true,
			Added: task.Half(g.Layer.Epsilon), First: task.Seen{Along: task.W, Transposed: true},
			Transposed: true, Previous: true, Next: true,
		}.Task()
		spread.Cut(task.WidePatch(v.width))
		c.from(spread, means, first)
		c.with(spread, tile, src)
		spreads = c.hold(spread, first.Moved(first.Base+unit), unit, stats)
		c.add(spread)
	}
	if x.nat == nil && c.again(x) {
		tile.at, tile.pitch = place.Packed(v.channelShape()), place.Packed(v.channelShape()).Channel
		x.nat = tile
	}
	s := v.channelShape()
	affine := pass.Affine(s)
	affine.Second.Transposed, affine.Previous = true, true
	normal := affine.Task()
	normal.Cut(task.WidePatch(v.width))
	whole := place.Packed(s)
	if x.nat != nil {
		whole = x.nat.channelsAt()
	}
	c.from(normal, tile, whole)
	c.with(normal, spreads, at)
	if out {
		c.writeRows(normal, rows)
	} else {
		v.nat = c.hold(normal, place.Packed(s), place.Packed(s).Row, nil)
		v.nat.pitch = place.Packed(s).Channel
	}
	c.add(normal)
}

// loadPart makes a task load a part of x's rows to src, and returns the tile that has all of them:
// a new one for the first part.
func (c *chain) loadPart(t *task.Task, x *value, p part, src place.Layout, tile *held) *held {
	m := x.channelsOf()
	m.Base += p.first * m.Plane
	if tile == nil {
		tile = c.load(t, m, src, true)
		tile.extent.Bytes = place.Packed(x.channelShape()).Row
		return tile
	}
	loaded := t.Source1(m, src, true)
	loaded.Bytes = p.n * src.Channel
	c.fixes = append(c.fixes, fix{t, task.Operand1, tile.extent, loaded})
	tile.extent.Last = max(tile.extent.Last, c.now())
	return tile
}

// writeRows writes a task's channels as rows of the output.
func (c *chain) writeRows(t *task.Task, rows int) {
	m := c.output
	m.Plane = m.Row
	m.Row = m.Plane * rows
	m.Depth, m.Group = m.Row, m.Row
	c.write(t, m)
}

// softmax appends a softmax of rows. Scores of a product are channels of one row, other
// rows are one channel of rows as far as the table goes.
func (c *chain) softmax(g *Group, v *value, out bool) {
	x := c.value(g.Inputs[0])
	scores := x.scores
	rows := v.rows
	parts := []part{{0, rows}}
	if !scores {
		parts = normParts(rows)
	}
	const unit = place.UnitBytes
	single := place.Layout{Channel: unit, Row: rows * unit, Depth: rows * unit}
	stats := c.extent(rows * unit)
	stats.First, stats.Last = 0, task.MaxTasks
	reduce := func(src *held, r task.Planar) (reduced *held) {
		for _, part := range parts {
			r.Form, r.In = regs.FormReduction, regs.Shape{Groups: 1, Channels: part.n, Height: 1, Width: v.width}
			t := r.Task()
			t.Cut(task.WidePatch(v.width))
			at := src.channelsAt()
			at.Base += part.first * src.pitch
			c.from(t, src, at)
			reduced = c.hold(t, single.Moved(part.first*unit), rows*unit, stats)
			c.add(t)
		}
		return reduced
	}
	whole := c.natural(x)
	top := reduce(whole, task.Planar{Op: task.Largest})
	top.at = single

	s := v.channelShape()
	difference := pass.Exponent(s)
	difference.Second.Along = task.W
	sub := difference.Task()
	c.from(sub, whole, whole.channelsAt())
	c.with(sub, top, single)
	exps := place.Packed(s)
	differences := c.hold(sub, exps, exps.Row, nil)
	differences.pitch = exps.Channel
	c.add(sub)

	powers := c.powers(g, v, differences, scores)
	sums := reduce(powers, task.Planar{Reciprocal: true})
	quotient := pass.Product(s)
	quotient.First.Along = task.W
	mul := quotient.Task()
	c.from(mul, sums, single)
	c.with(mul, powers, exps)
	switch {
	case out:
		c.writeRows(mul, rows)
	case c.onlyLeft(g.Output):
		c.toKernel(mul, v, c.uses[g.Output][0].group.Rows)
	default:
		v.nat = c.hold(mul, exps, exps.Row, nil)
		v.nat.pitch = exps.Channel
	}
	c.add(mul)
}

// powers appends the exponentials of differences, which it leaves laid out as those are: of scores
// as channels of one row, of others as rows of one channel.
func (c *chain) powers(g *Group, v *value, differences *held, scores bool) *held {
	at := place.Packed(v.channelShape())
	shape, view := v.channelShape(), at
	if !scores {
		shape, view = v.rowsShape(), place.Layout{Channel: at.Row, Row: at.Channel, Depth: at.Row}
	}
	t := task.Copy(shape)
	c.from(t, differences, view)
	h := c.hold(t, view, at.Row, nil)
	h.at, h.pitch = at, at.Channel
	c.table(t, g.Weights.Table)
	c.add(t)
	return h
}

// onlyLeft reports whether a tensor is read by one product, as its left side.
func (c *chain) onlyLeft(name string) bool {
	u := c.uses[name]
	return len(u) == 1 && u[0].group.Kind == PairProduct && u[0].input == 0
}
