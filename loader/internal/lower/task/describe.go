package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// An Operand identifies an operand of a task: its first source, its second source, or its result.
type Operand int

// The operands of a task.
const (
	Operand1      Operand = iota // first source
	Operand2                     // second source
	OperandResult                // result
)

// MemoryOf returns the surface of an operand in memory, with its buffer, offset and strides in
// bytes, and the numbers of its groups, planes and rows. A plane holds one channel, or one column
// of a transposed result. The operand must be in memory, see [Task.IsInMemory]. plain is false if
// the task has a depth or interleaves channels, because the returned numbers then leave out a part
// of the surface.
func (t *registers) MemoryOf(operand Operand) (m place.Memory, groups, planes, rows int, plain bool) {
	g := &t.g
	d, s := &g.TileDMASrc, g.InShape()
	plain = g.Common.InDepth.Din() == 1 && g.Common.OutDepth.Dout() == 1
	switch operand {
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

// TileBytes returns how many bytes of L2 the first or second source occupies. It counts all rows of
// the source, or only the rows that one tile (a run of result rows) needs if the task computes its
// result in several tiles. operand must be Operand1 or Operand2.
func (t *registers) TileBytes(operand Operand) int {
	at := t.L2Layout(operand)
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

// Source returns the tile in L2 that holds the given source of the task. It returns nil if operand
// is OperandResult or the source has no tile.
func (t *Task) Source(operand Operand) *Tile {
	switch operand {
	case Operand1:
		return t.First
	case Operand2:
		return t.Second
	}
	return nil
}

// spanBytes returns the number of bytes from the start of the first element of a tile to the end of
// its last row, which is rounded up to 16 bytes. channel, row and group are strides in bytes. If
// transposed is set, columns are planes and channels are the elements of a row.
func spanBytes(s regs.Shape, channel, row, group int, transposed bool) int {
	outer, inner := s.Channels, s.Width
	if transposed {
		outer, inner = inner, outer
	}
	return (s.Groups-1)*group + (s.Height-1)*row + (outer-1)*channel + layer.RoundUp(inner*layer.ElementBytes, 16)
}

// IsElementwise reports whether each element of the result depends only on the elements of the
// sources at the same position. It reports false for tasks that broadcast or transpose an operand.
func (t *registers) IsElementwise() bool {
	if t.g.ResultTransposed() || !t.g.Common.PlanarOperands.IsZero() {
		return false
	}
	if t.Planar() {
		f := t.g.Common.Cfg.PlanarForm()
		return f == regs.FormTwoSources || f == regs.FormConstant && !t.g.PE.Cfg.Maximum()
	}
	return t.g.NE.MACCfg.OpMode() == regs.PassThrough
}

// IsInMemory reports whether the task reads or writes the operand in memory by DMA, rather than in
// L2.
func (t *registers) IsInMemory(operand Operand) bool {
	switch operand {
	case Operand1:
		return t.g.Source1On()
	case Operand2:
		return t.g.Source2On()
	}
	return t.g.DestinationOn()
}

// Bar returns the index of the buffer in memory that holds an operand. The result is meaningless if
// the operand stays in L2, see [Task.IsInMemory].
func (t *registers) Bar(operand Operand) uint32 {
	switch operand {
	case Operand1:
		return t.h.Bases.RBase0()
	case Operand2:
		return t.h.Bases.RBase1()
	}
	return t.h.Bases.WBase()
}

// KernelBar returns the index of the buffer in memory that holds the task's weights. If the task
// has no weights, ok is false.
func (t *registers) KernelBar() (bar uint32, ok bool) {
	return t.h.KernelBases.KBase0(), t.h.KernelBases.KBE0()
}

// L2Layout returns the address and the strides of an operand in L2, in bytes. The strides of a
// result that streams to memory are 0.
func (t *registers) L2Layout(operand Operand) place.Layout {
	l := &t.g.L2
	switch operand {
	case Operand1:
		return place.Layout{Base: int(l.Src1Base.Bytes()), Channel: int(l.Src1ChannelStride.Bytes()), Row: int(l.Src1RowStride.Bytes()), Group: int(l.Src1GroupStride.Bytes())}
	case Operand2:
		return place.Layout{Base: int(l.Src2Base.Bytes()), Channel: int(l.Src2ChannelStride.Bytes()), Row: int(l.Src2RowStride.Bytes()), Group: int(l.Src2GroupStride.Bytes())}
	}
	return place.Layout{Base: int(l.ResultBase.Bytes()), Channel: int(l.ResultChannelStride.Bytes()), Row: int(l.ResultRowStride.Bytes()), Group: int(l.ResultGroupStride.Bytes())}
}

// ResultBytes returns how many bytes of L2 the result occupies, from its first element to the end
// of its last row. The count is too small for a result that streams to memory, because its
// registers hold no strides.
func (t *registers) ResultBytes() int {
	at := t.L2Layout(OperandResult)
	return spanBytes(t.g.OutShape(), at.Channel, at.Row, at.Group, t.g.ResultTransposed())
}

// IsResultTransposed reports whether the task exchanges the channels and the columns of its result
// as it writes them.
func (t *registers) IsResultTransposed() bool { return t.g.ResultTransposed() }

// LoadsWholeSource reports whether the task loads its whole first source from memory in one piece
// and no second source. It reports false if the task computes its result in several tiles or loads
// rows in slices of columns. A source that stays in L2 counts in a pixel chain only.
func (t *Task) LoadsWholeSource() bool {
	kind := t.g.L2.SourceCfg.Type()
	return (kind == 2 || kind == KeptTile && t.Pixels) && t.g.Common.TileCfg.TileHeight() == t.g.Common.OutDim.Hout() &&
		int(t.g.L2.Src1ChannelStride.Bytes()) >= t.g.InShape().Width*layer.ElementBytes && !t.g.Source2On()
}

// HaveSameSource reports whether the first sources of t and other have the same shape, including
// their depth.
func HaveSameSource(t, other *Task) bool {
	return t.g.InShape() == other.g.InShape() && t.g.Common.InDepth == other.g.Common.InDepth
}

// SetFullTileHeight makes the task compute all rows of its result as one tile instead of in several
// runs of rows.
func (t *registers) SetFullTileHeight() { t.SetTileHeight(int(t.g.Common.OutDim.Hout())) }

// IsPassThrough reports whether the task copies its source through the MAC engines without
// multiplying, as a copy, a transpose or a table lookup does.
func (t *registers) IsPassThrough() bool {
	return !t.Planar() && t.g.NE.MACCfg.OpMode() == regs.PassThrough
}

// InShape returns the shape of the task's first source.
func (t *registers) InShape() regs.Shape { return t.g.InShape() }

// OutShape returns the shape of the task's result.
func (t *registers) OutShape() regs.Shape { return t.g.OutShape() }

// TileHeight returns the number of result rows in a tile. The task computes its result one tile
// after the other.
func (t *registers) TileHeight() int { return int(t.g.Common.TileCfg.TileHeight()) }

// PatchLog2 returns the base-2 logarithm of the number of rows in the highest patch that the task
// may use. A patch is the block of pixels that the MAC engines compute at the same time.
func (t *registers) PatchLog2() uint32 { return t.g.Common.Cfg.ShMax() }

// HasFixedPatch reports whether the task computes its result in patches (blocks of pixels) of one
// height only. Other tasks let the engine choose from a range of heights.
func (t *registers) HasFixedPatch() bool {
	c := t.g.Common.Cfg
	return c.ShMin() > 0 && c.ShMin() == c.ShMax()
}
