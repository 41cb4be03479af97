package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// An Operand selects one of the three operands of a task.
type Operand int

const (
	Operand1 Operand = iota
	Operand2
	OperandResult
)

// MemoryOf returns the surface of an operand in memory and its number of groups, planes and rows.
// The planes are channels, or columns if the result is transposed. plain is false if the task has
// a depth or interleaves channels, in which case these numbers do not describe the surface
// completely.
func (t *registers) MemoryOf(which Operand) (m place.Memory, groups, planes, rows int, plain bool) {
	g := &t.g
	d, s := &g.TileDMASrc, g.InShape()
	plain = g.Common.InDepth.Din() == 1 && g.Common.OutDepth.Dout() == 1
	switch which {
	case Operand1:
		m = place.Memory{Bar: t.h.Bases.RBase0(), Base: int(d.Src1Base.Bytes()), Row: int(d.Src1RowStride.Bytes()), Plane: int(d.Src1PlaneStride.Bytes()), Group: int(d.Src1GroupStride.Bytes())}
		plain = plain && d.Src1Fmt.Interleave() == 1
	case Operand2:
		m = place.Memory{Bar: t.h.Bases.RBase1(), Base: int(d.Src2Base.Bytes()), Row: int(d.Src2RowStride.Bytes()), Plane: int(d.Src2PlaneStride.Bytes()), Group: int(d.Src2GroupStride.Bytes())}
	case OperandResult:
		o := &g.TileDMADst
		s = g.OutShape()
		m = place.Memory{Bar: t.h.Bases.WBase(), Base: int(o.DstBase.Bytes()), Row: int(o.DstRowStride.Bytes()), Plane: int(o.DstPlaneStride.Bytes()), Group: int(o.DstGroupStride.Bytes())}
		plain = plain && o.DstFmt.Interleave() == 1
		if g.ResultTransposed() {
			return m, s.Groups, s.Width, s.Height, plain
		}
	}
	return m, s.Groups, s.Channels, s.Height, plain
}

// TileBytes returns how many bytes of the L2 a source occupies: all of its rows, or the rows that
// one tile of the result needs.
func (t *registers) TileBytes(which Operand) int {
	at := t.L2Layout(which)
	channel, row, group := at.Channel, at.Row, at.Group
	c := &t.g.Common
	s := t.g.InShape()
	if tile := int(c.TileCfg.TileHeight()); tile < int(c.OutDim.Hout()) {
		s.Height = min(s.Height, (tile-1)*max(1, int(c.ConvCfg.Sy()))+int(c.ConvCfg.Kh()))
		s.Groups = 1
	}
	if t.LoadsFirst() && group <= row {
		s.Groups = 1
	}
	return spanBytes(s, channel, row, group, false) + row - min(row, channel*s.Channels)
}

// Source returns the tile of the first or second source, and nil for the result.
func (t *Task) Source(which Operand) *Tile {
	switch which {
	case Operand1:
		return t.First
	case Operand2:
		return t.Second
	}
	return nil
}

// spanBytes returns the number of bytes from the first element of a tile to the end of its last.
func spanBytes(s regs.Shape, channel, row, group int, transposed bool) int {
	outer, inner := s.Channels, s.Width
	if transposed {
		outer, inner = inner, outer
	}
	return (s.Groups-1)*group + (s.Height-1)*row + (outer-1)*channel + layer.RoundUp(inner*layer.ElementBytes, 16)
}

// IsElementwise reports whether every element of the result depends only on the elements at the
// same place in the sources.
func (t *registers) IsElementwise() bool {
	if t.g.ResultTransposed() || t.g.Common.PlanarOperands != 0 {
		return false
	}
	if t.Planar() {
		f := t.g.Common.Cfg.PlanarForm()
		return f == regs.FormTwoSources || f == regs.FormConstant
	}
	return t.g.NE.MACCfg.OpMode() == regs.PassThrough
}

// IsInMemory reports whether the tile DMA reads or writes the operand in memory.
func (t *registers) IsInMemory(which Operand) bool {
	switch which {
	case Operand1:
		return t.g.Source1On()
	case Operand2:
		return t.g.Source2On()
	}
	return t.g.DestinationOn()
}

// Bar returns the index of the buffer that holds an operand in memory.
func (t *registers) Bar(which Operand) uint32 {
	switch which {
	case Operand1:
		return t.h.Bases.RBase0()
	case Operand2:
		return t.h.Bases.RBase1()
	}
	return t.h.Bases.WBase()
}

// KernelBar returns the index of the buffer that holds the task's weights. It reports false if
// the task has none.
func (t *registers) KernelBar() (uint32, bool) {
	return t.h.KernelBases.KBase0(), t.h.KernelBases.KBE0()
}

// L2Layout returns the layout of an operand in the L2. A result that streams to memory has a base
// and no strides.
func (t *registers) L2Layout(which Operand) place.Layout {
	l := &t.g.L2
	switch which {
	case Operand1:
		return place.Layout{Base: int(l.Src1Base.Bytes()), Channel: int(l.Src1ChannelStride.Bytes()), Row: int(l.Src1RowStride.Bytes()), Group: int(l.Src1GroupStride.Bytes())}
	case Operand2:
		return place.Layout{Base: int(l.Src2Base.Bytes()), Channel: int(l.Src2ChannelStride.Bytes()), Row: int(l.Src2RowStride.Bytes()), Group: int(l.Src2GroupStride.Bytes())}
	}
	return place.Layout{Base: int(l.ResultBase.Bytes()), Channel: int(l.ResultChannelStride.Bytes()), Row: int(l.ResultRowStride.Bytes()), Group: int(l.ResultGroupStride.Bytes())}
}

// ResultBytes returns how many bytes of the L2 the result occupies. The result must have a layout
// there.
func (t *registers) ResultBytes() int {
	at := t.L2Layout(OperandResult)
	return spanBytes(t.g.OutShape(), at.Channel, at.Row, at.Group, t.g.ResultTransposed())
}

// IsResultTransposed reports whether the task writes its result with channels and columns
// exchanged.
func (t *registers) IsResultTransposed() bool { return t.g.ResultTransposed() }

// LoadsWholeSource reports whether the task loads all of its first source at once, without slices
// of columns, and has no second source in memory.
func (t *registers) LoadsWholeSource() bool {
	return t.g.L2.SourceCfg.Type() == 2 && t.g.Common.TileCfg.TileHeight() == t.g.Common.OutDim.Hout() &&
		int(t.g.L2.Src1ChannelStride.Bytes()) >= t.g.InShape().Width*layer.ElementBytes && !t.g.Source2On()
}

// HaveSameSource reports whether the first sources of two tasks have the same shape and depth.
func HaveSameSource(t, other *Task) bool {
	return t.g.InShape() == other.g.InShape() && t.g.Common.InDepth == other.g.Common.InDepth
}

// SetFullTileHeight makes the task compute all rows of its result in one tile.
func (t *registers) SetFullTileHeight() { t.SetTileHeight(int(t.g.Common.OutDim.Hout())) }

// IsPassThrough reports whether the task copies its source through the MAC engines.
func (t *registers) IsPassThrough() bool {
	return !t.Planar() && t.g.NE.MACCfg.OpMode() == regs.PassThrough
}

// HasActivation reports whether the task applies ReLU or a table after the accumulator.
func (t *registers) HasActivation() bool { return t.g.NE.MACCfg.NonlinearMode() != regs.NoActivation }

// InShape returns the shape of the first source.
func (t *registers) InShape() regs.Shape { return t.g.InShape() }

// OutShape returns the shape of the result.
func (t *registers) OutShape() regs.Shape { return t.g.OutShape() }

// TileHeight returns how many rows of the result the task computes per tile.
func (t *registers) TileHeight() int { return int(t.g.Common.TileCfg.TileHeight()) }

// PatchLog2 returns log2 of the number of rows in the highest patch of the task.
func (t *registers) PatchLog2() uint32 { return t.g.Common.Cfg.ShMax() }

// HasFixedPatch reports whether all patches of the task have the same height.
func (t *registers) HasFixedPatch() bool {
	c := t.g.Common.Cfg
	return c.ShMin() > 0 && c.ShMin() == c.ShMax()
}
