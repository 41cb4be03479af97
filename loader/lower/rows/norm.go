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
	x := c.value(g.Inputs[0])
	rows := v.rows
	stats := c.statistics(rows, 2)
	unit := stats.Bytes / 2
	at := place.Layout{Channel: unit, Row: unit, Depth: unit}
	var means, spreads *held
	var tile *held
	if x.nat != nil {
		tile = x.nat
	}
	for _, part := range normParts(rows) {
		s := regs.Shape{Groups: 1, Channels: part.n, Height: 1, Width: v.width}
		mean := task.Planar{Form: regs.FormReduction, In: s, Mean: v.width, Transposed: true, Next: true}.Task()
		mean.ReducePatch(v.width)
		src := place.Packed(v.channelShape())
		if x.nat != nil {
			src = x.nat.channelsAt()
		}
		src.Base += part.first * src.Channel
		whole := src
		if x.nat != nil {
			c.from(mean, x.nat, src)
		} else {
			m := x.channelsOf()
			m.Base += part.first * m.Plane
			if tile == nil {
				tile = c.load(mean, m, src, true)
				tile.extent.Bytes = place.Packed(v.channelShape()).Row
			} else {
				tl := mean.Source1(m, src, true)
				tl.Bytes = part.n * src.Channel
				c.fixes = append(c.fixes, fix{mean, task.Operand1, tile.extent, tl})
				tile.extent.Last = max(tile.extent.Last, c.now())
			}
		}
		first := at
		first.Base = part.first * layer.ElementBytes
		if first.Base%16 != 0 {
			first.Base = layer.RoundUp(first.Base, 16)
		}
		means = c.hold(mean, first, unit, stats)
		c.add(mean)

		spread := task.Planar{
			Form: regs.FormTwoReduced, In: s, Op: task.SquaredDifference, Mean: v.width, Root: true,
			Added: task.Half(g.Layer.Epsilon), First: task.Seen{Along: task.W, Transposed: true},
			Transposed: true, Previous: true, Next: true,
		}.Task()
		spread.ReducePatch(v.width)
		c.from(spread, means, first)
		c.with(spread, tile, whole)
		second := first
		second.Base += unit
		spreads = c.hold(spread, second, unit, stats)
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
	normal.ReducePatch(v.width)
	whole := place.Packed(s)
	if x.nat != nil {
		whole = x.nat.channelsAt()
	}
	c.from(normal, tile, whole)
	c.with(normal, spreads, at)
	if out {
		m := c.output
		m.Plane = m.Row
		m.Row = m.Plane * rows
		m.Depth, m.Group = m.Row, m.Row
		c.write(normal, m)
	} else {
		v.nat = c.hold(normal, place.Packed(s), place.Packed(s).Row, nil)
		v.nat.pitch = place.Packed(s).Channel
	}
	c.add(normal)
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
	unit := 16
	single := place.Layout{Channel: unit, Row: rows * unit, Depth: rows * unit}
	stats := c.extent(rows * unit)
	stats.First, stats.Last = 0, task.MaxTasks
	var top *held
	reduce := func(src *held, pitch int, sum bool) *held {
		var h *held
		for _, part := range parts {
			s := regs.Shape{Groups: 1, Channels: part.n, Height: 1, Width: v.width}
			r := task.Planar{Form: regs.FormReduction, In: s, Reciprocal: sum}
			if !sum {
				r.Op = task.Largest
			}
			t := r.Task()
			t.ReducePatch(v.width)
			at := src.channelsAt()
			at.Base += part.first * pitch
			c.from(t, src, at)
			to := single
			to.Base = part.first * unit
			h = c.hold(t, to, rows*unit, stats)
			c.add(t)
		}
		return h
	}
	whole := c.natural(x)
	top = reduce(whole, whole.pitch, false)
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

	shape := s
	if !scores {
		shape = v.rowsShape()
	}
	exp := task.Copy(shape)
	powers := &held{}
	if scores {
		c.from(exp, differences, exps)
		powers = c.hold(exp, exps, exps.Row, nil)
	} else {
		view := place.Layout{Channel: exps.Row, Row: exps.Channel, Depth: exps.Row}
		c.from(exp, differences, view)
		powers = c.hold(exp, view, exps.Row, nil)
	}
	powers.pitch = exps.Channel
	c.table(exp, g.Weights.Table)
	c.add(exp)
	powers.at = exps

	sums := reduce(powers, powers.pitch, true)
	quotient := pass.Product(s)
	quotient.First.Along = task.W
	mul := quotient.Task()
	c.from(mul, sums, single)
	c.with(mul, powers, exps)
	switch {
	case out:
		m := c.output
		m.Plane = m.Row
		m.Row = m.Plane * rows
		m.Depth, m.Group = m.Row, m.Row
		c.write(mul, m)
	case c.onlyLeft(g.Output):
		c.toKernel(mul, v, c.uses[g.Output][0].group.Rows)
	default:
		v.nat = c.hold(mul, exps, exps.Row, nil)
		v.nat.pitch = exps.Channel
	}
	c.add(mul)
}

// onlyLeft reports whether a tensor is read by one product, as its left side.
func (c *chain) onlyLeft(name string) bool {
	u := c.uses[name]
	return len(u) == 1 && u[0].group.Kind == PairProduct && u[0].input == 0
}
