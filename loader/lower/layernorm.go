package lower

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// layerNorm lowers (x - mean) / sqrt(variance + epsilon). What is normalised together is
// a channel of the planar engine: as it stands over H and W, the tensor with channels as
// rows over C, H and W, every row over W.
//
//	HW, CHW, one row   mean (form 5), variance (form 6), affine (form 4), x kept
//	C of one pixel     channels to columns, the same three, columns to channels
//	W, C of rows       copy, mean, difference, variance, product; over C the copies transpose
//
// (3, 5 and 5 or 6 descriptors: 183/183 rows of a public table.)
func (p *plan) layerNorm() error {
	l := p.layer
	switch l.Axes {
	case layer.AxisH:
		return p.normaliseTurned([3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}, layer.AxisW)
	case layer.AxisC | layer.AxisH:
		return p.normaliseTurned([3]layer.Axes{layer.AxisW, layer.AxisC, layer.AxisH}, layer.AxisH|layer.AxisW)
	case layer.AxisC | layer.AxisW:
		return p.normaliseTurned([3]layer.Axes{layer.AxisH, layer.AxisC, layer.AxisW}, layer.AxisH|layer.AxisW)
	}
	x, y := p.input("x", l.In), p.output("y", l.In)
	in, out := viewOf(x, l.In), viewOf(y, l.In)
	var each func(in, out view) error
	switch l.Axes {
	case layer.AxisH | layer.AxisW:
		each = p.normalise
	case layer.AxisC | layer.AxisH | layer.AxisW:
		each = p.normaliseWhole
	case layer.AxisW:
		switch {
		case l.In.C == 1 && l.In.H > maxStatistics:
			each = p.normaliseParts
		case l.In.C == 1 || l.In.H == 1:
			each = func(in, out view) error { return p.normalise(in.rows(), out.rows()) }
		default:
			each = p.normaliseRows
		}
	case layer.AxisC:
		if l.In.H == 1 && l.In.W == 1 {
			each = p.normalisePixel
		} else {
			each = p.normaliseChannels
		}
	}
	return p.eachElement(in, out, func(in, out view) error { return p.eachPart(in, out, each) })
}

// normaliseTurned orders the axes so that those that are normalised together become ones
// that programs show, and back (inferred).
func (p *plan) normaliseTurned(order [3]layer.Axes, axes layer.Axes) error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.In)
	turn := layer.Unary(layer.Transpose, l.In)
	turn.Order = order
	norm := layer.Reduction(layer.LayerNorm, turn.Out(), axes)
	norm.Epsilon = l.Epsilon
	back := layer.Unary(layer.Transpose, norm.In)
	back.Order = inverse(order)
	turned, normal := p.intermediate(norm.In), p.intermediate(norm.In)
	return p.pieces(
		piece{turn, &layer.Weights{}, ports{"x": x, "y": turned}},
		piece{norm, &layer.Weights{}, ports{"x": turned, "y": normal}},
		piece{back, &layer.Weights{}, ports{"x": normal, "y": y}},
	)
}

// inverse is the order of axes that undoes one.
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

// statistics is where means and deviations stand: two rows of a value a channel, side by
// side where there are several.
func statistics(channels int) layout {
	return packed(regs.Shape{Channels: 1, Width: channels}).skewed(1, planarFetch)
}

// aside marks that a task's neighbours on both sides run on the planar engine too.
func (t *task) aside(previous, next bool) *task {
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithPreviousPlanar(previous).WithNextPlanar(next)
	return t
}

// meanTask adds up what is normalised together.
func (p *plan) meanTask(s regs.Shape) *task { return p.reductionTask(s) }

// spreadTask is 1/sqrt of the mean squared difference of its two sources.
func (p *plan) spreadTask(s regs.Shape) *task {
	t := planarTask(regs.FormTwoReduced, s, s)
	t.g.PE.Cfg = t.g.PE.Cfg.WithOpMode(regs.PlanarSumSquare).WithFirstSrc(true).WithSecSrc(2)
	p.inverseRoot(t)
	return t
}

// squareTask is 1/sqrt of the mean square of its source.
func (p *plan) squareTask(s regs.Shape) *task {
	t := planarTask(regs.FormReduction, s, s)
	t.g.PE.Cfg = t.g.PE.Cfg.WithOpMode(regs.PlanarSumSquare)
	p.inverseRoot(t)
	return t
}

func (p *plan) inverseRoot(t *task) {
	pe := &t.g.PE
	pe.Cfg = pe.Cfg.WithRsqrt(true)
	pe.FinalScale = pe.FinalScale.WithFinalScale(reciprocal(together(p.layer)))
	pe.PreScale = pe.PreScale.WithPreScale(half(p.layer.Epsilon))
}

// together is how many values are normalised together.
func together(l *layer.Layer) int {
	n := 1
	for axis, extent := range map[layer.Axes]int{layer.AxisC: l.In.C, layer.AxisH: l.In.H, layer.AxisW: l.In.W} {
		if l.Axes&axis != 0 {
			n *= extent
		}
	}
	return n
}

// affineTask subtracts the first row of its second source and multiplies by the second.
func affineTask(s regs.Shape) *task {
	t := planarTask(regs.FormBiasScale, s, s)
	t.g.PE.Cfg = t.g.PE.Cfg.WithSecSrc(3)
	return t
}

func (p *plan) checkStatistics(bytes int) error {
	return layer.Within("bytes of a tile and its statistics in the L2", bytes, p.maxTile(),
		"split the axes that are left until they are at most %d")
}

// normalise appends the three tasks of a tile whose channels are normalised each by
// itself. Several channels' statistics stand in a row, transposed.
func (p *plan) normalise(in, out view) error {
	s := in.s
	many := s.Channels > 1
	stats := statistics(s.Channels)
	base := 2 * stats.row
	mean := p.meanTask(s).aside(false, true)
	at := mean.keptTile().moved(base)
	end := base + at.row*s.Height
	if err := p.checkStatistics(end); err != nil {
		return err
	}
	operands := func(t *task) *regs.PlanarOperands { return &t.g.Common.PlanarOperands }
	*operands(mean) = operands(mean).WithResultTranspose(many)
	tile := mean.source1(in.m, at, true)
	means := mean.leaves(stats, stats.row)
	p.add(mean)

	spread := p.spreadTask(s).aside(true, true)
	o := operands(spread)
	*o = o.WithSrc1BroadcastW(s.Width > 1).WithSrc1BroadcastH(s.Height > 1).WithSrc1Transpose(many).WithResultTranspose(many)
	spread.reads(means, stats)
	spread.joins(tile, at)
	spreads := spread.leaves(stats.moved(stats.row), stats.row)
	p.add(spread)

	affine := affineTask(s).aside(true, false)
	*operands(affine) = operands(affine).WithSrc2Transpose(many).WithSrc2BroadcastC(p.layer.Axes == layer.AxisC|layer.AxisH|layer.AxisW)
	affine.reads(tile, at)
	affine.joins(spreads, stats)
	affine.writes(out.m, end)
	p.add(affine)
	return nil
}

// normaliseWhole normalises the whole tensor. Its statistics take channels as rows and
// rows as depth; the third task reads the tensor again as it is.
func (p *plan) normaliseWhole(in, out view) error {
	if in.s.Channels == 1 {
		return p.normalise(in, out)
	}
	turned, depth := in, in.s.Height
	turned.m.row, turned.m.plane, turned.m.depth = in.m.plane, in.m.depth, in.m.row
	turned.s.Height, turned.s.Channels = in.s.Channels, 1
	s := turned.s
	stats := statistics(1)
	mean := p.meanTask(s).aside(false, true)
	mean.deep(depth)
	at := mean.keptTile().moved(2 * stats.row)
	affine := affineTask(in.s).aside(true, false)
	again := affine.planarTile().moved(at.base)
	end := again.base + again.row*in.s.Height
	if err := p.checkStatistics(max(end, at.base+at.row*s.Height)); err != nil {
		return err
	}
	if s.Width == 1 {
		mean.patchHigh()
	}
	tile := mean.source1(turned.m, at, true)
	means := mean.leaves(stats, stats.row)
	p.add(mean)

	spread := p.spreadTask(s).aside(true, true)
	spread.deep(depth)
	c := &spread.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastW(s.Width > 1).WithSrc1BroadcastH(s.Height > 1).WithSrc1BroadcastD(depth > 1)
	spread.reads(means, stats)
	spread.joins(tile, at)
	spreads := spread.leaves(stats.moved(stats.row), stats.row)
	p.add(spread)

	c = &affine.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc2BroadcastC(true)
	affine.source1(in.m, again, false)
	affine.joins(spreads, stats)
	affine.writes(out.m, end)
	p.add(affine)
	return nil
}

// patchHigh takes rows a planar patch at a time.
func (t *task) patchHigh() {
	if rows := 1 << t.g.Common.PlanarPatch.Log2H(); rows < int(t.g.Common.TileCfg.TileHeight()) {
		t.tileRows(rows)
	}
}

// normaliseParts normalises every row of one channel where there are many: rows stand as
// channels, their statistics in parts, the remainder first into its place behind the
// rest. Each task reads its rows anew.
func (p *plan) normaliseParts(in, out view) error {
	v, w := in.rows(), out.rows()
	rows := v.s.Channels
	stats := layout{channel: unitBytes, row: rows * unitBytes, depth: rows * unitBytes}
	base := 2 * stats.row
	var parts []view
	for first := 0; first < rows; first += maxStatistics {
		part := v
		part.m.base += first * v.m.plane
		part.s.Channels = min(maxStatistics, rows-first)
		parts = append(parts, part)
	}
	affine := affineTask(v.s).aside(true, false)
	all := affine.planarTile().moved(base)
	if err := p.checkStatistics(all.base + all.row); err != nil {
		return err
	}
	means := make([]*tile, len(parts))
	offset := func(i int) int { return i * maxStatistics * unitBytes }
	for i := len(parts) - 1; i >= 0; i-- {
		t := p.meanTask(parts[i].s).aside(i < len(parts)-1, true)
		at := t.planarTile().moved(base)
		t.source1(parts[i].m, at, false)
		means[i] = t.leaves(stats.moved(offset(i)), parts[i].s.Channels*unitBytes)
		p.add(t)
	}
	var last *tile
	for i := range parts {
		t := p.spreadTask(parts[i].s).aside(true, true)
		at := t.planarTile().moved(base)
		c := &t.g.Common
		c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastW(true)
		t.reads(means[i], stats.moved(offset(i)))
		t.source2(parts[i].m, at)
		t.inL2()
		t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(1)
		last = t.leaves(stats.moved(stats.row+offset(i)), parts[i].s.Channels*unitBytes)
		p.add(t)
	}
	affine.source1(v.m, all, false)
	affine.joins(last, stats)
	affine.writes(w.m, all.base+all.row)
	p.add(affine)
	return nil
}

// normalisePixel normalises the channels of one pixel: as a row of columns between two
// planar tasks that transpose channel and x.
func (p *plan) normalisePixel(in, out view) error {
	s := in.s
	row := regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: s.Channels}
	stats := statistics(1)
	at := packed(row).moved(2 * stats.row)
	end := at.base + at.row
	turn := planarTask(regs.FormConstant, s, s).aside(false, true)
	from := turn.planarTile().moved(end)
	if err := p.checkStatistics(end + from.row); err != nil {
		return err
	}
	turn.g.Common.PlanarOperands = turn.g.Common.PlanarOperands.WithResultTranspose(true)
	turn.source1(in.m, from, false)
	kept := turn.leaves(at, at.row)
	p.add(turn)

	mean := p.meanTask(row).aside(true, true)
	mean.reads(kept, at)
	means := mean.leaves(stats, stats.row)
	p.add(mean)

	spread := p.spreadTask(row).aside(true, true)
	spread.g.Common.PlanarOperands = spread.g.Common.PlanarOperands.WithSrc1BroadcastW(true)
	spread.reads(means, stats)
	spread.joins(kept, at)
	spreads := spread.leaves(stats.moved(stats.row), stats.row)
	p.add(spread)

	affine := affineTask(row).aside(true, true)
	affine.g.Common.PlanarOperands = affine.g.Common.PlanarOperands.WithSrc2Transpose(true)
	affine.reads(kept, at)
	affine.joins(spreads, stats)
	normal := affine.leaves(at, at.row)
	p.add(affine)

	back := planarTask(regs.FormConstant, s, s).aside(true, false)
	back.g.Common.PlanarOperands = back.g.Common.PlanarOperands.WithSrc1Transpose(true)
	back.reads(normal, at)
	back.writes(out.m, end)
	p.add(back)
	return nil
}

// differenceTask subtracts its second source, productTask multiplies by it.
func differenceTask(s regs.Shape) *task {
	t := planarTask(regs.FormTwoSources, s, s)
	t.g.PE.Cfg = t.g.PE.Cfg.WithSecSrc(3)
	return t
}

func productTask(s regs.Shape) *task {
	t := planarTask(regs.FormTwoSources, s, s)
	t.g.PE.Cfg = t.g.PE.Cfg.WithSecSrc(2).WithOpMode(regs.PlanarMul)
	return t
}

// normaliseRows normalises every row of several channels: rows are groups of their
// channels.
func (p *plan) normaliseRows(in, out view) error {
	s := in.s
	rows := regs.Shape{Groups: s.Height, Channels: s.Channels, Height: 1, Width: s.Width}
	copied := passTask(s)
	at := packed(s).skewed(1, planarFetch)
	bytes := at.row * s.Height
	each := s.Channels * unitBytes
	stats := layout{channel: unitBytes, row: s.Height * each, depth: each, group: each}
	from := copied.sourceTile().moved(2 * bytes)
	if err := p.checkStatistics(2*bytes + max(from.row*s.Height, 2*stats.row)); err != nil {
		return err
	}
	copied.source1(in.m, from, false)
	x := copied.leaves(at.moved(bytes), bytes)
	p.add(copied)

	asRows := func(base int) layout {
		return layout{base: base, channel: at.channel, row: at.depth, depth: at.depth, group: at.row}
	}
	reduce := func(t *task, from *tile, base, to int) *tile {
		t.reads(from, asRows(base))
		t.l2(&t.g.L2.Src1GroupStride, at.row)
		reduced := t.leaves(stats.moved(to), stats.row)
		t.l2(&t.g.L2.ResultGroupStride, stats.group)
		p.add(t)
		return reduced
	}
	// A row's values are read row by row.
	flat := layout{channel: unitBytes, row: each, depth: each}
	means := reduce(p.meanTask(rows).aside(false, true), x, bytes, 2*bytes)

	sub := differenceTask(s).aside(true, true)
	sub.g.Common.PlanarOperands = sub.g.Common.PlanarOperands.WithSrc2BroadcastW(s.Width > 1)
	sub.reads(x, x.at)
	sub.joins(means, flat.moved(2*bytes))
	differences := sub.leaves(at, bytes)
	p.add(sub)

	spreads := reduce(p.squareTask(rows).aside(true, true), differences, 0, bytes)

	mul := productTask(s).aside(true, false)
	mul.g.Common.PlanarOperands = mul.g.Common.PlanarOperands.WithSrc2BroadcastW(s.Width > 1)
	mul.reads(differences, at)
	mul.joins(spreads, flat.moved(bytes))
	mul.writes(out.m, bytes+stats.row)
	p.add(mul)
	return nil
}

// normaliseChannels normalises every pixel's channels: a transpose makes them columns
// for the mean, another one for the variance.
func (p *plan) normaliseChannels(in, out view) error {
	s := in.s
	transposed := transposedTile(s)
	turnedBytes := transposed.row * s.Height
	stats := packed(regs.Shape{Channels: 1, Width: s.Width})
	statBytes := stats.channel * s.Height
	stats.row, stats.group = statBytes, stats.channel
	rows := regs.Shape{Groups: s.Height, Channels: s.Width, Height: 1, Width: s.Channels}
	first := transposing(s)
	first.keptPatch(s)
	// Two tiles' places: what is transposed and the differences stand in the first, what
	// is transposed again in the second.
	at := packed(s)
	if s.Height > 1 {
		at = at.skewed(1, planarFetch)
	}
	one := layer.RoundUp(statBytes, unitBytes)
	two := one + max(at.row*s.Height, turnedBytes)
	source := at.moved(two + turnedBytes)
	if err := p.checkStatistics(source.base + at.row*s.Height); err != nil {
		return err
	}
	x := first.source1(in.m, source, true)
	turned := first.leaves(transposed.moved(one), turnedBytes)
	p.add(first)

	reduce := func(t *task, from *tile) *tile {
		t.g.Common.PlanarOperands = t.g.Common.PlanarOperands.WithResultTranspose(true)
		rows := from.at
		rows.row, rows.group = rows.depth, from.at.row
		t.reads(from, rows)
		t.l2(&t.g.L2.Src1GroupStride, rows.group)
		reduced := t.leaves(stats, statBytes)
		t.l2(&t.g.L2.ResultGroupStride, stats.group)
		p.add(t)
		return reduced
	}
	flat := layout{channel: stats.channel, row: stats.channel, depth: stats.channel}
	means := reduce(p.meanTask(rows).aside(false, true), turned)

	sub := differenceTask(s).aside(true, true)
	sub.tilePatch(passedFixed(s))
	sub.g.Common.PlanarOperands = sub.g.Common.PlanarOperands.WithSrc2BroadcastC(true)
	sub.reads(x, source)
	sub.joins(means, flat)
	differences := sub.leaves(at.moved(one), at.row*s.Height)
	p.add(sub)

	second := transposing(s)
	second.fixPatch(passedFixed(s))
	second.aside(false, true) // the bits of the planar tasks on both sides count this one (1/1)
	second.reads(differences, at.moved(one))
	again := second.leaves(transposed.moved(two), turnedBytes)
	p.add(second)

	spreads := reduce(p.squareTask(rows).aside(true, true), again)

	mul := productTask(s).aside(true, false)
	mul.g.Common.PlanarOperands = mul.g.Common.PlanarOperands.WithSrc2BroadcastC(true)
	mul.reads(differences, at.moved(one))
	mul.joins(spreads, flat)
	mul.writes(out.m, two)
	p.add(mul)
	return nil
}
