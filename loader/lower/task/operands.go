package task

import (
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
)

// ReadsGroups is Reads of groups that stand apart.
func (t *Task) ReadTileGroups(from *Tile, at place.Layout) {
	t.ReadTile(from, at)
	t.setL2(&t.g.L2.Src1GroupStride, at.Group)
}

// LeavesGroups is Leaves of groups that stand apart.
func (t *Task) KeepResultGroups(at place.Layout, bytes int) *Tile {
	tile := t.KeepResult(at, bytes)
	t.setL2(&t.g.L2.ResultGroupStride, at.Group)
	return tile
}

// LeavesRing is LeavesGroups in a ring that the next task empties beside this one.
func (t *Task) KeepResultInRing(at place.Layout, bytes int) *Tile {
	tile := t.KeepResultGroups(at, bytes)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithType(TypeRing)
	return tile
}

// TakesRing takes the first source from a ring.
func (t *Task) ReadRing(at place.Layout, from *Tile) {
	t.ReplaceSource1(at, from)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithType(TypeRing).WithDMAIntl(1)
}

// Source2Behind is Source2 of a task whose first source stands in the L2. In memory so many
// channels stand side by side, 0 where each stands by itself.
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

// WritesBeside is Writes of so many channels side by side in memory.
func (t *Task) WriteInterleaved(m place.Memory, base, interleave int) {
	t.WriteResult(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithInterleave(uint32(interleave))
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAIntl(uint32(interleave))
}

// SourceDescribed says that the task before described the source in the scratch buffer.
func (t *Task) MarkSourceDescribed(m place.Memory) {
	t.setSource1Strides(m)
	t.DescribesSource = true
	t.g.TileDMASrc.Src1DMAConfig |= FromPrevious
	t.h.Bases = t.h.Bases.WithRBase0(m.Bar).WithRBE0(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(1)
}

// ResultDescribed says that the next task finds the result, which stays in the L2, described
// in the scratch buffer.
func (t *Task) MarkResultDescribed(m place.Memory) {
	t.setResultStrides(m)
	t.DescribesResult = true
}

// KernelIn is Kernel of coefficients that stand in a buffer, an input or the scratch buffer.
func (t *Task) SetKernelInBuffer(bar uint32, lanes []coeff.Lane) {
	t.SetKernel(0, lanes)
	t.h.KernelBases = t.h.KernelBases.WithKBase0(bar)
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithKernelFromScratch(true)
}

// Stages writes a result to memory by way of a tile that has a layout of its own (tasks
// that move data only: slice, transpose, tile, 4/4).
func (t *Task) StageResult(m place.Memory, at place.Layout) {
	t.WriteResult(m, at.Base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(0)
	t.setLayout(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
	t.Staged = true
	t.Result.Bytes = at.Row * t.g.OutShape().Height
}

// WritesTile writes the result to memory by way of a tile in the L2.
func (t *Task) WriteThroughTile(m place.Memory, at place.Layout) {
	t.WriteResult(m, at.Base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(1).WithDep_or_BfrMode(0)
	t.setLayout(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
}

// Besides says that so many channels of the first source stand side by side in memory.
func (t *Task) SetInterleave(n int) {
	f := &t.g.TileDMASrc.Src1Fmt
	*f = f.WithInterleave(uint32(n))
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAIntl(uint32(n))
}

// deep gives a task's source and result a depth.
func (t *registers) setDepth(depth int) {
	if depth < 1 || depth > maxField {
		t.refuse("depth", depth, maxField)
		return
	}
	c := &t.g.Common
	c.InDepth, c.OutDepth = c.InDepth.WithDin(uint32(depth)), c.OutDepth.WithDout(uint32(depth))
}
