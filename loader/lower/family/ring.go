package family

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// Tensors beyond the L2 pass from task to task in one of two ways in the programs of 2023:
//
//	engine --> ring of 16 rows in the L2 --> other engine    neighbours, one source each
//	any    --> scratch buffer            --> any             everything else
//
// A ring is as narrow as a patch of 16x16 pixels, and the two tasks run beside each other
// (9/9).

// softmaxStreams is softmax over the columns of a tensor beyond the L2: a value for each
// row stays in the L2, and the powers go through the scratch buffer (1/1).
//
//	x --> largest (L2)    x - largest --> ring --> 2^d (scratch)
//	1/sum of the powers (L2), over the largest's place    powers / sum --> y
func (p *Plan) softmaxStreams(in, out task.View) error {
	s := in.S
	each := s.Channels * task.UnitBytes
	stats := task.Layout{Channel: task.UnitBytes, Row: s.Height * each, Depth: each, Group: s.Height * each}.Skewed(1, task.PlanarFetch)
	stats.Group = each
	flat := task.Layout{Channel: task.UnitBytes, Row: each, Depth: each}
	if s.Channels == 1 {
		flat.Channel = stats.Row
	}
	if err := cmp.Or(layer.Within("groups of rows", s.Height, layer.MaxGroups, "split the tensor into parts of at most %d rows"),
		layer.Within("bytes of a value for each row in the L2", stats.Row, p.maxTile(), "split the tensor until they are at most %d")); err != nil {
		return err
	}
	powers := task.ViewOf(p.intermediate(p.Layer.In), p.Layer.In)

	reduce := func(from task.View, previous bool, set func(*task.Task)) *task.Tile {
		rows := from.Grouped()
		t := task.PlanarTask(regs.FormReduction, rows.S, rows.S).Aside(previous, true)
		set(t)
		t.Source1(rows.M, t.SkewedPlanar().Moved(stats.Row), false)
		reduced := t.Leaves(stats, stats.Row)
		t.SetL2(&t.G.L2.ResultGroupStride, stats.Group)
		p.add(t)
		return reduced
	}
	streamed := func(t *task.Task) task.Layout {
		t.Streamed(s)
		return t.PlanarColumns().Moved(stats.Row)
	}
	largest := reduce(in, false, (*task.Task).TakesMaximum)

	sub := scaledDifference(s).Aside(true, false)
	sub.G.Common.PlanarOperands = sub.G.Common.PlanarOperands.WithSrc2BroadcastW(s.Width > 1)
	at := streamed(sub)
	sub.Source1(in.M, at, false)
	sub.Joins(largest, flat)
	between := p.intermediate(p.Layer.In)
	sub.Writes(between, at.Base+at.Row*task.RingRows)
	p.add(sub)

	exp := task.PassTask(s)
	exp.Narrow()
	exp.Source1(between, exp.SourceTile().Moved(stats.Row), false)
	exp.Lookup(p.placeTable(p.Weights.Table, exp.TableLanes()), p.Weights.Table)
	exp.Writes(powers.M, stats.Row)
	p.add(exp)

	sums := reduce(powers, false, func(t *task.Task) { t.G.PE.Cfg = t.G.PE.Cfg.WithReciprocal(true) })

	mul := productTask(s).Aside(true, false)
	mul.G.Common.PlanarOperands = mul.G.Common.PlanarOperands.WithSrc1BroadcastW(s.Width > 1)
	at = streamed(mul)
	mul.Reads(sums, flat)
	mul.Source2(powers.M, at)
	mul.InL2()
	mul.G.L2.SourceCfg = mul.G.L2.SourceCfg.WithDMAFmt(1)
	mul.Writes(out.M, at.Base+at.Row*int(mul.G.Common.TileCfg.TileHeight()))
	p.add(mul)
	return nil
}
