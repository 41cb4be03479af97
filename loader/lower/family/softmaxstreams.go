package family

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// Tensors beyond the L2 pass from task to task in one of two ways in the programs of 2023:
//
//	engine --> ring of 16 rows in the L2 --> other engine    neighbours, one source each
//	any    --> scratch buffer            --> any             everything else
//
// A ring is as narrow as a patch of 16x16 pixels, and the two tasks run beside each other
// (9/9).

// softmaxStreams appends softmax over the columns of a tensor beyond the L2: a value for each
// row stays in the L2, and the powers go through the scratch buffer (1/1).
//
//	x --> largest (L2)    x - largest --> ring --> 2^d (scratch)
//	1/sum of the powers (L2), over the largest's place    powers / sum --> y
func softmaxStreams(o *Output, j job, in, out place.View) error {
	s := in.S
	each := s.Channels * place.UnitBytes
	stats := place.Layout{Channel: place.UnitBytes, Row: s.Height * each, Depth: each, Group: s.Height * each}.Skewed(1, place.PlanarFetch)
	stats.Group = each
	flat := place.Layout{Channel: place.UnitBytes, Row: each, Depth: each}
	if s.Channels == 1 {
		flat.Channel = stats.Row
	}
	if err := cmp.Or(layer.Within("groups of rows", s.Height, layer.MaxGroups, "split the tensor into parts of at most %d rows"),
		layer.Within("bytes of a value for each row in the L2", stats.Row, j.layer.LargestTile(), "split the tensor until they are at most %d")); err != nil {
		return err
	}
	powers := place.ViewOf(o.allocate(j.layer.In), j.layer.In)

	reduce := func(from place.View, r task.Planar) *task.Tile {
		rows := from.Grouped()
		r.Form, r.In, r.Next = regs.FormReduction, rows.S, true
		t := r.Task()
		t.Source1(rows.M, t.SkewedPlanar().Moved(stats.Row), false)
		reduced := t.LeavesGroups(stats, stats.Row)
		o.add(t)
		return reduced
	}
	streamed := func(t *task.Task) place.Layout {
		t.Cut(task.StreamedPatch(s))
		return t.PlanarColumns().Moved(stats.Row)
	}
	largest := reduce(in, task.Planar{Op: task.Largest})

	row := task.Seen{Along: task.W.If(s.Width > 1)}
	sub := exponent(s, row, true).Task()
	at := streamed(sub)
	sub.Source1(in.M, at, false)
	sub.Joins(largest, flat)
	between := o.allocate(j.layer.In)
	sub.Writes(between, at.Base+at.Row*task.RingRows)
	o.add(sub)

	exp := task.Copy(s)
	exp.Cut(task.NarrowPatch)
	exp.Source1(between, exp.SourceTile().Moved(stats.Row), false)
	exp.Lookup(o.Constants.PlaceTable(j.weights.Table, exp.TableLanes()), j.weights.Table)
	exp.Writes(powers.M, stats.Row)
	o.add(exp)

	sums := reduce(powers, task.Planar{Reciprocal: true})

	mul := quotient(s, row, true).Task()
	at = streamed(mul)
	mul.Reads(sums, flat)
	mul.Source2Behind(powers.M, at, 0)
	mul.Writes(out.M, at.Base+at.Row*mul.TileHeight())
	o.add(mul)
	return nil
}
