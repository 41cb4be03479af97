package task

import (
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
)

// ReadTileGroups is like [Task.ReadTile], but for a source with several groups. The groups are
// layout.Group bytes apart.
func (t *Task) ReadTileGroups(tile *Tile, layout place.Layout) {
	t.ReadTile(tile, layout)
	t.setL2Word(&t.g.L2.Src1GroupStride, layout.Group)
}

// KeepResultGroups is like [Task.KeepResult], but for a result with several groups. The groups are
// layout.Group bytes apart.
func (t *Task) KeepResultGroups(layout place.Layout) *Tile {
	tile := t.KeepResult(layout)
	t.setL2Word(&t.g.L2.ResultGroupStride, layout.Group)
	return tile
}

// KeepResultInRing makes the task write its result to a ring with the given layout, and returns the
// tile of the ring. A ring is a buffer in L2 that the next task empties while this task fills it.
func (t *Task) KeepResultInRing(layout place.Layout) *Tile {
	tile := t.KeepResultGroups(layout)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithType(TypeRing)
	return tile
}

// ReadRing makes the task read its first source from a ring instead of loading it from memory. tile
// is the ring's tile, and layout its layout. A ring is a buffer in L2 that the previous task fills
// while this task empties it.
func (t *Task) ReadRing(layout place.Layout, tile *Tile) {
	t.ReplaceSource1(layout, tile)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithType(TypeRing).WithDMAIntl(1)
}

// LoadOnlySource2 makes the task load its second source from surface m in memory into L2, with the
// given layout. The first source must be in L2 already. interleave is the number of channels whose
// elements alternate in each row of m. If it is 0, the format stays as it is.
func (t *Task) LoadOnlySource2(m place.Memory, layout place.Layout, interleave int) {
	t.LoadSource2(m, layout)
	t.SetSourceFlags()
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithDMAFmt(1)
	if interleave > 0 {
		f := &t.g.TileDMASrc.Src2Fmt
		*f = f.WithInterleave(uint32(interleave))
		l.SourceCfg = l.SourceCfg.WithDMAIntl(uint32(interleave))
	}
}

// WriteInterleaved makes the task stream its result to surface m in memory. interleave is the
// number of channels whose elements alternate in each row of m. base is the address in L2 of the
// buffer that the data passes through.
func (t *Task) WriteInterleaved(m place.Memory, base, interleave int) {
	t.WriteResult(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithInterleave(uint32(interleave))
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAIntl(uint32(interleave))
}

// MarkSourceDescribed makes the memory registers of the first source describe surface m in the
// scratch buffer, although the task reads the source from L2. The previous task must describe its
// result in the same way; see [Task.MarkResultDescribed].
func (t *Task) MarkSourceDescribed(m place.Memory) {
	t.setSource1Strides(m)
	t.DescribesSource = true
	t.g.TileDMASrc.Src1DMAConfig = t.g.TileDMASrc.Src1DMAConfig.WithFromPrevious(true)
	t.h.Bases = t.h.Bases.WithRBase0(m.Bar).WithRBE0(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(1)
}

// MarkResultDescribed makes the memory registers of the result describe surface m in the scratch
// buffer, although the result stays in L2. Apple's compiler does so for some pairs of tasks.
func (t *Task) MarkResultDescribed(m place.Memory) {
	t.setResultStrides(m)
	t.DescribesResult = true
}

// SetKernelInBuffer makes the engines load weights that are computed at run time. Engine i loads
// lanes[i] from the buffer with index bar, which is an input of the program or the scratch buffer.
func (t *Task) SetKernelInBuffer(bar uint32, lanes []coeff.Lane) {
	t.SetKernel(0, lanes)
	t.h.KernelBases = t.h.KernelBases.WithKBase0(bar)
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithKernelFromScratch(true)
}

// WriteThroughTile makes the task write its result to surface m in memory through a tile in L2 with
// the given layout, rather than streaming it.
func (t *Task) WriteThroughTile(m place.Memory, layout place.Layout) {
	t.WriteResult(m, layout.Base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(1).WithDep_or_BfrMode(0)
	t.setLayout(layout, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
}

// StageResult is like [Task.WriteThroughTile], but also records the size of the tile. The vendor's
// compiler does so for tasks that only move data, such as slices and transposes (seen in 4 of 4
// tasks).
func (t *Task) StageResult(m place.Memory, layout place.Layout) {
	t.WriteThroughTile(m, layout)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithType(2)
	t.Staged = true
	t.Result.Bytes = layout.Row * t.g.OutShape().Height
}

// SetInterleave sets the format of the first source in memory: in each row, the elements of n
// channels alternate.
func (t *Task) SetInterleave(n int) {
	f := &t.g.TileDMASrc.Src1Fmt
	*f = f.WithInterleave(uint32(n))
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAIntl(uint32(n))
}

// setDepth sets the depth of the source and the result, an axis besides channels, rows and columns.
// It must be at most [layer.MaxExtent].
func (t *registers) setDepth(depth int) {
	c := &t.g.Common
	c.InDepth, c.OutDepth = c.InDepth.WithDin(uint32(depth)), c.OutDepth.WithDout(uint32(depth))
}
