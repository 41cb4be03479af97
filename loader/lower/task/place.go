package task

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A Spot is a place in a buffer.
type Spot struct {
	Bar  uint32
	Base int
}

// Spots are where a part's buffers stand in a program, by index.
type Spots [len(regs.BARs{})]Spot

// Rebase moves everything the task names in memory. A surface that is described and
// stays in the L2 moves with its buffer.
func (t *Task) Rebase(at *Spots) {
	b := t.H.Bases
	move := func(w *regs.DMAWord, bar uint32) uint32 {
		t.SetDMA(w, int(w.Bytes())+at[bar].Base)
		return at[bar].Bar
	}
	if b.RBE0() {
		b = b.WithRBase0(move(&t.G.TileDMASrc.Src1Base, b.RBase0()))
	}
	if b.RBE1() {
		b = b.WithRBase1(move(&t.G.TileDMASrc.Src2Base, b.RBase1()))
	}
	if b.WBE() {
		b = b.WithWBase(move(&t.G.TileDMADst.DstBase, b.WBase()))
	}
	t.H.Bases = b
	k := t.H.KernelBases
	if !k.KBE0() {
		return
	}
	d := &t.G.KernelDMASrc
	bar := k.KBase0()
	for i, c := range d.CoeffDMAConfig {
		if c.En() {
			move(&d.CoeffBaseAddr[i], bar)
		}
	}
	t.H.KernelBases = k.WithKBase0(at[bar].Bar)
}

// An Operand is one of the three a task has in memory.
type Operand int

const (
	Operand1 Operand = iota
	Operand2
	OperandResult
)

// MemoryOf is where an operand stands in memory, and its extents in the order of its
// strides: group, channel (or column of a transposed result), row.
func (t *Task) MemoryOf(which Operand) (m Memory, groups, planes, rows int, plain bool) {
	g := &t.G
	d, s := &g.TileDMASrc, g.InShape()
	plain = g.Common.InDepth.Din() == 1 && g.Common.OutDepth.Dout() == 1
	switch which {
	case Operand1:
		m = Memory{t.H.Bases.RBase0(), int(d.Src1Base.Bytes()), int(d.Src1RowStride.Bytes()), int(d.Src1PlaneStride.Bytes()), 0, int(d.Src1GroupStride.Bytes())}
		plain = plain && d.Src1Fmt.Interleave() == 1
	case Operand2:
		m = Memory{t.H.Bases.RBase1(), int(d.Src2Base.Bytes()), int(d.Src2RowStride.Bytes()), int(d.Src2PlaneStride.Bytes()), 0, int(d.Src2GroupStride.Bytes())}
	case OperandResult:
		o := &g.TileDMADst
		s = g.OutShape()
		m = Memory{t.H.Bases.WBase(), int(o.DstBase.Bytes()), int(o.DstRowStride.Bytes()), int(o.DstPlaneStride.Bytes()), 0, int(o.DstGroupStride.Bytes())}
		plain = plain && o.DstFmt.Interleave() == 1
		if g.ResultTransposed() {
			return m, s.Groups, s.Width, s.Height, plain
		}
	}
	return m, s.Groups, s.Channels, s.Height, plain
}

// Of gives strides of axes that are one long what a packed tile has, and reports whether all
// are such as the L2 takes.
func (at Layout) Of(planes, rows, width int) (Layout, bool) {
	if planes <= 1 {
		at.Channel = cmp.Or(at.Channel, layer.RoundUp(width*layer.ElementBytes, 16))
	}
	if at.Row == 0 && rows <= 1 {
		at.Row = at.Channel * max(1, planes)
	}
	at.Depth = at.Channel * max(1, planes)
	ok := true
	for _, n := range [...]int{at.Channel, at.Row, at.Group} {
		ok = ok && n < layer.MaxL2 && n%16 == 0
	}
	return at, ok
}

// TileBytes is what a source takes in the L2: all of its rows, or as many as a tile of
// the result needs.
func (t *Task) TileBytes(channel, row, group int) int {
	c := &t.G.Common
	s := t.G.InShape()
	if tile := int(c.TileCfg.TileHeight()); tile < int(c.OutDim.Hout()) {
		s.Height = min(s.Height, (tile-1)*max(1, int(c.ConvCfg.Sy()))+int(c.ConvCfg.Kh()))
		s.Groups = 1
	}
	if t.InMemory() && group <= row {
		s.Groups = 1
	}
	return Span(s, channel, row, group, false) + row - min(row, channel*s.Channels)
}

// Source is the tile of one of the sources, nil for the result.
func (t *Task) Source(which Operand) *Tile {
	switch which {
	case Operand1:
		return t.First
	case Operand2:
		return t.Second
	}
	return nil
}

func Span(s regs.Shape, channel, row, group int, transposed bool) int {
	outer, inner := s.Channels, s.Width
	if transposed {
		outer, inner = inner, outer
	}
	return (s.Groups-1)*group + (s.Height-1)*row + (outer-1)*channel + layer.RoundUp(inner*layer.ElementBytes, 16)
}

// Elementwise reports whether every element of the result comes from the ones at its
// place.
func (t *Task) Elementwise() bool {
	if t.G.ResultTransposed() || t.G.Common.PlanarOperands != 0 {
		return false
	}
	if t.Planar() {
		f := t.G.Common.Cfg.PlanarForm()
		return f == regs.FormTwoSources || f == regs.FormConstant
	}
	return t.G.NE.MACCfg.OpMode() == regs.PassThrough
}
