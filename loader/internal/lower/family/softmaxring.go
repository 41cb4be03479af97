package family

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// tryLowerSoftmaxRing appends softmax over the columns of a tensor that does not fit L2, in five
// tasks as in the one program seen. Differences pass to the table through a ring of 16 columns in
// L2 that is as high as the tensor. Powers pass through the scratch buffer, where up to eight
// channels are interleaved. A value for each row of each channel stays in L2.
//
//	x --> largest (L2)    x - largest --> ring --> 2^d (scratch)
//	1/sum of the powers (L2), overwrites largest    powers / sum --> y
//
// It reports false if the ring does not fit L2.
func tryLowerSoftmaxRing(o *Output, j job, in, out place.View) bool {
	s := in.S
	each := s.Channels * place.UnitBytes
	stats := place.Layout{Channel: place.UnitBytes, Row: s.Height * each, Depth: each, Group: each}
	flat := place.Layout{Channel: place.UnitBytes, Row: each, Depth: each}
	ring := place.PackedColumns(s, task.RingColumns).Skew(place.PlanarFetch, place.RingFetch).Rebase(stats.Row)
	// The ring and the tiles of the DMA have all rows of the tensor but few columns: tasks advance by
	// patches of 16 columns.
	source := place.PackedColumns(s, task.RingSource).Skew(place.PlanarFetch).Rebase(ring.Base + ring.Row*s.Height)
	stream := source.Base + source.Row*s.Height
	if s.Height > layer.MaxGroups || stream > j.layer.LargestTile() {
		return false
	}
	side := task.MaxInterleave
	// Interleaved channels must divide the channels, or the last row of the buffer would have gaps.
	for s.Channels%side != 0 {
		side /= 2
	}
	between := place.Memory{Bar: place.BarScratch, Base: o.held, Row: layer.RoundUp(s.Width*side*layer.ElementBytes, 64)}
	between.Plane = between.Row * s.Height
	between.Depth = between.Plane * (s.Channels / side)
	between.Group = between.Depth
	o.Scratch = max(o.Scratch, o.held+between.Depth)

	reduce := func(from place.View, side int, continues bool, r task.Planar) *task.Tile {
		rows := from.GroupRows()
		r.Form, r.In, r.Next = regs.FormReduction, rows.S, true
		t := r.Task()
		t.Continues = continues
		t.LoadSource1(rows.M, t.PackedPlanarTile().Rebase(stats.Row), false)
		// The first reduction reads the input and the second the powers, which are interleaved.
		t.SetInterleave(side)
		reduced := t.KeepResultGroups(stats)
		o.addTask(t)
		return reduced
	}
	largest := reduce(in, 1, false, task.Planar{Op: task.Largest})

	row := task.SourceView{Repeat: task.W.If(s.Width > 1)}
	sub := newDifferenceTask(s, row, true).Task()
	sub.SetPatch(task.PlanarPatch(task.RingLog2, task.RingLog2))
	sub.LoadSource1(in.M, source, false)
	sub.ReadSecondTile(largest, flat)
	shared := sub.KeepResultInRing(ring)
	o.addTask(sub)

	exp := task.NewCopy(s)
	exp.SetPatch(task.FixedPatch(task.RingLog2))
	exp.ReadRing(ring, shared)
	exp.SetTable(o.Constants.PlaceTable(j.weights.Table, exp.TableLanes()), j.weights.Table)
	exp.WriteInterleaved(between, stream, side)
	o.addTask(exp)

	powers := place.View{S: s, M: between}
	sums := reduce(powers, side, true, task.Planar{Reciprocal: true})

	mul := newQuotientTask(s, row, true).Task()
	mul.SetPatch(task.PlanarPatch(task.RingLog2+1, task.RingLog2-1))
	mul.ReadTile(sums, flat)
	mul.LoadOnlySource2(between, source.Rebase(stats.Row), side)
	mul.StageResult(out.M, source.Rebase(stats.Row+source.Row*s.Height))
	o.addTask(mul)
	return true
}
