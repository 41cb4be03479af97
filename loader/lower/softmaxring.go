package lower

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// softmaxRing is softmax over the columns of a tensor that the L2 does not hold, in five
// tasks (1/1): differences pass to the table through a ring of 16 columns as high as the
// tensor, and powers through the scratch buffer, where up to eight channels stand side by
// side. A value for each row of each channel stays in the L2.
//
//	x --> largest (L2)    x - largest --> ring --> 2^d (scratch)
//	1/sum of the powers (L2), over the largest's place    powers / sum --> y
//
// It reports false where the ring does not fit the L2.
func (p *plan) softmaxRing(in, out view) bool {
	s := in.s
	each := s.Channels * unitBytes
	stats := layout{channel: unitBytes, row: s.Height * each, depth: each, group: each}
	flat := layout{channel: unitBytes, row: each, depth: each}
	ring := packedColumns(s, ringColumns).skewed(1, planarFetch, ringFetch).moved(stats.row)
	source := packedColumns(s, ringSource).skewed(1, planarFetch).moved(ring.base + ring.row*s.Height)
	stream := source.base + source.row*s.Height
	if s.Height > layer.MaxGroups || stream > p.maxTile() {
		return false
	}
	side := maxInterleave
	for s.Channels%side != 0 {
		side /= 2
	}
	between := memory{bar: barScratch, base: p.held, row: layer.RoundUp(s.Width*side*layer.ElementBytes, 64)}
	between.plane = between.row * s.Height
	between.depth = between.plane * (s.Channels / side)
	between.group = between.depth
	p.scratch = max(p.scratch, p.held+between.depth)

	reduce := func(from view, side int, set func(*task)) *tile {
		rows := from.grouped()
		t := planarTask(regs.FormReduction, rows.s, rows.s).aside(false, true)
		set(t)
		t.source1(rows.m, t.planarColumns().moved(stats.row), false)
		t.besides(side)
		reduced := t.leaves(stats, stats.row)
		t.l2(&t.g.L2.ResultGroupStride, stats.group)
		p.add(t)
		return reduced
	}
	largest := reduce(in, 1, (*task).takesMaximum)

	sub := scaledDifference(s).aside(true, false)
	sub.g.Common.PlanarOperands = sub.g.Common.PlanarOperands.WithSrc2BroadcastW(s.Width > 1)
	sub.g.Common.PlanarPatch = sub.g.Common.PlanarPatch.WithLog2W(ringLog2).WithLog2H(ringLog2)
	sub.source1(in.m, source, false)
	sub.joins(largest, flat)
	shared := sub.leaves(ring, ring.row*s.Height)
	sub.l2(&sub.g.L2.ResultGroupStride, ring.group)
	sub.g.L2.ResultCfg = sub.g.L2.ResultCfg.WithType(typeRing)
	p.add(sub)

	exp := passTask(s)
	exp.fixPatch(ringLog2)
	exp.takes1(ring, shared)
	exp.g.L2.SourceCfg = exp.g.L2.SourceCfg.WithType(typeRing).WithDMAIntl(1)
	exp.lookup(p.placeTable(p.weights.Table, exp.tableLanes()), p.weights.Table)
	exp.writes(between, stream)
	d := &exp.g.TileDMADst
	d.DstFmt = d.DstFmt.WithInterleave(uint32(side))
	exp.g.L2.ResultCfg = exp.g.L2.ResultCfg.WithDMAIntl(uint32(side))
	p.add(exp)

	powers := view{s: s, m: between}
	sums := reduce(powers, side, func(t *task) {
		t.g.PE.Cfg = t.g.PE.Cfg.WithReciprocal(true)
		t.continues = true
	})

	mul := productTask(s).aside(true, false)
	mul.g.Common.PlanarOperands = mul.g.Common.PlanarOperands.WithSrc1BroadcastW(s.Width > 1)
	mul.g.Common.PlanarPatch = mul.g.Common.PlanarPatch.WithLog2W(ringLog2 + 1).WithLog2H(ringLog2 - 1)
	mul.reads(sums, flat)
	mul.source2(between, source.moved(stats.row))
	mul.inL2()
	c := &mul.g.TileDMASrc
	c.Src2Fmt = c.Src2Fmt.WithInterleave(uint32(side))
	mul.g.L2.SourceCfg = mul.g.L2.SourceCfg.WithDMAFmt(1).WithDMAIntl(uint32(side))
	mul.stages(out.m, source.moved(stats.row+source.row*s.Height))
	p.add(mul)
	return true
}

// besides says that so many channels of the first source stand side by side in memory.
func (t *task) besides(n int) {
	f := &t.g.TileDMASrc.Src1Fmt
	*f = f.WithInterleave(uint32(n))
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAIntl(uint32(n))
}
