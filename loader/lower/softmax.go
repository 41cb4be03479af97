package lower

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
)

// softmax lowers exp(x - max) / sum over an axis. Differences and exponentials stand in
// the same place, the reciprocal of the sum in the maximum's.
//
//	over C            max (MAC), difference, 2^d (MAC), 1/sum (MAC), product
//	   one channel    difference, 2^d, 1/sum, product
//	over H            the same with C and H transposed; the product reads them as they are
//	over W, one row   max (planar), difference, 2^d (MAC), 1/sum (planar), product
//	over W            a copy before them; rows are groups, or of one channel channels
//
// (183/183 rows of a public table have so many descriptors.)
func (p *plan) softmax() error {
	l := p.layer
	if len(p.weights.Table) != coeff.TableBytes || len(p.weights.Reciprocal) != coeff.TableBytes {
		return l.Wrong("softmax takes the table of 2^x and the one of 1/x, %d bytes each", coeff.TableBytes)
	}
	if l.Axes&(l.Axes-1) != 0 {
		return p.softmaxAxes()
	}
	x, y := p.input("x", l.In), p.output("y", l.In)
	in, out := viewOf(x, l.In), viewOf(y, l.In)
	var each func(in, out view) error
	switch l.Axes {
	case layer.AxisC:
		if err := p.checkUnicast(l.In.C); err != nil {
			return err
		}
		each = func(in, out view) error { return p.softmaxChannels(in, out, out.s) }
	case layer.AxisH:
		if err := p.checkUnicast(l.In.H); err != nil {
			return err
		}
		each = func(in, out view) error { return p.softmaxChannels(in.swapped(), out, out.s) }
	case layer.AxisW:
		each = p.softmaxRow
		if l.In.H > 1 {
			each = p.softmaxRows
		}
		if passes(p.layer) {
			return p.softmaxStreams(in, out)
		}
		if s := in.s; s.Groups == 1 && s.Height > 1 && packed(s).row*s.Height > p.maxTile() && p.softmaxRing(in, out) {
			return nil
		}
	}
	return p.eachElement(in, out, func(in, out view) error { return p.eachRun(in, out, each) })
}

// softmaxAxes is softmax over several axes, step by step through the scratch buffer: no
// program shows one (inferred).
func (p *plan) softmaxAxes() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.In)
	reduced := layer.Reduction(layer.ReduceMax, l.In, l.Axes)
	one := reduced.Out()
	largest, differences, powers, sum := p.intermediate(one), p.intermediate(l.In), p.intermediate(l.In), p.intermediate(one)
	power := layer.Unary(layer.Exp, l.In)
	return p.pieces(
		piece{reduced, &layer.Weights{}, ports{"x": x, "y": largest}},
		piece{layer.Binary(layer.Sub, l.In, one), &layer.Weights{}, ports{"x": x, "z": largest, "y": differences}},
		piece{power, &layer.Weights{Table: p.weights.Table}, ports{"x": differences, "y": powers}},
		piece{layer.Reduction(layer.ReduceSum, l.In, l.Axes), &layer.Weights{}, ports{"x": powers, "y": sum}},
		piece{layer.Binary(layer.RealDiv, l.In, one), &layer.Weights{Table: p.weights.Reciprocal}, ports{"x": powers, "z": sum, "y": y}},
	)
}

// eachRun runs f for so many rows at a time as fit the L2. Over H it takes columns.
func (p *plan) eachRun(in, out view, f func(in, out view) error) error {
	extent, overH := in.s.Height, p.layer.Axes == layer.AxisH
	if overH {
		// Columns stand side by side: only whole ones can be taken.
		return p.eachPart(in, out, func(in, out view) error {
			if err := layer.Within("bytes of the tiles in the L2", softmaxBytes(in.swapped().s), p.maxTile(),
				"split the axes that softmax leaves until they are at most %d"); err != nil {
				return err
			}
			return f(in, out)
		})
	}
	rows := extent
	part := in.s
	bytes := softmaxBytes
	if p.layer.Axes == layer.AxisW && extent > 1 {
		bytes = softmaxRowsBytes
	}
	for ; ; rows = (rows + 1) / 2 {
		part.Height = rows
		if rows == 1 || bytes(part) <= p.maxTile() {
			break
		}
	}
	if err := layer.Within("bytes of a row's tiles in the L2", bytes(part), p.maxTile(),
		"split the axes that softmax leaves until they are at most %d"); err != nil {
		return err
	}
	for first := 0; first < extent; first += rows {
		m := min(rows, extent-first)
		if err := f(in.run(first, m), out.run(first, m)); err != nil {
			return err
		}
	}
	return nil
}

// run is m rows from first on.
func (v view) run(first, m int) view {
	v.m.base += first * v.m.row
	v.s.Height = m
	return v
}

// softmaxBytes is the most that the tiles of a run take.
func softmaxBytes(s regs.Shape) int {
	row := packed(s).row + 0x100
	return (3*row + s.Width*unitBytes*2) * s.Height
}

// softmaxRowsBytes is the most that the tiles of softmaxRows take: three copies, the
// longest of them with a skew, and a value for each row.
func softmaxRowsBytes(s regs.Shape) int {
	held := packed(s)
	exps := held.skewed(1, planarFetch)
	bytes := 2*held.row + s.Channels*unitBytes
	if exps.row != held.row {
		bytes += exps.row
	}
	return bytes * s.Height
}

// scaledDifference is the difference, scaled for the table of 2^x.
func scaledDifference(s regs.Shape) *task {
	t := differenceTask(s)
	t.g.PE.BiasScale = t.g.PE.BiasScale.WithScale(logE)
	return t
}

// powerTask is the exponential of differences that a planar task hands over tile by tile.
func (p *plan) powerTask(s regs.Shape, from *tile, at layout) *task {
	t := engineTask(regs.PassThrough, s, s)
	t.unicast()
	t.engines(s.Channels)
	t.fixPatch(passedFixed(s))
	t.reads(from, from.at)
	t.lookup(p.placeTable(p.weights.Table, t.tableLanes()), p.weights.Table)
	p.add(t)
	return t
}

// softmaxChannels reduces channels; s is the result's own shape, with channels and rows
// transposed where the rows are reduced.
func (p *plan) softmaxChannels(in, out view, s regs.Shape) error {
	v := in.s
	if v.Channels == 1 {
		return p.softmaxAlone(in, out)
	}
	one := v
	one.Channels = 1
	single := packed(one)
	exps := packed(v)
	if v.Height > 1 || v.Width == 1 {
		single = single.skewed(1, planarFetch)
		exps = exps.skewed(1, planarFetch)
	}
	pixel := v.Height == 1 && v.Width == 1
	if pixel {
		single = packed(one)
		exps = packed(v)
	}
	singles := single.row * v.Height
	exps = exps.moved(singles)
	bytes := exps.row * v.Height
	free := exps.base + bytes
	diffs, source := exps, exps.moved(free)
	if pixel {
		diffs = packed(regs.Shape{Channels: 1, Width: v.Channels}).moved(free)
		source.base += diffs.row
	}

	top := maximumTask(v)
	top.keptPatch(v)
	x := top.source1(in.m, source, true)
	largest := top.leaves(single, singles)
	p.add(top)

	sub := scaledDifference(v)
	c := &sub.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc2BroadcastC(true)
	sub.reads(x, source)
	sub.joins(largest, single)
	var exp *task
	if pixel {
		// A pixel's channels become a row, so that sixteen engines share the table's
		// work; the row is described in the scratch buffer on the way (1/1).
		row := p.stage(1, v.Channels, true)
		row.row = row.depth
		c.PlanarOperands = c.PlanarOperands.WithResultTranspose(true)
		differences := sub.leavesScratch(diffs, diffs.row, row)
		p.add(sub)
		exp = transposing(regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: v.Channels})
		exp.fixPatch(0) // what few pixels prefer is for sources by DMA (1/1)
		exp.readsScratch(differences, row)
		exp.lookup(p.placeTable(p.weights.Table, exp.tableLanes()), p.weights.Table)
		p.add(exp)
	} else {
		sub.tilePatch(passedFixed(v))
		differences := sub.leaves(exps, bytes)
		p.add(sub)
		exp = p.powerTask(v, differences, exps)
	}
	powers := exp.leaves(exps, bytes)
	reciprocals := p.reciprocalSum(v, powers, single, pixel)

	mul := productTask(s)
	c = &mul.g.Common
	second := exps
	if p.layer.Axes == layer.AxisH { // C and H may be as long as each other
		single.channel, single.row, single.depth = single.row, single.channel, single.row
		second.channel, second.row, second.depth = exps.row, exps.channel, exps.row
		c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastH(true)
	} else {
		c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastC(true)
	}
	mul.reads(reciprocals, single)
	mul.joins(powers, second)
	mul.writes(out.m, free)
	p.add(mul)
	return nil
}

// reciprocalSum is the reciprocal of the channels' sum: a multiply-accumulate of ones
// behind the reciprocal's table, which stands behind that of the powers. (Over W the planar
// engine takes the reciprocal, and the constants have the table of powers alone.)
func (p *plan) reciprocalSum(s regs.Shape, from *tile, to layout, pixel bool) *tile {
	one := s
	one.Channels = 1
	t := engineTask(regs.MantissaTable, s, one)
	t.engines(1)
	t.patch(one, false, &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
	if s.Height > 1 && s.Width > 8 {
		t.fixPatch(t.g.Common.Cfg.ShMax())
	}
	t.reads(from, from.at)
	t.lookup(p.placeTable(p.weights.Reciprocal, t.tableLanes()), p.weights.Reciprocal)
	reciprocals := t.leaves(to, to.row*s.Height)
	p.add(t)
	return reciprocals
}

// softmaxAlone is softmax over one channel, whose own difference is zero.
func (p *plan) softmaxAlone(in, out view) error {
	s := in.s
	exps := packed(s)
	if s.Height > 1 || s.Width == 1 {
		exps = exps.skewed(1, planarFetch)
	}
	bytes := exps.row * s.Height
	sub := scaledDifference(s)
	sub.tilePatch(passedFixed(s))
	c := &sub.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc2BroadcastC(true)
	at := sub.planarTile()
	sub.source1(in.m, at.moved(bytes), false)
	sub.source2(in.m, at.moved(bytes+secondBase(at.row*s.Height)))
	differences := sub.leaves(exps, bytes)
	p.add(sub)
	powers := p.powerTask(s, differences, exps).leaves(exps, bytes)
	reciprocals := p.reciprocalSum(s, powers, exps.moved(bytes), false)
	mul := productTask(s)
	c = &mul.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastC(true)
	mul.reads(reciprocals, reciprocals.at)
	mul.joins(powers, exps)
	mul.writes(out.m, 2*bytes)
	p.add(mul)
	return nil
}

// softmaxRow reduces the columns of one row of each channel. Several channels' maxima
// stand in a row.
func (p *plan) softmaxRow(in, out view) error {
	s := in.s
	many := s.Channels > 1
	single := packed(regs.Shape{Channels: 1, Width: s.Channels})
	exps := packed(s).moved(single.row)
	end := exps.base + exps.row
	top := planarTask(regs.FormReduction, s, s).aside(false, true)
	top.takesMaximum()
	source := top.keptTile().moved(end)
	operands := func(t *task) *regs.PlanarOperands { return &t.g.Common.PlanarOperands }
	*operands(top) = operands(top).WithResultTranspose(many)
	x := top.source1(in.m, source, true)
	largest := top.leaves(single, single.row)
	p.add(top)

	sub := scaledDifference(s).aside(true, false)
	sub.tilePatch(passedFixed(s))
	*operands(sub) = operands(sub).WithSrc2BroadcastW(s.Width > 1).WithSrc2Transpose(many)
	sub.reads(x, source)
	sub.joins(largest, single)
	differences := sub.leaves(exps, exps.row)
	p.add(sub)
	powers := p.powerTask(s, differences, exps).leaves(exps, exps.row)

	sum := planarTask(regs.FormReduction, s, s).aside(false, true)
	sum.g.PE.Cfg = sum.g.PE.Cfg.WithReciprocal(true)
	*operands(sum) = operands(sum).WithResultTranspose(many)
	sum.reads(powers, exps)
	reciprocals := sum.leaves(single, single.row)
	p.add(sum)

	mul := productTask(s).aside(true, false)
	*operands(mul) = operands(mul).WithSrc1BroadcastW(s.Width > 1).WithSrc1Transpose(many)
	mul.reads(reciprocals, single)
	mul.joins(powers, exps)
	mul.writes(out.m, end)
	p.add(mul)
	return nil
}

// softmaxRows reduces the columns of several rows, from a copy in the L2: rows are
// groups, or channels in parts where there is one channel.
func (p *plan) softmaxRows(in, out view) error {
	s := in.s
	alone := s.Channels == 1
	copied := passTask(s)
	if alone {
		copied.wholeSlices(s)
	}
	held := packed(s)
	exps := held.skewed(1, planarFetch)
	if alone {
		if s.Width%foldColumns == 0 {
			held.depth = held.row * s.Height // rows that fold (2/2)
		}
	} else {
		held = exps
	}
	bytes := held.row * s.Height
	each := s.Channels * unitBytes
	stats := layout{channel: unitBytes, row: s.Height * each, depth: each, group: each}
	flat := layout{channel: unitBytes, row: each, depth: each}
	if alone {
		stats.row = s.Height * unitBytes
		stats.depth, stats.group = stats.row, 0
		flat = layout{channel: stats.row, row: unitBytes, depth: stats.row}
	}
	// The copy, later the sums; the powers; the differences by themselves where their
	// rows are longer (2/2); the maxima.
	powersAt, differencesAt := bytes, bytes
	if exps.row != held.row {
		differencesAt = 2 * bytes
	}
	maxima := differencesAt + exps.row*s.Height
	from := copied.sourceTile().moved(bytes)
	copied.source1(in.m, from, false)
	x := copied.leaves(held, bytes)
	p.add(copied)

	reduce := func(from *tile, base, to int, make func(*task)) (last *tile) {
		parts := 1
		if alone {
			parts = (s.Height + maxStatistics - 1) / maxStatistics
		}
		for i := range parts {
			rows := view{s: regs.Shape{Groups: s.Height, Channels: s.Channels, Height: 1, Width: s.Width}}
			at := layout{base: base, channel: from.at.channel, row: from.at.depth, depth: from.at.depth, group: from.at.row}
			result := stats.moved(to)
			if alone {
				first := i * maxStatistics
				rows = view{s: regs.Shape{Groups: 1, Channels: min(maxStatistics, s.Height-first), Height: 1, Width: s.Width}}.folded()
				at = layout{base: base + first*held.row, channel: held.row, row: rows.s.Width * layer.ElementBytes, depth: held.depth}
				if rows.s.Height == 1 {
					at.row = held.row
				}
				result.base += first * unitBytes
			}
			t := planarTask(regs.FormReduction, rows.s, rows.s).aside(i > 0, true)
			if rows.fold {
				t.foldedPatch()
			}
			make(t)
			t.reads(from, at)
			t.l2(&t.g.L2.Src1GroupStride, at.group)
			last = t.leaves(result, stats.row)
			t.l2(&t.g.L2.ResultGroupStride, stats.group)
			p.add(t)
		}
		last.at = stats.moved(to)
		return last
	}
	largest := reduce(x, 0, maxima, (*task).takesMaximum)
	sub := scaledDifference(s).aside(true, false)
	sub.tilePatch(passedFixed(s))
	sub.g.Common.PlanarOperands = sub.g.Common.PlanarOperands.WithSrc2BroadcastW(s.Width > 1)
	sub.reads(x, held)
	sub.joins(largest, flat.moved(maxima))
	differences := sub.leaves(exps.moved(differencesAt), exps.row*s.Height)
	p.add(sub)
	powers := p.powerTask(s, differences, exps).leaves(held.moved(powersAt), bytes)
	reciprocals := reduce(powers, powersAt, 0, func(t *task) { t.g.PE.Cfg = t.g.PE.Cfg.WithReciprocal(true) })

	mul := productTask(s).aside(true, false)
	mul.g.Common.PlanarOperands = mul.g.Common.PlanarOperands.WithSrc1BroadcastW(s.Width > 1)
	mul.reads(reciprocals, flat)
	mul.joins(powers, held.moved(powersAt))
	mul.writes(out.m, powersAt+bytes)
	p.add(mul)
	return nil
}
