package family

import (
	"cmp"
	"errors"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// reduction lowers a sum, a mean, a maximum or a minimum. The planar engine reduces the
// rows and columns of a channel, the MAC engines take a maximum over channels; other axes
// are turned until one of the two applies (183/183 rows of a public table have so many
// descriptors).
//
//	H W, C H W       planar: the tensor as it is, or its channels as rows and rows as depth
//	W                planar: every row a group
//	C, one pixel     planar: channels as rows
//	sum C            transpose channel and x in the L2, then planar
//	max C            MAC engines
//	H                transpose, planar, transpose
//	C W, C H         planar with channels as rows; C, then H (assumed)
func (p *Plan) reduction() error {
	l := p.Layer
	if l.Op == layer.ReduceMin {
		return p.minimum()
	}
	if l.Axes == layer.AxisC|layer.AxisH {
		return p.twoReductions()
	}
	x, y := p.input("x", l.In), p.output("y", l.Out())
	in, out := task.ViewOf(x, l.In), task.ViewOf(y, l.Out())
	switch l.Axes {
	case layer.AxisH | layer.AxisW:
		return p.eachPart(in, out, func(in, out task.View) error { return p.planarReduction(in, out, 1) })
	case layer.AxisC | layer.AxisH | layer.AxisW:
		return p.eachElement(in, out, func(in, out task.View) error {
			depth := in.S.Height
			in.M.Row, in.M.Plane, in.M.Depth, in.M.Group = in.M.Plane, in.M.Depth, in.M.Row, in.M.Depth
			in.S.Height, in.S.Channels = in.S.Channels, 1
			return p.planarReduction(in, out, depth)
		})
	case layer.AxisC | layer.AxisW:
		return p.eachElement(in, out, func(in, out task.View) error {
			in.S.Channels, in.S.Height, in.S.Groups = 1, in.S.Channels, in.S.Height
			in.M.Row, in.M.Plane, in.M.Group = in.M.Plane, in.M.Depth, in.M.Row
			return p.planarReduction(in, out.Grouped(), 1)
		})
	case layer.AxisW:
		if l.In.H == 1 {
			return p.planarReduction(in.Folded(), out, 1)
		}
		return p.eachElement(in, out, func(in, out task.View) error {
			return p.planarReduction(in.Grouped(), out.Grouped(), 1)
		})
	case layer.AxisH:
		return p.eachElement(in, out, func(in, out task.View) error { return p.eachPart(in, out, p.rowReduction) })
	case layer.AxisC:
		switch {
		case l.Op == layer.ReduceMax:
			return p.maximum(in, out)
		case l.In.H == 1 && l.In.W == 1:
			return p.planarReduction(in.Column(), out, 1)
		}
		return p.eachElement(in, out, func(in, out task.View) error { return p.eachPart(in, out, p.channelSum) })
	}
	return l.Wrong("axes %#x", uint8(l.Axes))
}

// eachElement runs f for each element of the batch.
func (p *Plan) eachElement(in, out task.View, f func(in, out task.View) error) error {
	for n := range in.S.Groups {
		if err := f(in.Element(n), out.Element(n)); err != nil {
			return err
		}
	}
	return nil
}

// eachPart runs f for the whole where that fits the L2, else for its halves: of the channels
// where they are not reduced, of the rows where those are not, until they fit. (No program
// shows what the compiler does with what is larger.)
func (p *Plan) eachPart(in, out task.View, f func(in, out task.View) error) error {
	tasks, held, scratch := len(p.Tasks), p.held, p.Scratch
	err := f(in, out)
	if limit := (*layer.LimitError)(nil); !errors.As(err, &limit) {
		return err
	}
	cut := task.View.ChannelRun
	n := in.S.Channels
	if axes := p.Layer.Axes; axes&layer.AxisC != 0 || n == 1 {
		if cut, n = task.View.Run, in.S.Height; axes&layer.AxisH != 0 || n == 1 {
			return err
		}
	}
	p.Tasks, p.held, p.Scratch = p.Tasks[:tasks], held, scratch
	half := (n + 1) / 2
	if err := p.eachPart(cut(in, 0, half), cut(out, 0, half), f); err != nil {
		return err
	}
	return p.eachPart(cut(in, half, n-half), cut(out, half, n-half), f)
}

// minimum is the negative of the maximum of negatives: no program shows a minimum of the
// planar engine's reduction (assumed).
func (p *Plan) minimum() error {
	l := p.Layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	negative := p.intermediate(l.In)
	least := p.intermediate(l.Out())
	minus := &layer.Weights{Second: []float16.Float16{0xbc00}}
	greatest := *l
	greatest.Op = layer.ReduceMax
	return p.pieces(
		piece{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, minus, ports{"x": x, "y": negative}},
		piece{greatest, p.Weights, ports{"x": negative, "y": least}},
		piece{layer.Layer{Op: layer.Mul, In: l.Out(), Second: layer.Scalar}, minus, ports{"x": least, "y": y}},
	)
}

// twoReductions reduces the channels, then the rows.
func (p *Plan) twoReductions() error {
	l := p.Layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	first, second := *l, *l
	first.Axes = layer.AxisC
	second.In, second.Axes = first.Out(), layer.AxisH
	between := p.intermediate(second.In)
	return p.pieces(
		piece{first, p.Weights, ports{"x": x, "y": between}},
		piece{second, p.Weights, ports{"x": between, "y": y}},
	)
}

// fanIn is how many values a result is made of.
func fanIn(l *layer.Layer) int { return l.In.Elements() / l.Out().Elements() }

// planarReduction reduces every channel of every group to one value. The result of
// groups stands in the L2 group by group (16/16).
func (p *Plan) planarReduction(in, out task.View, depth int) error {
	if err := layer.Within("groups of rows", in.S.Groups, layer.MaxGroups, "split the tensor into parts of at most %d rows"); err != nil {
		return err
	}
	r := p.reduced(in.S)
	r.Depth = depth
	t := r.Task()
	if in.Fold {
		t.FoldedPatch()
	}
	at := t.SkewedPlanar()
	bytes := at.Row * in.S.Height
	if err := layer.Within("bytes of a tile in the L2", bytes, p.Layer.LargestTile(),
		"split the tensor until they are at most %d, and reduce the parts' results"); err != nil {
		return err
	}
	t.Source1(in.M, at, false)
	t.Writes(out.M, bytes)
	p.add(t)
	return nil
}

// reduced is the reduction of each channel; a mean is scaled.
func (p *Plan) reduced(in regs.Shape) task.Planar {
	r := task.Planar{Form: regs.FormReduction, In: in}
	switch p.Layer.Op {
	case layer.ReduceMean:
		r.Mean = fanIn(p.Layer)
	case layer.LayerNorm:
		r.Mean = together(p.Layer)
	case layer.ReduceMax:
		r.Op = task.Largest
	}
	return r
}

// transposedTile is the layout of a tile that a transpose of s writes: channels as long as
// s has channels, rows that the planar engine reads. Rows of pixels' channels that the
// planar engine folds have no skew (1/1).
func transposedTile(s regs.Shape) task.Layout {
	l := task.Packed(regs.Shape{Channels: s.Width, Width: s.Channels})
	if s.Height == 1 || s.Channels%task.FoldColumns == 0 {
		return l
	}
	return l.Skewed(1, task.TransposeFetch)
}

// channelSum transposes channel and x, so that a row holds a pixel's channels, and adds
// each row up: rows are groups, pixels channels. A single row is described in the scratch
// buffer on the way (2/2).
func (p *Plan) channelSum(in, out task.View) error {
	s := in.S
	transposed := transposedTile(s)
	bytes := transposed.Row * s.Height
	prep := task.Transposing(s)
	from := prep.SourceTile()
	if err := cmp.Or(
		layer.Within("rows", s.Height, layer.MaxGroups, "split the tensor into parts of at most %d rows"),
		layer.Within("bytes of tiles in the L2", bytes+from.Row*s.Height, p.Layer.LargestTile(),
			"split the tensor until they are at most %d"),
	); err != nil {
		return err
	}
	prep.Source1(in.M, from.Moved(bytes), false)
	staged := p.stage(s.Width, s.Channels, s.Height == 1)
	var kept *task.Tile
	if s.Height == 1 {
		kept = prep.LeavesScratch(transposed, bytes, staged)
	} else {
		kept = prep.Leaves(transposed, bytes)
	}
	p.add(prep)

	turned := task.View{S: regs.Shape{Groups: s.Height, Channels: s.Width, Height: 1, Width: s.Channels}}.Folded()
	rows := turned.S
	r := p.reduced(rows)
	r.Transposed = true
	t := r.Task()
	if turned.Fold {
		t.FoldedPatch()
	}
	at := transposed
	at.Row, at.Group = at.Depth, transposed.Row
	if rows.Height > 1 {
		at.Row = rows.Width * layer.ElementBytes
	}
	if s.Height == 1 {
		t.ReadsScratch(kept, at, staged)
	} else {
		t.ReadsGroups(kept, at)
	}
	// The result is a row of pixels; it goes through the L2 as a tile, not as a stream
	// (4/4).
	dst := out.M
	if s.Height > 1 {
		dst.Group, dst.Row = dst.Row, dst.Plane
	}
	result := task.Packed(regs.Shape{Channels: 1, Width: s.Width}).Moved(bytes)
	result.Row, result.Group = result.Channel*s.Height, 0
	if s.Height == 1 {
		result.Group = result.Row
	}
	t.WritesTile(dst, result)
	p.add(t)
	return nil
}

// stage is room in the scratch buffer for a matrix that a transpose describes there.
func (p *Plan) stage(rows, columns int, used bool) task.Memory {
	m := task.Matrix(task.BarScratch, rows, columns)
	m.Row = m.Plane
	m.Base = p.held
	if used {
		p.Scratch = max(p.Scratch, p.held+m.Depth)
	}
	return m
}

// rowReduction reduces rows: with rows as channels, a transpose makes them columns, the
// planar engine reduces the columns, and another transpose brings the channels back
// (every reduction over H has these three).
func (p *Plan) rowReduction(in, out task.View) error {
	v, w := in.Swapped(), out.Swapped()
	s := v.S // rows as channels, channels as rows
	transposed := task.Packed(regs.Shape{Channels: s.Width, Width: s.Channels}).Skewed(1, task.TransposeFetch)
	bytes := transposed.Row * s.Height
	prep := task.Transposing(s)
	from := prep.SourceTile()
	// One value for each column and channel, a column behind the other.
	each := s.Height * task.UnitBytes
	means := task.Layout{Base: bytes, Channel: task.UnitBytes, Row: s.Width * each, Depth: each, Group: each}
	last := max(bytes+from.Row*s.Height, means.Base+2*means.Row)
	if err := cmp.Or(
		layer.Within("columns", s.Width, layer.MaxGroups, "split the tensor into parts of at most %d columns"),
		layer.Within("bytes of tiles in the L2", last, p.Layer.L2Bytes()-task.UnitBytes, "split the tensor until they are at most %d"),
	); err != nil {
		return err
	}
	prep.Source1(v.M, from.Moved(bytes), false)
	kept := prep.Leaves(transposed, bytes)
	p.add(prep)

	t := p.reduced(regs.Shape{Groups: s.Width, Channels: s.Height, Height: 1, Width: s.Channels}).Task()
	at := task.Layout{Channel: transposed.Row, Row: transposed.Depth, Depth: transposed.Depth, Group: transposed.Channel}
	t.ReadsGroups(kept, at)
	reduced := t.LeavesGroups(means, means.Row)
	p.add(t)

	back := task.Transposing(regs.Shape{Groups: 1, Channels: s.Width, Height: s.Height, Width: 1})
	back.PatchTall()
	back.Reads(reduced, task.Layout{Base: means.Base, Channel: means.Group, Row: means.Channel, Depth: means.Group})
	back.Writes(w.M, means.Base+means.Row)
	p.add(back)
	return nil
}

func (p *Plan) checkUnicast(channels int) error {
	return layer.Within("channels of a maximum", channels, 1<<16-1, "take the maximum of at most %d channels at a time")
}

// maximum reduces channels on the MAC engines.
func (p *Plan) maximum(in, out task.View) error {
	if err := p.checkUnicast(in.S.Channels); err != nil {
		return err
	}
	if err := p.checkTile(in.S, 1); err != nil {
		return err
	}
	t := task.Maximum(in.S)
	at := t.SourceTile()
	rows, tile := p.TileHeight(in.S, layer.Shape{N: 1, C: 1, H: in.S.Height, W: in.S.Width}, &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at, false)
	t.TileRows(tile)
	t.Source1(in.M, at, false)
	t.Writes(out.M, at.Row*rows)
	p.add(t)
	return nil
}
