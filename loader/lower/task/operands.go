package task

import (
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
)

// ReadTileGroups is like [Task.ReadTile] for a tile with a group stride.
func (t *Task) ReadTileGroups(from *Tile, at place.Layout) {
	t.ReadTile(from, at)
	t.setL2(&t.g.L2.Src1GroupStride, at.Group)
}

// KeepResultGroups is like [Task.KeepResult] for a tile with a group stride.
func (t *Task) KeepResultGroups(at place.Layout, bytes int) *Tile {
	tile := t.KeepResult(at, bytes)
	t.setL2(&t.g.L2.ResultGroupStride, at.Group)
	return tile
}

// KeepResultInRing is like [Task.KeepResultGroups] for a ring. The next task empties it while
// this task fills it.
func (t *Task) KeepResultInRing(at place.Layout, bytes int) *Tile {
	tile := t.KeepResultGroups(at, bytes)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithType(TypeRing)
	return tile
}

// ReadRing makes the task read its first source from a ring instead of memory.
func (t *Task) ReadRing(at place.Layout, from *Tile) {
	t.ReplaceSource1(at, from)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithType(TypeRing).WithDMAIntl(1)
}

// LoadOnlySource2 is like [Task.LoadSource2] for a task whose first source is in the L2. If
// interleave is positive, memory holds groups of that many channels next to each other.
func (t *Task) LoadOnlySource2(m place.Memory, at place.Layout, interleave int) {
	t.LoadSource2(m, at)
	t.SetSourceFlags()
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithDMAFmt(1)
	if interleave > 0 {
		f := &t.g.TileDMASrc.Src2Fmt
		*f = f.WithInterleave(uint32(interleave))
		l.SourceCfg = l.SourceCfg.WithDMAIntl(uint32(interleave))
	}
}

// WriteInterleaved is like [Task.WriteResult] for a surface in memory that holds groups of
// interleave channels next to each other.
func (t *Task) WriteInterleaved(m place.Memory, base, interleave int) {
	t.WriteResult(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithInterleave(uint32(interleave))
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAIntl(uint32(interleave))
}

// MarkSourceDescribed records that the task before this one described the first source in the
// scratch buffer, although it stays in the L2.
func (t *Task) MarkSourceDescribed(m place.Memory) {
	t.setSource1Strides(m)
	t.DescribesSource = true
	t.g.TileDMASrc.Src1DMAConfig |= FromPrevious
	t.h.Bases = t.h.Bases.WithRBase0(m.Bar).WithRBE0(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(1)
}

// MarkResultDescribed describes the result, which stays in the L2, in the scratch buffer for the
// next task.
func (t *Task) MarkResultDescribed(m place.Memory) {
	t.setResultStrides(m)
	t.DescribesResult = true
}

// SetKernelInBuffer is like [Task.SetKernel] for weights in a buffer other than the constants: an
// input or the scratch buffer.
func (t *Task) SetKernelInBuffer(bar uint32, lanes []coeff.Lane) {
	t.SetKernel(0, lanes)
	t.h.KernelBases = t.h.KernelBases.WithKBase0(bar)
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithKernelFromScratch(true)
}

// WriteThroughTile makes the task write its result to memory through a tile in L2 at the layout at.
func (t *Task) WriteThroughTile(m place.Memory, at place.Layout) {
	t.WriteResult(m, at.Base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(1).WithDep_or_BfrMode(0)
	t.setLayout(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
}

// StageResult is like [Task.WriteThroughTile] for a task that only moves data, such as a slice, a
// transpose or a tile (seen in 4 of 4 tasks).
func (t *Task) StageResult(m place.Memory, at place.Layout) {
	t.WriteThroughTile(m, at)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithType(2)
	t.Staged = true
	t.Result.Bytes = at.Row * t.g.OutShape().Height
}

// SetInterleave declares that the first source holds groups of n channels next to each other in
// memory.
func (t *Task) SetInterleave(n int) {
	f := &t.g.TileDMASrc.Src1Fmt
	*f = f.WithInterleave(uint32(n))
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAIntl(uint32(n))
}

// setDepth sets the depth of the task's source and result. A depth out of range refuses the task.
func (t *registers) setDepth(depth int) {
	if depth < 1 || depth > maxField {
		t.refuse("depth of a task", depth, maxField)
		return
	}
	c := &t.g.Common
	c.InDepth, c.OutDepth = c.InDepth.WithDin(uint32(depth)), c.OutDepth.WithDout(uint32(depth))
}
