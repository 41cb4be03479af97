package lower

import (
	"cmp"
	"errors"
	"math"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A view is a tensor in memory with its axes in an order of the operation's own: strides
// name any of them channel or row, and a run of rows is one row of channels.
type view struct {
	s    regs.Shape
	m    memory
	fold bool // four rows that are one
}

// viewOf is the tensor as it is.
func viewOf(m memory, s layer.Shape) view {
	return view{s: regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}, m: m}
}

// swapped transposes channels and rows.
func (v view) swapped() view {
	v.s.Channels, v.s.Height = v.s.Height, v.s.Channels
	v.m.plane, v.m.row = v.m.row, v.m.plane
	return v
}

// grouped makes every row a group of one row, so that a channel is one row.
func (v view) grouped() view {
	v.s.Groups, v.s.Height = v.s.Height, 1
	v.m.group, v.m.row = v.m.row, v.m.depth
	return v
}

// rows makes every row of one channel a channel of one row.
func (v view) rows() view {
	v.s.Channels, v.s.Height = v.s.Channels*v.s.Height, 1
	v.m.plane = v.m.row
	v.m.row = v.m.depth
	if v.s.Width == 1 {
		v.m.row = v.m.plane
	}
	return v
}

// column makes every channel of one pixel a row of one channel.
func (v view) column() view {
	v.s.Channels, v.s.Height = 1, v.s.Channels
	v.m.row = v.m.plane
	return v
}

// folded makes a row of columns four rows of a quarter, which fills the patch's rows. It
// takes a single row whose quarters are whole 64 bytes.
func (v view) folded() view {
	if v.s.Height != 1 || v.s.Width%foldColumns != 0 {
		return v
	}
	v.s.Height, v.s.Width = foldRows, v.s.Width/foldRows
	v.m.row = v.s.Width * layer.ElementBytes
	v.fold = true
	return v
}

// foldedPatch is the planar patch of a folded row: that of the row, folded (5/5).
func (t *task) foldedPatch() {
	c := &t.g.Common
	w, _ := planarPatch(regs.FormConstant, int(c.InDim.Win())*foldRows, 1)
	c.PlanarPatch = c.PlanarPatch.WithLog2W(w - foldLog2).WithLog2H(foldLog2)
}

const foldColumns, foldRows, foldLog2 = 128, 4, 2

// element is one element of the batch.
func (v view) element(n int) view {
	v.s.Groups = 1
	v.m = v.m.element(n)
	return v
}

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
func (p *plan) reduction() error {
	l := p.layer
	if l.Op == layer.ReduceMin {
		return p.minimum()
	}
	if l.Axes == layer.AxisC|layer.AxisH {
		return p.twoReductions()
	}
	x, y := p.input("x", l.In), p.output("y", l.Out())
	in, out := viewOf(x, l.In), viewOf(y, l.Out())
	switch l.Axes {
	case layer.AxisH | layer.AxisW:
		return p.eachPart(in, out, func(in, out view) error { return p.planarReduction(in, out, 1) })
	case layer.AxisC | layer.AxisH | layer.AxisW:
		return p.eachElement(in, out, func(in, out view) error {
			depth := in.s.Height
			in.m.row, in.m.plane, in.m.depth, in.m.group = in.m.plane, in.m.depth, in.m.row, in.m.depth
			in.s.Height, in.s.Channels = in.s.Channels, 1
			return p.planarReduction(in, out, depth)
		})
	case layer.AxisC | layer.AxisW:
		return p.eachElement(in, out, func(in, out view) error {
			in.s.Channels, in.s.Height, in.s.Groups = 1, in.s.Channels, in.s.Height
			in.m.row, in.m.plane, in.m.group = in.m.plane, in.m.depth, in.m.row
			return p.planarReduction(in, out.grouped(), 1)
		})
	case layer.AxisW:
		if l.In.H == 1 {
			return p.planarReduction(in.folded(), out, 1)
		}
		return p.eachElement(in, out, func(in, out view) error {
			return p.planarReduction(in.grouped(), out.grouped(), 1)
		})
	case layer.AxisH:
		return p.eachElement(in, out, func(in, out view) error { return p.eachPart(in, out, p.rowReduction) })
	case layer.AxisC:
		switch {
		case l.Op == layer.ReduceMax:
			return p.maximum(in, out)
		case l.In.H == 1 && l.In.W == 1:
			return p.planarReduction(in.column(), out, 1)
		}
		return p.eachElement(in, out, func(in, out view) error { return p.eachPart(in, out, p.channelSum) })
	}
	return l.Wrong("axes %#x", uint8(l.Axes))
}

// eachElement runs f for each element of the batch.
func (p *plan) eachElement(in, out view, f func(in, out view) error) error {
	for n := range in.s.Groups {
		if err := f(in.element(n), out.element(n)); err != nil {
			return err
		}
	}
	return nil
}

// eachPart runs f for the whole where that fits the L2, else for its halves: of the channels
// where they are not reduced, of the rows where those are not, until they fit. (No program
// shows what the compiler does with what is larger.)
func (p *plan) eachPart(in, out view, f func(in, out view) error) error {
	tasks, held, scratch := len(p.tasks), p.held, p.scratch
	err := f(in, out)
	if limit := (*layer.LimitError)(nil); !errors.As(err, &limit) {
		return err
	}
	cut := view.channelRun
	n := in.s.Channels
	if axes := p.layer.Axes; axes&layer.AxisC != 0 || n == 1 {
		if cut, n = view.run, in.s.Height; axes&layer.AxisH != 0 || n == 1 {
			return err
		}
	}
	p.tasks, p.held, p.scratch = p.tasks[:tasks], held, scratch
	half := (n + 1) / 2
	if err := p.eachPart(cut(in, 0, half), cut(out, 0, half), f); err != nil {
		return err
	}
	return p.eachPart(cut(in, half, n-half), cut(out, half, n-half), f)
}

// channelRun is m channels from first on.
func (v view) channelRun(first, m int) view {
	v.m.base += first * v.m.plane
	v.s.Channels = m
	return v
}

// minimum is the negative of the maximum of negatives: no program shows a minimum of the
// planar engine's reduction (assumed).
func (p *plan) minimum() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	negative := p.intermediate(l.In)
	least := p.intermediate(l.Out())
	minus := &layer.Weights{Second: []float16.Float16{0xbc00}}
	greatest := *l
	greatest.Op = layer.ReduceMax
	return p.pieces(
		piece{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, minus, ports{"x": x, "y": negative}},
		piece{greatest, p.weights, ports{"x": negative, "y": least}},
		piece{layer.Layer{Op: layer.Mul, In: l.Out(), Second: layer.Scalar}, minus, ports{"x": least, "y": y}},
	)
}

// twoReductions reduces the channels, then the rows.
func (p *plan) twoReductions() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	first, second := *l, *l
	first.Axes = layer.AxisC
	second.In, second.Axes = first.Out(), layer.AxisH
	between := p.intermediate(second.In)
	return p.pieces(
		piece{first, p.weights, ports{"x": x, "y": between}},
		piece{second, p.weights, ports{"x": between, "y": y}},
	)
}

// fanIn is how many values a result is made of.
func fanIn(l *layer.Layer) int { return l.In.Elements() / l.Out().Elements() }

// planarReduction reduces every channel of every group to one value. The result of
// groups stands in the L2 group by group (16/16).
func (p *plan) planarReduction(in, out view, depth int) error {
	if err := layer.Within("groups of rows", in.s.Groups, layer.MaxGroups, "split the tensor into parts of at most %d rows"); err != nil {
		return err
	}
	t := p.reductionTask(in.s)
	t.deep(depth)
	if in.fold {
		t.foldedPatch()
	}
	at := t.skewedPlanar()
	bytes := at.row * in.s.Height
	if err := layer.Within("bytes of a tile in the L2", bytes, p.maxTile(),
		"split the tensor until they are at most %d, and reduce the parts' results"); err != nil {
		return err
	}
	t.source1(in.m, at, false)
	t.writes(out.m, bytes)
	p.add(t)
	return nil
}

// deep gives a task's source and result a depth.
func (t *task) deep(depth int) {
	if depth < 1 || depth > maxField {
		t.refuse("depth", depth, maxField)
		return
	}
	c := &t.g.Common
	c.InDepth, c.OutDepth = c.InDepth.WithDin(uint32(depth)), c.OutDepth.WithDout(uint32(depth))
}

// reductionTask is a planar task that reduces each channel; a mean is scaled. A maximum
// has bit 1 of PE.Cfg and the maximum's padding mode (on every one seen).
func (p *plan) reductionTask(in regs.Shape) *task {
	t := planarTask(regs.FormReduction, in, in)
	switch p.layer.Op {
	case layer.ReduceMean:
		t.g.PE.FinalScale = t.g.PE.FinalScale.WithFinalScale(reciprocal(fanIn(p.layer)))
	case layer.LayerNorm:
		t.g.PE.FinalScale = t.g.PE.FinalScale.WithFinalScale(reciprocal(together(p.layer)))
	case layer.ReduceMax:
		t.takesMaximum()
	}
	return t
}

// takesMaximum makes a planar reduction a maximum.
func (t *task) takesMaximum() {
	t.g.PE.Cfg = t.g.PE.Cfg.WithMaximum(true)
	t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
}

// transposedTile is the layout of a tile that a transpose of s writes: channels as long as
// s has channels, rows that the planar engine reads. Rows of pixels' channels that the
// planar engine folds have no skew (1/1).
func transposedTile(s regs.Shape) layout {
	l := packed(regs.Shape{Channels: s.Width, Width: s.Channels})
	if s.Height == 1 || s.Channels%foldColumns == 0 {
		return l
	}
	return l.skewed(1, transposeFetch)
}

// channelSum transposes channel and x, so that a row holds a pixel's channels, and adds
// each row up: rows are groups, pixels channels. A single row is described in the scratch
// buffer on the way (2/2).
func (p *plan) channelSum(in, out view) error {
	s := in.s
	transposed := transposedTile(s)
	bytes := transposed.row * s.Height
	prep := transposing(s)
	from := prep.sourceTile()
	if err := cmp.Or(
		layer.Within("rows", s.Height, layer.MaxGroups, "split the tensor into parts of at most %d rows"),
		layer.Within("bytes of tiles in the L2", bytes+from.row*s.Height, p.maxTile(),
			"split the tensor until they are at most %d"),
	); err != nil {
		return err
	}
	prep.source1(in.m, from.moved(bytes), false)
	staged := p.stage(s.Width, s.Channels, s.Height == 1)
	var kept *tile
	if s.Height == 1 {
		kept = prep.leavesScratch(transposed, bytes, staged)
	} else {
		kept = prep.leaves(transposed, bytes)
	}
	p.add(prep)

	turned := view{s: regs.Shape{Groups: s.Height, Channels: s.Width, Height: 1, Width: s.Channels}}.folded()
	rows := turned.s
	t := p.reductionTask(rows)
	if turned.fold {
		t.foldedPatch()
	}
	at := transposed
	at.row, at.group = at.depth, transposed.row
	if rows.Height > 1 {
		at.row = rows.Width * layer.ElementBytes
	}
	if s.Height == 1 {
		at.group = 0
		t.readsScratch(kept, staged)
		t.place(at, &t.g.L2.Src1Base, &t.g.L2.Src1ChannelStride, &t.g.L2.Src1RowStride, &t.g.L2.Src1DepthStride, nil)
	} else {
		t.reads(kept, at)
		t.l2(&t.g.L2.Src1GroupStride, at.group)
	}
	c := &t.g.Common
	c.PlanarOperands = c.PlanarOperands.WithResultTranspose(true)
	// The result is a row of pixels; it goes through the L2 as a tile, not as a stream
	// (4/4).
	dst := out.m
	if s.Height > 1 {
		dst.group, dst.row = dst.row, dst.plane
	}
	result := packed(regs.Shape{Channels: 1, Width: s.Width}).moved(bytes)
	result.row = result.channel * s.Height
	t.writesTile(dst, result)
	if s.Height == 1 {
		t.l2(&t.g.L2.ResultGroupStride, result.row)
	}
	p.add(t)
	return nil
}

// stage is room in the scratch buffer for a matrix that a transpose describes there.
func (p *plan) stage(rows, columns int, used bool) memory {
	m := matrix(barScratch, rows, columns)
	m.row = m.plane
	m.base = p.held
	if used {
		p.scratch = max(p.scratch, p.held+m.depth)
	}
	return m
}

// rowReduction reduces rows: with rows as channels, a transpose makes them columns, the
// planar engine reduces the columns, and another transpose brings the channels back
// (every reduction over H has these three).
func (p *plan) rowReduction(in, out view) error {
	v, w := in.swapped(), out.swapped()
	s := v.s // rows as channels, channels as rows
	transposed := packed(regs.Shape{Channels: s.Width, Width: s.Channels}).skewed(1, transposeFetch)
	bytes := transposed.row * s.Height
	prep := transposing(s)
	from := prep.sourceTile()
	// One value for each column and channel, a column behind the other.
	each := s.Height * unitBytes
	means := layout{base: bytes, channel: unitBytes, row: s.Width * each, depth: each, group: each}
	last := max(bytes+from.row*s.Height, means.base+2*means.row)
	if err := cmp.Or(
		layer.Within("columns", s.Width, layer.MaxGroups, "split the tensor into parts of at most %d columns"),
		layer.Within("bytes of tiles in the L2", last, p.l2()-unitBytes, "split the tensor until they are at most %d"),
	); err != nil {
		return err
	}
	prep.source1(v.m, from.moved(bytes), false)
	kept := prep.leaves(transposed, bytes)
	p.add(prep)

	t := p.reductionTask(regs.Shape{Groups: s.Width, Channels: s.Height, Height: 1, Width: s.Channels})
	at := layout{channel: transposed.row, row: transposed.depth, depth: transposed.depth, group: transposed.channel}
	t.reads(kept, at)
	t.l2(&t.g.L2.Src1GroupStride, at.group)
	reduced := t.leaves(means, means.row)
	t.l2(&t.g.L2.ResultGroupStride, means.group)
	p.add(t)

	back := transposing(regs.Shape{Groups: 1, Channels: s.Width, Height: s.Height, Width: 1})
	back.patchTall()
	back.reads(reduced, layout{base: means.base, channel: means.group, row: means.channel, depth: means.group})
	back.writes(w.m, means.base+means.row)
	p.add(back)
	return nil
}

// patchTall takes rows a patch at a time where a patch is higher than wide (1/1).
func (t *task) patchTall() {
	if rows := 1 << t.g.Common.Cfg.ShMax(); rows < int(t.g.Common.TileCfg.TileHeight()) {
		t.tileRows(rows)
	}
}

// writesTile writes the result to memory by way of a tile in the L2.
func (t *task) writesTile(m memory, at layout) {
	t.writes(m, at.base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(1).WithDep_or_BfrMode(0)
	t.place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
}

// paddingMode of L2.Cfg belongs to the maximum over channels (2/2).
const maximumPadding = 1

// maximumTask is the MAC engines' maximum over all channels.
func maximumTask(in regs.Shape) *task {
	out := in
	out.Channels = 1
	t := engineTask(regs.ChannelMaximum, in, out)
	t.unicast()
	c := &t.g.Common
	c.GroupConvCfg = c.GroupConvCfg.WithUnicastCin(uint32(in.Channels))
	t.engines(1)
	t.patch(out, true, nil)
	t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
	return t
}

func (p *plan) checkUnicast(channels int) error {
	return layer.Within("channels of a maximum", channels, 1<<16-1, "take the maximum of at most %d channels at a time")
}

// maximum reduces channels on the MAC engines.
func (p *plan) maximum(in, out view) error {
	if err := p.checkUnicast(in.s.Channels); err != nil {
		return err
	}
	if err := p.checkTile(in.s, 1); err != nil {
		return err
	}
	t := maximumTask(in.s)
	at := t.sourceTile()
	rows, tile := p.tileHeight(in.s, layer.Shape{N: 1, C: 1, H: in.s.Height, W: in.s.Width}, &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at, false)
	t.tileRows(tile)
	t.source1(in.m, at, false)
	t.writes(out.m, at.row*rows)
	p.add(t)
	return nil
}

// reciprocal is 1/n as fp32 bits.
func reciprocal(n int) uint32 {
	return math.Float32bits(float32(1 / float64(n)))
}
