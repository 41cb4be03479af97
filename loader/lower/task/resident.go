package task

import (
	"anesim/hw/regs"
	"anesim/loader/lower/place"
)

// Keeps leaves a source from memory in the L2.
func (t *Task) KeepSource(at place.Layout, to *Tile) {
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(1)
	t.setLayout(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	if at.Group == 0 {
		t.setL2(&l.Src1GroupStride, at.Depth)
	}
	t.First = to
}

// Takes1 makes the first source a tile in the L2.
func (t *Task) ReplaceSource1(at place.Layout, from *Tile) {
	blank := blankRegisters().TileDMASrc
	d := &t.g.TileDMASrc
	d.Src1DMAConfig, d.Src1Fmt = blank.Src1DMAConfig, blank.Src1Fmt
	d.Src1Base, d.Src1RowStride, d.Src1PlaneStride, d.Src1DepthStride, d.Src1GroupStride = 0, 0, 0, 0, 0
	t.h.Bases = t.h.Bases.WithRBase0(0).WithRBE0(false)
	t.h.Control = t.h.Control.WithSrcLoc(t.g.Source2On())
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(0).WithDMAFmt(0)
	t.setLayout(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.First = from
	t.SetSourceFlags()
}

// Takes2 makes the second source a tile in the L2.
func (t *Task) ReplaceSource2(at place.Layout, from *Tile) {
	blank := blankRegisters().TileDMASrc
	d := &t.g.TileDMASrc
	d.Src2DMAConfig, d.Src2Fmt = blank.Src2DMAConfig, blank.Src2Fmt
	d.Src2Base, d.Src2RowStride, d.Src2PlaneStride, d.Src2DepthStride, d.Src2GroupStride = 0, 0, 0, 0, 0
	t.h.Bases = t.h.Bases.WithRBase1(0).WithRBE1(false)
	t.h.Control = t.h.Control.WithSrcLoc(t.LoadsFirst())
	l := &t.g.L2
	l.SourceCfg &^= twoSourceBit
	t.setLayout(at, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, &l.Src2GroupStride)
	t.Second = from
	t.SetSourceFlags()
}

// InL2 writes which sources of a planar task come from memory: 0x33 both, 0x32 the
// second, 0x31 the first or none.
func (t *Task) SetSourceFlags() {
	if !t.Planar() || t.g.Common.ChCfg&twoSourceChCfg == 0 {
		return
	}
	c := &t.g.Common.Cfg
	*c &^= bothInMemory | 1
	switch {
	case !t.g.Source2On():
		*c |= 1
		if !t.LoadsFirst() {
			blank := blankRegisters().TileDMASrc
			t.g.TileDMASrc.Src1DMAConfig, t.g.TileDMASrc.Src1Fmt = blank.Src1DMAConfig, blank.Src1Fmt
		}
	case t.LoadsFirst():
		*c |= bothInMemory | 1
	default:
		*c |= bothInMemory
		d := &t.g.TileDMASrc
		d.Src1DMAConfig, d.Src1Fmt = d.Src1DMAConfig.WithEn(true), d.Src1Fmt.WithFmtMode(1) // any source (346/346)
	}
}

// Stays leaves a result in the L2 that went to memory.
func (t *Task) ReplaceResult(at place.Layout, to *Tile) {
	blank := blankRegisters().TileDMADst
	t.g.TileDMADst = blank
	t.h.Bases = t.h.Bases.WithWBase(0).WithWBE(false)
	t.h.Control = t.h.Control.WithDstLoc(false)
	l := &t.g.L2
	l.ResultCfg = regs.L2Route(0).WithDMAFmt(1).WithDMAIntl(1)
	t.setLayout(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.setL2(&l.ResultGroupStride, at.Group)
	t.Result = to
}
