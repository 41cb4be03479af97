package lower

import "anesim/hw/regs"

// layerNorm lowers (x - mean) / sqrt(variance + epsilon) to three planar tasks over a
// tile that stays in the L2, above two rows of one value a channel:
//
//	x --DMA--> tile --sum/N--> row 0: mean
//	           tile, row 0 --sum of squares/N, 1/sqrt--> row 1
//	           tile, rows 0 and 1 --> y
//
// What is normalised together is a channel: as it stands over H and W, the whole tensor
// over C, H and W, every row over W. Over C, a task ahead of them exchanges channel and x
// of a row of pixels, and the result is exchanged again (assumed: the compiler takes five
// or six tasks for it).
func (p *plan) layerNorm() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.In)
	in, out := viewOf(x, l.In), viewOf(y, l.In)
	rows := 1
	switch l.Axes {
	case AxisH | AxisW:
	case AxisC | AxisH | AxisW:
		in, out = in.flat(), out.flat()
	case AxisW:
		if err := p.checkChannels(in.rows().s.Channels); err != nil {
			return err
		}
		in, out = in.rows(), out.rows()
	case AxisC:
		rows = l.In.H
	default:
		return l.unsupported("layer norm goes over C, W, H and W, or C, H and W; transpose first")
	}
	for n := range l.In.N {
		for first := range rows {
			a, b := in.element(n), out.element(n)
			if l.Axes == AxisC {
				a, b = a.run(first, 1), b.run(first, 1)
			}
			if err := p.normalise(a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// normalise appends the tasks of one tile.
func (p *plan) normalise(in, out view) error {
	s := in.s
	whole, turned := p.layer.Axes == AxisC|AxisH|AxisW, p.layer.Axes == AxisC
	if turned {
		s.Channels, s.Width = s.Width, s.Channels
	}
	count := s.Height * s.Width
	statistics := packed(regs.Shape{Channels: s.Channels, Width: 1}).skewed(2)
	base := roundUp(2*statistics.row, 64)
	at := planarTile(s).moved(base)
	bytes := at.row * s.Height
	need := base + bytes
	if turned {
		need += packed(in.s).row
	}
	if err := within(limit{"bytes of a tile and its statistics in the L2", need, MaxTile,
		"split the axes that are left until they are at most %d"}); err != nil {
		return err
	}
	mean := planarTask(regs.FormReduction, s, s)
	mean.g.PE.FinalScale = mean.g.PE.FinalScale.WithFinalScale(reciprocal(count))
	mean.g.NE.KernelCfg = mean.g.NE.KernelCfg.WithNextPlanar(true)
	var tile *tile
	if turned {
		prep := exchange(in.s)
		prep.source1(in.m, packed(in.s).moved(base+bytes), false)
		tile = prep.leaves(at, bytes)
		p.add(prep)
		mean.reads(tile, at)
	} else {
		tile = mean.source1(in.m, at, true)
	}
	mean.widePatch(s.Width)
	means := mean.leaves(statistics, statistics.row)
	p.add(mean)

	spread := planarTask(regs.FormTwoReduced, s, s)
	// (x - mean) squared, summed, scaled, and its reciprocal root.
	spread.g.PE.Cfg = spread.g.PE.Cfg.WithOpMode(regs.PlanarSumSquare).WithFirstSrc(true).
		WithSecSrc(2).WithRsqrt(true)
	spread.g.PE.FinalScale = spread.g.PE.FinalScale.WithFinalScale(reciprocal(count))
	spread.g.PE.PreScale = spread.g.PE.PreScale.WithPreScale(half(p.layer.Epsilon))
	c := &spread.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastW(true).WithSrc1BroadcastH(s.Height > 1)
	spread.g.NE.KernelCfg = spread.g.NE.KernelCfg.WithNextPlanar(true).WithPreviousPlanar(true)
	spread.widePatch(s.Width)
	spread.reads(means, statistics)
	spread.joins(tile, at)
	spreads := spread.leaves(statistics.moved(statistics.row), statistics.row)
	p.add(spread)

	normal := planarTask(regs.FormBiasScale, s, s)
	normal.g.PE.Cfg = normal.g.PE.Cfg.WithSecSrc(3)
	normal.g.NE.KernelCfg = normal.g.NE.KernelCfg.WithPreviousPlanar(true)
	c = &normal.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc2BroadcastC(whole).WithResultTranspose(turned)
	normal.widePatch(s.Width)
	normal.reads(tile, at)
	normal.joins(spreads, statistics)
	normal.writes(out.m, base+bytes)
	p.add(normal)
	return nil
}

// widePatch makes a layer norm's patch 512 wide from that width on (the rule's source
// has it from programs kept apart).
func (t *task) widePatch(width int) {
	if width >= 512 {
		c := &t.g.Common
		c.PlanarPatch = c.PlanarPatch.WithLog2W(9).WithLog2H(0)
	}
}
