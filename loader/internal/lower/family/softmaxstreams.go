package family

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// In programs of the 2023 compiler, tensors that do not fit L2 pass from task to task in two ways:
//
//	engine --> ring of 16 rows in L2 --> other engine    neighbors, one source each
//	any    --> scratch buffer        --> any             everything else
//
// A ring is as narrow as a patch of 16x16 pixels, and the two tasks run at the same time (seen in
// 9 of 9 programs).

// lowerStreamedSoftmax appends softmax over the columns of a tensor that does not fit L2, in the
// form of the 2023 compiler. A value for each row stays in L2, and the powers pass through the
// scratch buffer, as in the one program seen.
//
//	x --> largest (L2)    x - largest --> ring --> 2^d (scratch)
//	1/sum of the powers (L2), overwrites largest    powers / sum --> y
func lowerStreamedSoftmax(o *Output, j job, in, out place.View) error {
	s := in.S
	each := s.Channels * place.UnitBytes
	stats := place.Layout{Channel: place.UnitBytes, Row: s.Height * each, Depth: each, Group: s.Height * each}.Skew(place.PlanarFetch)
	// The skew applies to the whole column of values, but each row is a group of its own.
	stats.Group = each
	flat := place.Layout{Channel: place.UnitBytes, Row: each, Depth: each}
	if s.Channels == 1 {
		flat.Channel = stats.Row
	}
	if err := cmp.Or(layer.CheckLimit("number of row groups", s.Height, layer.MaxGroups, "split the tensor into parts of at most %d rows"),
		layer.CheckLimit("size in bytes of the values for all rows in L2", stats.Row, j.layer.LargestTile(), "split the tensor until they have at most %d bytes")); err != nil {
		return err
	}
	// The powers come before the differences in the scratch buffer, although they are written later, as in
	// the one program.
	powers := place.NewView(o.allocateTensor(j.layer.In), j.layer.In)

	reduce := func(from place.View, r task.Planar) *task.Tile {
		rows := from.GroupRows()
		r.Form, r.In, r.Next = regs.FormReduction, rows.S, true
		t := r.Task()
		t.LoadSource1(rows.M, t.SkewedPlanarTile().Rebase(stats.Row), false)
		reduced := t.KeepResultGroups(stats)
		o.addTask(t)
		return reduced
	}
	setStreamedPatch := func(t *task.Task) place.Layout {
		t.SetPatch(task.StreamedPatch(s))
		return t.PackedPlanarTile().Rebase(stats.Row)
	}
	largest := reduce(in, task.Planar{Op: task.Largest})

	row := task.SourceView{Repeat: task.W.If(s.Width > 1)}
	sub := newDifferenceTask(s, row, true).Task()
	at := setStreamedPatch(sub)
	sub.LoadSource1(in.M, at, false)
	sub.ReadSecondTile(largest, flat)
	between := o.allocateTensor(j.layer.In)
	sub.WriteResult(between, 0)
	o.addTask(sub)

	exp := task.NewCopy(s)
	exp.SetPatch(task.NarrowPatch)
	exp.LoadSource1(between, exp.SourceTile().Rebase(stats.Row), false)
	exp.SetTable(o.Constants.PlaceTable(j.weights.Table, exp.TableLanes()), j.weights.Table)
	exp.WriteResult(powers.M, stats.Row)
	o.addTask(exp)

	sums := reduce(powers, task.Planar{Reciprocal: true})

	mul := newQuotientTask(s, row, true).Task()
	at = setStreamedPatch(mul)
	mul.ReadTile(sums, flat)
	mul.LoadOnlySource2(powers.M, at, 0)
	mul.WriteResult(out.M, at.Base+at.Row*mul.TileHeight())
	o.addTask(mul)
	return nil
}
