package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
)

// KeepSource makes the task keep its first source in L2 after loading it from memory, so that later
// tasks can read it there. The source has the given layout. KeepSource sets t.First to tile.
func (t *Task) KeepSource(layout place.Layout, tile *Tile) {
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(1)
	t.setLayout(layout, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	if layout.Group == 0 {
		t.setL2Word(&l.Src1GroupStride, layout.Depth)
	}
	t.First = tile
}

// ReplaceSource1 makes the task read its first source from tile, which is in L2 with the given
// layout, instead of loading it from memory.
func (t *Task) ReplaceSource1(layout place.Layout, tile *Tile) {
	blank := blankRegisters().TileDMASrc
	d := &t.g.TileDMASrc
	d.Src1DMAConfig, d.Src1Fmt = blank.Src1DMAConfig, blank.Src1Fmt
	t.g.ReadMeanings()
	d.Src1Base, d.Src1RowStride, d.Src1PlaneStride = blank.Src1Base, blank.Src1RowStride, blank.Src1PlaneStride
	d.Src1DepthStride, d.Src1GroupStride = blank.Src1DepthStride, blank.Src1GroupStride
	t.h.Bases = t.h.Bases.WithRBase0(0).WithRBE0(false)
	t.h.Control = t.h.Control.WithSrcLoc(t.g.Source2On())
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(0).WithDMAFmt(0)
	t.setLayout(layout, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.First = tile
	t.SetSourceFlags()
}

// ReplaceSource2 makes the task read its second source from tile, which is in L2 with the given
// layout, instead of loading it from memory.
func (t *Task) ReplaceSource2(layout place.Layout, tile *Tile) {
	blank := blankRegisters().TileDMASrc
	d := &t.g.TileDMASrc
	d.Src2DMAConfig, d.Src2Fmt = blank.Src2DMAConfig, blank.Src2Fmt
	t.g.ReadMeanings()
	d.Src2Base, d.Src2RowStride, d.Src2PlaneStride = blank.Src2Base, blank.Src2RowStride, blank.Src2PlaneStride
	d.Src2DepthStride, d.Src2GroupStride = blank.Src2DepthStride, blank.Src2GroupStride
	t.h.Bases = t.h.Bases.WithRBase1(0).WithRBE1(false)
	t.h.Control = t.h.Control.WithSrcLoc(t.LoadsFirst())
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithSrc2InMemory(false)
	t.setLayout(layout, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, &l.Src2GroupStride)
	t.Second = tile
	t.SetSourceFlags()
}

// SetSourceFlags updates the flags in Common.Cfg that say which sources the task loads from memory.
// Call it after changing a source of a planar task with two sources. For other tasks it does
// nothing. The flags are 0x33 for both sources, 0x32 for the second, and 0x31 for the first or
// none.
func (t *Task) SetSourceFlags() {
	if !t.Planar() || t.g.Common.ChCfg.Src2Fmt() != regs.FormatFP16 {
		return
	}
	c := &t.g.Common.Cfg
	*c = c.WithSrc2InMemory(t.g.Source2On()).WithBase(t.LoadsFirst() || !t.g.Source2On())
	switch {
	case !t.g.Source2On():
		if !t.LoadsFirst() {
			blank := blankRegisters().TileDMASrc
			t.g.TileDMASrc.Src1DMAConfig, t.g.TileDMASrc.Src1Fmt = blank.Src1DMAConfig, blank.Src1Fmt
		}
	case !t.LoadsFirst():
		d := &t.g.TileDMASrc
		d.Src1DMAConfig, d.Src1Fmt = d.Src1DMAConfig.WithEn(true), d.Src1Fmt.WithFmtMode(1) // set if any source is in memory (seen in 346 of 346 tasks)
	}
}

// ReplaceResult makes the task leave its result in L2, with the given layout, instead of writing it
// to memory. It sets t.Result to tile.
func (t *Task) ReplaceResult(layout place.Layout, tile *Tile) {
	blank := blankRegisters().TileDMADst
	t.g.TileDMADst = blank
	t.h.Bases = t.h.Bases.WithWBase(0).WithWBE(false)
	t.h.Control = t.h.Control.WithDstLoc(false)
	l := &t.g.L2
	l.ResultCfg = regs.L2Route{}.WithDMAFmt(1).WithDMAIntl(1)
	t.setLayout(layout, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.setL2Word(&l.ResultGroupStride, layout.Group)
	t.Result = tile
}
