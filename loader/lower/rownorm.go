package lower

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// statistics holds one or two rows of a value each row, below everything for the whole
// chain (2/2: layer norm with a projection, attention).
func (c *rowChain) statistics(rows, n int) *extent {
	e := c.extent(n * layer.RoundUp(rows*layer.ElementBytes, 64))
	e.first, e.last = 0, maxTasks
	return e
}

// normParts are the runs of rows whose statistics one task takes: at most 192, the
// remainder first (183 and 192 of 375).
func normParts(rows int) []Run {
	var parts []Run
	for at := 0; at < rows; {
		n := rows % 192
		if at > 0 || n == 0 {
			n = 192
		}
		parts = append(parts, Run{at, n})
		at += n
	}
	return parts
}

// norm appends a layer norm of rows: mean and reciprocal deviation of every row in a row
// of statistics each, then both applied.
func (c *rowChain) norm(g *rowGroup, v *rowValue, out bool) {
	x := c.value(g.inputs[0])
	rows := v.rows
	stats := c.statistics(rows, 2)
	unit := stats.bytes / 2
	at := layout{channel: unit, row: unit, depth: unit}
	var means, spreads *held
	var tile *held
	if x.nat != nil {
		tile = x.nat
	}
	for _, part := range normParts(rows) {
		s := regs.Shape{Groups: 1, Channels: part.Tasks, Height: 1, Width: v.width}
		mean := planarTask(regs.FormReduction, s, s)
		mean.reducePatch(v.width)
		mean.g.PE.FinalScale = mean.g.PE.FinalScale.WithFinalScale(reciprocal(v.width))
		o := &mean.g.Common.PlanarOperands
		*o = o.WithResultTranspose(true)
		mean.g.NE.KernelCfg = mean.g.NE.KernelCfg.WithNextPlanar(true)
		src := packed(v.channelShape())
		if x.nat != nil {
			src = x.nat.channelsAt()
		}
		src.base += part.First * src.channel
		whole := src
		if x.nat != nil {
			c.from(mean, x.nat, src)
		} else {
			m := x.channelsOf()
			m.base += part.First * m.plane
			if tile == nil {
				tile = c.load(mean, m, src, true)
				tile.extent.bytes = packed(v.channelShape()).row
			} else {
				tl := mean.source1(m, src, true)
				tl.bytes = part.Tasks * src.channel
				c.fixes = append(c.fixes, fix{mean, &mean.g.L2.Src1Base, tile.extent, tl})
				tile.extent.last = max(tile.extent.last, c.now())
			}
		}
		first := at
		first.base = part.First * layer.ElementBytes
		if first.base%16 != 0 {
			first.base = layer.RoundUp(first.base, 16)
		}
		means = c.hold(mean, first, unit, stats)
		c.add(mean)

		spread := planarTask(regs.FormTwoReduced, s, s)
		spread.reducePatch(v.width)
		spread.g.PE.Cfg = spread.g.PE.Cfg.WithOpMode(regs.PlanarSumSquare).WithFirstSrc(true).WithSecSrc(2).WithRsqrt(true)
		spread.g.PE.FinalScale = spread.g.PE.FinalScale.WithFinalScale(reciprocal(v.width))
		spread.g.PE.PreScale = spread.g.PE.PreScale.WithPreScale(half(g.layer.Epsilon))
		o = &spread.g.Common.PlanarOperands
		*o = o.WithSrc1BroadcastW(true).WithSrc1Transpose(true).WithResultTranspose(true)
		spread.g.NE.KernelCfg = spread.g.NE.KernelCfg.WithNextPlanar(true).WithPreviousPlanar(true)
		c.from(spread, means, first)
		c.with(spread, tile, whole)
		second := first
		second.base += unit
		spreads = c.hold(spread, second, unit, stats)
		c.add(spread)
	}
	if x.nat == nil && c.again(x) {
		tile.at, tile.pitch = packed(v.channelShape()), packed(v.channelShape()).channel
		x.nat = tile
	}
	s := v.channelShape()
	normal := planarTask(regs.FormBiasScale, s, s)
	normal.g.PE.Cfg = normal.g.PE.Cfg.WithSecSrc(3)
	normal.g.NE.KernelCfg = normal.g.NE.KernelCfg.WithPreviousPlanar(true)
	o := &normal.g.Common.PlanarOperands
	*o = o.WithSrc2Transpose(true)
	normal.reducePatch(v.width)
	whole := packed(s)
	if x.nat != nil {
		whole = x.nat.channelsAt()
	}
	c.from(normal, tile, whole)
	c.with(normal, spreads, at)
	if out {
		m := c.output
		m.plane = m.row
		m.row = m.plane * rows
		m.depth, m.group = m.row, m.row
		c.write(normal, m)
	} else {
		v.nat = c.hold(normal, packed(s), packed(s).row, nil)
		v.nat.pitch = packed(s).channel
	}
	c.add(normal)
}

// reducePatch widens a planar task's patch to 512 where rows are that wide.
func (t *task) reducePatch(width int) {
	if width > 256 {
		t.g.Common.PlanarPatch = t.g.Common.PlanarPatch.WithLog2W(9).WithLog2H(0)
	}
}

// softmax appends a softmax of rows. Scores of a product are channels of one row, other
// rows are one channel of rows as far as the table goes.
func (c *rowChain) softmax(g *rowGroup, v *rowValue, out bool) {
	x := c.value(g.inputs[0])
	scores := x.scores
	rows := v.rows
	parts := []Run{{0, rows}}
	if !scores {
		parts = normParts(rows)
	}
	unit := 16
	single := layout{channel: unit, row: rows * unit, depth: rows * unit}
	stats := c.extent(rows * unit)
	stats.first, stats.last = 0, maxTasks
	var top *held
	reduce := func(src *held, pitch int, sum bool) *held {
		var h *held
		for _, part := range parts {
			s := regs.Shape{Groups: 1, Channels: part.Tasks, Height: 1, Width: v.width}
			t := planarTask(regs.FormReduction, s, s)
			t.reducePatch(v.width)
			if sum {
				t.g.PE.Cfg = t.g.PE.Cfg.WithReciprocal(true)
			} else {
				t.g.PE.Cfg = t.g.PE.Cfg.WithMaximum(true)
				t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
			}
			at := src.channelsAt()
			at.base += part.First * pitch
			c.from(t, src, at)
			to := single
			to.base = part.First * unit
			h = c.hold(t, to, rows*unit, stats)
			c.add(t)
		}
		return h
	}
	whole := c.natural(x)
	top = reduce(whole, whole.pitch, false)
	top.at = single

	s := v.channelShape()
	sub := planarTask(regs.FormTwoSources, s, s)
	sub.g.PE.Cfg = sub.g.PE.Cfg.WithSecSrc(3)
	sub.g.PE.BiasScale = sub.g.PE.BiasScale.WithScale(logE)
	o := &sub.g.Common.PlanarOperands
	*o = o.WithSrc2BroadcastW(true)
	c.from(sub, whole, whole.channelsAt())
	c.with(sub, top, single)
	exps := packed(s)
	differences := c.hold(sub, exps, exps.row, nil)
	differences.pitch = exps.channel
	c.add(sub)

	shape := s
	if !scores {
		shape = v.rowsShape()
	}
	exp := engineTask(regs.PassThrough, shape, shape)
	exp.unicast()
	exp.engines(shape.Channels)
	exp.patch(shape, true, nil)
	powers := &held{}
	if scores {
		c.from(exp, differences, exps)
		powers = c.hold(exp, exps, exps.row, nil)
	} else {
		view := layout{channel: exps.row, row: exps.channel, depth: exps.row}
		c.from(exp, differences, view)
		powers = c.hold(exp, view, exps.row, nil)
	}
	powers.pitch = exps.channel
	c.table(exp, g.weights.Table)
	c.add(exp)
	powers.at = exps

	sums := reduce(powers, powers.pitch, true)
	mul := planarTask(regs.FormTwoSources, s, s)
	mul.g.PE.Cfg = mul.g.PE.Cfg.WithSecSrc(2).WithOpMode(regs.PlanarMul)
	o = &mul.g.Common.PlanarOperands
	*o = o.WithSrc1BroadcastW(true)
	c.from(mul, sums, single)
	c.with(mul, powers, exps)
	switch {
	case out:
		m := c.output
		m.plane = m.row
		m.row = m.plane * rows
		m.depth, m.group = m.row, m.row
		c.write(mul, m)
	case c.onlyLeft(g.output):
		c.toKernel(mul, v, c.uses[g.output][0].group.rows)
	default:
		v.nat = c.hold(mul, exps, exps.row, nil)
		v.nat.pitch = exps.channel
	}
	c.add(mul)
}

// onlyLeft reports whether a tensor is read by one product, as its left side.
func (c *rowChain) onlyLeft(name string) bool {
	u := c.uses[name]
	return len(u) == 1 && u[0].group.kind == rowProduct2 && u[0].input == 0
}
