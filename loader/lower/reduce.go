package lower

import (
	"math"

	"anesim/hw/regs"
)

// A view is a tensor in memory with its axes in an order of the operation's own: strides
// name any of them channel or row, and a run of rows is one row of channels.
type view struct {
	s regs.Shape
	m memory
}

// viewOf is the tensor as it is.
func viewOf(m memory, s Shape) view {
	return view{regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}, m}
}

// swapped exchanges channels and rows.
func (v view) swapped() view {
	v.s.Channels, v.s.Height = v.s.Height, v.s.Channels
	v.m.plane, v.m.row = v.m.row, v.m.plane
	return v
}

// rows makes every row a channel of one row.
func (v view) rows() view {
	v.s.Channels, v.s.Height = v.s.Channels*v.s.Height, 1
	v.m.plane = v.m.row
	v.m.row = v.m.depth
	if v.s.Width == 1 {
		v.m.row = v.m.plane
	}
	return v
}

// flat makes every row a row of one channel.
func (v view) flat() view {
	v.s.Channels, v.s.Height = 1, v.s.Channels*v.s.Height
	v.m.plane = v.m.depth
	return v
}

// element is one element of the batch.
func (v view) element(n int) view {
	v.s.Groups = 1
	v.m = v.m.element(n)
	return v
}

// reduction lowers a sum, a mean or a maximum. The planar engine adds up the rows and
// columns of a channel, the MAC engines take a maximum over channels; other axes are
// turned until one of the two applies.
//
//	sum H W, C H W    planar: the tensor as it is, or as one channel
//	sum W             planar: every row a channel
//	sum C, sum H      exchange channel and x in the L2, then planar
//	max C, max H      MAC engines
//	max W             exchange, then MAC engines
func (p *plan) reduction() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	in, out := viewOf(x, l.In), viewOf(y, l.Out())
	if err := p.checkChannels(in.rows().s.Channels); err != nil {
		return err
	}
	sum := l.Op != ReduceMax
	switch {
	case sum && l.Axes == AxisH|AxisW:
		return p.planarSum(in, out)
	case sum && l.Axes == AxisC|AxisH|AxisW:
		return p.planarSum(in.flat(), out)
	case sum && l.Axes == AxisW:
		return p.planarSum(in.rows(), out.rows())
	case sum && l.Axes == AxisC:
		return p.channelSum(in, out)
	case sum && l.Axes == AxisH:
		return p.channelSum(in.swapped(), out.swapped())
	case l.Axes == AxisC:
		return p.maximum(in, out)
	case l.Axes == AxisH:
		return p.maximum(in.swapped(), out.swapped())
	case l.Axes == AxisW:
		return p.rowMaximum(in, out)
	}
	return l.unsupported("no task reduces these axes together; reduce them one after the other")
}

func (p *plan) checkChannels(n int) error {
	return within(limit{"rows taken as channels", n, MaxChannels, "split the tensor into parts of at most %d rows"})
}

// count is how many values a result is made of.
func (l *Layer) count() int { return l.In.Elements() / l.Out().Elements() }

// planarSum reduces every channel to one value.
func (p *plan) planarSum(in, out view) error {
	if err := p.checkPlane(in.s, 1); err != nil {
		return err
	}
	t := p.sumTask(in.s)
	at := planarTile(in.s)
	t.source1(in.m, at, false)
	t.writes(out.m, at.row*in.s.Height)
	p.add(t)
	return nil
}

// checkPlane refuses a tile that does not stand in the L2 whole.
func (p *plan) checkPlane(s regs.Shape, n int) error {
	return within(limit{"bytes of tiles in the L2", n * planarTile(s).row * s.Height, MaxTile,
		"split the tensor until they are at most %d"})
}

// sumTask is a planar task that adds up each channel, and scales a mean.
func (p *plan) sumTask(in regs.Shape) *task {
	t := planarTask(regs.FormReduction, in, in)
	if p.layer.Op == ReduceMean {
		t.g.PE.FinalScale = t.g.PE.FinalScale.WithFinalScale(reciprocal(p.layer.count()))
	}
	return t
}

// channelSum exchanges channel and x, so that a row holds a pixel's channels, and adds
// each row up: rows are groups, pixels channels.
func (p *plan) channelSum(in, out view) error {
	s := in.s
	exchanged := packed(regs.Shape{Channels: s.Width, Width: s.Channels}).skewed(2)
	from := engineTile(s, true, 1, false)
	bytes := exchanged.row * s.Height
	if err := within(
		limit{"rows", s.Height, MaxGroups, "split the tensor into parts of at most %d rows"},
		limit{"bytes of tiles in the L2", bytes + from.row*s.Height, MaxTile,
			"split the tensor until they are at most %d"},
	); err != nil {
		return err
	}
	for n := range s.Groups {
		src, dst := in.element(n), out.element(n)
		prep := exchange(src.s)
		prep.source1(src.m, from.moved(bytes), false)
		kept := prep.leaves(exchanged, bytes)
		p.add(prep)

		rows := regs.Shape{Groups: s.Height, Channels: s.Width, Height: 1, Width: s.Channels}
		t := p.sumTask(rows)
		at := exchanged
		at.row, at.group = at.depth, exchanged.row
		t.reads(kept, at)
		t.l2(&t.g.L2.Src1GroupStride, at.group)
		c := &t.g.Common
		c.PlanarOperands = c.PlanarOperands.WithResultTranspose(true)
		// The result is a row of pixels; it goes through the L2 as a tile, not as a
		// stream (1/1).
		dst.m.group = dst.m.row
		dst.m.row = dst.m.plane
		result := packed(regs.Shape{Channels: s.Width, Width: 1}).moved(bytes)
		result.depth = result.channel
		t.writesTile(dst.m, result)
		p.add(t)
	}
	return nil
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
	return within(limit{"channels of a maximum", channels, 1<<16 - 1, "take the maximum of at most %d channels at a time"})
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
	at := engineTile(in.s, true, 1, false)
	rows, tile := p.tileHeight(in.s, Shape{1, 1, in.s.Height, in.s.Width}, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at)
	t.tileRows(tile)
	t.source1(in.m, at, false)
	t.writes(out.m, at.row*rows)
	p.add(t)
	return nil
}

// rowMaximum exchanges channel and x, then reduces the channels x became; the result's x
// are the tensor's channels, exchanged again as they are written.
func (p *plan) rowMaximum(in, out view) error {
	s := in.s
	turned := regs.Shape{Groups: 1, Channels: s.Width, Height: s.Height, Width: s.Channels}
	exchanged := packed(turned)
	from := engineTile(s, true, 1, false)
	bytes := exchanged.row * s.Height
	if err := within(limit{"bytes of tiles in the L2", bytes + from.row*s.Height, MaxTile,
		"split the tensor until they are at most %d"}); err != nil {
		return err
	}
	for n := range s.Groups {
		src, dst := in.element(n), out.element(n)
		prep := exchange(src.s)
		prep.source1(src.m, from.moved(bytes), false)
		kept := prep.leaves(exchanged, bytes)
		p.add(prep)
		t := maximumTask(turned)
		t.g.Common.Cfg = t.g.Common.Cfg.WithTranspose(true)
		t.reads(kept, exchanged)
		t.writes(dst.m, bytes)
		p.add(t)
	}
	return nil
}

// reciprocal is 1/n as fp32 bits.
func reciprocal(n int) uint32 {
	return math.Float32bits(float32(1 / float64(n)))
}
