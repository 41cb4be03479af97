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
// over C, H and W, every row over W.
func (p *plan) layerNorm() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.In)
	in, out := viewOf(x, l.In), viewOf(y, l.In)
	switch l.Axes {
	case AxisH | AxisW:
	case AxisC | AxisH | AxisW:
		in, out = in.flat(), out.flat()
	case AxisW:
		if err := p.checkChannels(in.rows().s.Channels); err != nil {
			return err
		}
		in, out = in.rows(), out.rows()
	default:
		return l.unsupported("layer norm goes over W, H and W, or C, H and W; transpose first")
	}
	for n := range l.In.N {
		if err := p.normalise(in.element(n), out.element(n), l.Axes == AxisC|AxisH|AxisW); err != nil {
			return err
		}
	}
	return nil
}

// normalise appends the three tasks. whole says that it is the whole tensor.
func (p *plan) normalise(in, out view, whole bool) error {
	s := in.s
	count := s.Height * s.Width
	statistics := packed(regs.Shape{Channels: s.Channels, Width: 1}).skewed(2)
	base := roundUp(2*statistics.row, 64)
	at := planarTile(s).moved(base)
	if err := within(limit{"bytes of a tile and its statistics in the L2", base + at.row*s.Height, MaxTile,
		"split the channels until they are at most %d"}); err != nil {
		return err
	}
	mean := planarTask(regs.FormReduction, s, s)
	mean.g.PE.FinalScale = mean.g.PE.FinalScale.WithFinalScale(reciprocal(count))
	mean.g.NE.KernelCfg = mean.g.NE.KernelCfg.WithPlanarReduceOut(true)
	tile := mean.source1(in.m, at, true)
	means := mean.leaves(statistics, statistics.row)
	p.add(mean)

	spread := planarTask(regs.FormTwoReduced, s, s)
	// (x - mean) squared, summed, scaled, and its reciprocal root.
	spread.g.PE.Cfg = spread.g.PE.Cfg.WithOpMode(regs.PlanarSumSquare).WithFirstSrc(true).
		WithSecSrc(2).WithRsqrt(true)
	spread.g.PE.FinalScale = spread.g.PE.FinalScale.WithFinalScale(reciprocal(count))
	spread.g.PE.PreScale = spread.g.PE.PreScale.WithPreScale(half(p.layer.Epsilon))
	c := &spread.g.Common
	c.Reserved12 = c.Reserved12.WithSrc1BroadcastW(true).WithSrc1BroadcastH(s.Height > 1)
	spread.g.NE.KernelCfg = spread.g.NE.KernelCfg.WithPlanarReduceOut(true).WithPlanarBroadcast(true)
	spread.reads(means, statistics)
	spread.joins(tile, at)
	spreads := spread.leaves(statistics.moved(statistics.row), statistics.row)
	p.add(spread)

	normal := planarTask(regs.FormBiasScale, s, s)
	normal.g.PE.Cfg = normal.g.PE.Cfg.WithSecSrc(3)
	normal.g.NE.KernelCfg = normal.g.NE.KernelCfg.WithPlanarBroadcast(true)
	c = &normal.g.Common
	c.Reserved12 = c.Reserved12.WithSrc2BroadcastC(whole)
	normal.reads(tile, at)
	normal.joins(spreads, statistics)
	normal.writes(out.m, base+at.row*s.Height)
	p.add(normal)
	return nil
}
