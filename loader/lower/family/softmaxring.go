package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/task"
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
func (p *Plan) softmaxRing(in, out task.View) bool {
	s := in.S
	each := s.Channels * task.UnitBytes
	stats := task.Layout{Channel: task.UnitBytes, Row: s.Height * each, Depth: each, Group: each}
	flat := task.Layout{Channel: task.UnitBytes, Row: each, Depth: each}
	ring := task.PackedColumns(s, task.RingColumns).Skewed(1, task.PlanarFetch, task.RingFetch).Moved(stats.Row)
	source := task.PackedColumns(s, task.RingSource).Skewed(1, task.PlanarFetch).Moved(ring.Base + ring.Row*s.Height)
	stream := source.Base + source.Row*s.Height
	if s.Height > layer.MaxGroups || stream > p.maxTile() {
		return false
	}
	side := task.MaxInterleave
	for s.Channels%side != 0 {
		side /= 2
	}
	between := task.Memory{Bar: task.BarScratch, Base: p.held, Row: layer.RoundUp(s.Width*side*layer.ElementBytes, 64)}
	between.Plane = between.Row * s.Height
	between.Depth = between.Plane * (s.Channels / side)
	between.Group = between.Depth
	p.Scratch = max(p.Scratch, p.held+between.Depth)

	reduce := func(from task.View, side int, set func(*task.Task)) *task.Tile {
		rows := from.Grouped()
		t := task.PlanarTask(regs.FormReduction, rows.S, rows.S).Aside(false, true)
		set(t)
		t.Source1(rows.M, t.PlanarColumns().Moved(stats.Row), false)
		t.Besides(side)
		reduced := t.Leaves(stats, stats.Row)
		t.SetL2(&t.G.L2.ResultGroupStride, stats.Group)
		p.add(t)
		return reduced
	}
	largest := reduce(in, 1, (*task.Task).TakesMaximum)

	sub := scaledDifference(s).Aside(true, false)
	sub.G.Common.PlanarOperands = sub.G.Common.PlanarOperands.WithSrc2BroadcastW(s.Width > 1)
	sub.G.Common.PlanarPatch = sub.G.Common.PlanarPatch.WithLog2W(task.RingLog2).WithLog2H(task.RingLog2)
	sub.Source1(in.M, source, false)
	sub.Joins(largest, flat)
	shared := sub.Leaves(ring, ring.Row*s.Height)
	sub.SetL2(&sub.G.L2.ResultGroupStride, ring.Group)
	sub.G.L2.ResultCfg = sub.G.L2.ResultCfg.WithType(task.TypeRing)
	p.add(sub)

	exp := task.PassTask(s)
	exp.FixPatch(task.RingLog2)
	exp.Takes1(ring, shared)
	exp.G.L2.SourceCfg = exp.G.L2.SourceCfg.WithType(task.TypeRing).WithDMAIntl(1)
	exp.Lookup(p.placeTable(p.Weights.Table, exp.TableLanes()), p.Weights.Table)
	exp.Writes(between, stream)
	d := &exp.G.TileDMADst
	d.DstFmt = d.DstFmt.WithInterleave(uint32(side))
	exp.G.L2.ResultCfg = exp.G.L2.ResultCfg.WithDMAIntl(uint32(side))
	p.add(exp)

	powers := task.View{S: s, M: between}
	sums := reduce(powers, side, func(t *task.Task) {
		t.G.PE.Cfg = t.G.PE.Cfg.WithReciprocal(true)
		t.Continues = true
	})

	mul := productTask(s).Aside(true, false)
	mul.G.Common.PlanarOperands = mul.G.Common.PlanarOperands.WithSrc1BroadcastW(s.Width > 1)
	mul.G.Common.PlanarPatch = mul.G.Common.PlanarPatch.WithLog2W(task.RingLog2 + 1).WithLog2H(task.RingLog2 - 1)
	mul.Reads(sums, flat)
	mul.Source2(between, source.Moved(stats.Row))
	mul.InL2()
	c := &mul.G.TileDMASrc
	c.Src2Fmt = c.Src2Fmt.WithInterleave(uint32(side))
	mul.G.L2.SourceCfg = mul.G.L2.SourceCfg.WithDMAFmt(1).WithDMAIntl(uint32(side))
	mul.Stages(out.M, source.Moved(stats.Row+source.Row*s.Height))
	p.add(mul)
	return true
}
