package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// EightBit makes a pass-through one of 8-bit elements (1/1).
func (t *Task) EightBit(halves layer.Shape) {
	c, n := &t.g.Common, &t.g.NE
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatInt8A).WithOutFmt(regs.FormatInt8A)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	t.passPatch(regs.Shape{Height: halves.H, Width: halves.W})
}

// ByteTile is sourceTile for 8-bit elements.
func (t *Task) ByteTile(halves layer.Shape) Layout {
	s := t.g.InShape()
	s.Width = halves.W
	l := PackedColumns(s, EngineColumns(s.Width))
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skewed(1, engineFetches(&t.g.Common)...)
}

// Aside marks that a task's neighbours on both sides run on the planar engine too.
func (t *Task) Aside(previous, next bool) *Task {
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithPreviousPlanar(previous).WithNextPlanar(next)
	return t
}

// Pointwise is the window of one tap.
var Pointwise = &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}

// Stages writes a result to memory by way of a tile that has a layout of its own (tasks
// that move data only: slice, transpose, tile, 4/4).
func (t *Task) Stages(m Memory, at Layout) {
	t.Writes(m, at.Base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(0)
	t.place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
	t.staged = true
	t.Result.Bytes = at.Row * t.g.OutShape().Height
}

// deep gives a task's source and result a depth.
func (t *Task) deep(depth int) {
	if depth < 1 || depth > maxField {
		t.refuse("depth", depth, maxField)
		return
	}
	c := &t.g.Common
	c.InDepth, c.OutDepth = c.InDepth.WithDin(uint32(depth)), c.OutDepth.WithDout(uint32(depth))
}

// WritesTile writes the result to memory by way of a tile in the L2.
func (t *Task) WritesTile(m Memory, at Layout) {
	t.Writes(m, at.Base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(1).WithDep_or_BfrMode(0)
	t.place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
}

// Besides says that so many channels of the first source stand side by side in memory.
func (t *Task) Besides(n int) {
	f := &t.g.TileDMASrc.Src1Fmt
	*f = f.WithInterleave(uint32(n))
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAIntl(uint32(n))
}
