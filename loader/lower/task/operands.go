package task

import (
	"anesim/hw/regs"
	"anesim/loader/lower/coeff"
)

// InShape is the shape of the first source, OutShape that of the result.
func (t *Task) InShape() regs.Shape  { return t.g.InShape() }
func (t *Task) OutShape() regs.Shape { return t.g.OutShape() }

// TileHeight is how many rows of the result a task makes at a time.
func (t *Task) TileHeight() int { return int(t.g.Common.TileCfg.TileHeight()) }

// PatchLog2 is log2 of the rows of the highest patch.
func (t *Task) PatchLog2() uint32 { return t.g.Common.Cfg.ShMax() }

// PatchFixed reports whether all patches are of one height.
func (t *Task) PatchFixed() bool {
	c := t.g.Common.Cfg
	return c.ShMin() > 0 && c.ShMin() == c.ShMax()
}

// ReadsGroups is Reads of groups that stand apart.
func (t *Task) ReadsGroups(from *Tile, at Layout) {
	t.Reads(from, at)
	t.setL2(&t.g.L2.Src1GroupStride, at.Group)
}

// LeavesGroups is Leaves of groups that stand apart.
func (t *Task) LeavesGroups(at Layout, bytes int) *Tile {
	tile := t.Leaves(at, bytes)
	t.setL2(&t.g.L2.ResultGroupStride, at.Group)
	return tile
}

// LeavesRing is LeavesGroups in a ring that the next task empties beside this one.
func (t *Task) LeavesRing(at Layout, bytes int) *Tile {
	tile := t.LeavesGroups(at, bytes)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithType(typeRing)
	return tile
}

// TakesRing takes the first source from a ring.
func (t *Task) TakesRing(at Layout, from *Tile) {
	t.Takes1(at, from)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithType(typeRing).WithDMAIntl(1)
}

// Source2Behind is Source2 of a task whose first source stands in the L2. In memory so many
// channels stand side by side, 0 where each stands by itself.
func (t *Task) Source2Behind(m Memory, at Layout, beside int) {
	t.Source2(m, at)
	t.InL2()
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithDMAFmt(1)
	if beside > 0 {
		f := &t.g.TileDMASrc.Src2Fmt
		*f = f.WithInterleave(uint32(beside))
		l.SourceCfg = l.SourceCfg.WithDMAIntl(uint32(beside))
	}
}

// WritesBeside is Writes of so many channels side by side in memory.
func (t *Task) WritesBeside(m Memory, base, beside int) {
	t.Writes(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithInterleave(uint32(beside))
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAIntl(uint32(beside))
}

// MovesBytes makes the operands in memory surfaces of 8-bit elements (1/1).
func (t *Task) MovesBytes() {
	f := &t.g.TileDMASrc.Src1Fmt
	*f = regs.SurfaceFmt(0).WithInterleave(1)
	t.g.TileDMADst.DstFmt = f.WithZeroPadLast(true).WithZeroPadFirst(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(0)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAFmt(0)
}

// SourceDescribed says that the task before described the source in the scratch buffer.
func (t *Task) SourceDescribed(m Memory) {
	t.describe1(m)
	t.describesSource = true
	t.g.TileDMASrc.Src1DMAConfig |= fromPrevious
	t.h.Bases = t.h.Bases.WithRBase0(m.Bar).WithRBE0(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(1)
}

// ResultDescribed says that the next task finds the result, which stays in the L2, described
// in the scratch buffer.
func (t *Task) ResultDescribed(m Memory) {
	t.describeResult(m)
	t.DescribesResult = true
}

// KernelIn is Kernel of coefficients that stand in a buffer, an input or the scratch buffer.
func (t *Task) KernelIn(bar uint32, lanes []coeff.Lane) {
	t.Kernel(0, lanes)
	t.h.KernelBases = t.h.KernelBases.WithKBase0(bar)
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithKernelFromScratch(true)
}

// Shift moves an operand in the L2.
func (t *Task) Shift(which Operand, by int) {
	l := &t.g.L2
	w := [...]*regs.L2Word{&l.Src1Base, &l.Src2Base, &l.ResultBase}[which]
	t.setL2(w, int(w.Bytes())+by)
}

// SetPatch makes the patch of a planar task one of 1<<w columns and 1<<h rows.
func (t *Task) SetPatch(w, h uint32) {
	c := &t.g.Common
	c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
}
