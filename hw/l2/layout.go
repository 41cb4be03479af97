package l2

import "anesim/hw/regs"

// A Layout places a tile of fp16 elements in the scratchpad. Strides are bytes.
type Layout struct {
	Base, Channel, Row, Group uint32
	Exchanged                 bool // channel and x change places
}

// Source1 is where the registers put the first source's tile.
func Source1(g *regs.Groups) Layout {
	l := &g.L2
	return Layout{
		l.Src1Base.Bytes(), l.Src1ChannelStride.Bytes(), l.Src1RowStride.Bytes(), l.Src1GroupStride.Bytes(),
		g.Planar() && g.Common.PlanarOperands.Src1Transpose(),
	}
}

// Source2 is where the registers put the second source's tile.
func Source2(g *regs.Groups) Layout {
	l := &g.L2
	return Layout{
		l.Src2Base.Bytes(), l.Src2ChannelStride.Bytes(), l.Src2RowStride.Bytes(), l.Src2GroupStride.Bytes(),
		g.Planar() && g.Common.PlanarOperands.Src2Transpose(),
	}
}

// Result is where the registers put the result's tile.
func Result(g *regs.Groups) Layout {
	l := &g.L2
	return Layout{
		l.ResultBase.Bytes(), l.ResultChannelStride.Bytes(), l.ResultRowStride.Bytes(), l.ResultGroupStride.Bytes(),
		g.ResultExchanged(),
	}
}

// Span is the number of bytes from the scratchpad's start to the end of a tile's last
// element.
func (l Layout) Span(s regs.Shape) uint64 {
	if s.Elements() <= 0 {
		return uint64(l.Base)
	}
	outer, inner := s.Channels, s.Width
	if l.Exchanged {
		outer, inner = inner, outer
	}
	return uint64(l.Base) + uint64(s.Groups-1)*uint64(l.Group) + uint64(s.Height-1)*uint64(l.Row) +
		uint64(outer-1)*uint64(l.Channel) + 2*uint64(inner)
}
