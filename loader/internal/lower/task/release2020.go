package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
)

// NewCopy2020 returns a task that copies a tensor of shape s through the MAC engines, in patches of
// two rows. Its registers have the values that Apple's compiler of 2020 writes. If relu is
// true, the task also applies ReLU.
func NewCopy2020(s regs.Shape, relu bool) *Task {
	t := MAC{Op: regs.PassThrough, In: s, Out: s, PerChannel: true, ReLU: relu}.Task()
	t.SetPatch(FixedPatch(1))
	c, n := &t.g.Common, &t.g.NE
	c.Cfg = c.Cfg.WithAccDoubleBufEn(true)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(0)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	return t
}

// NewPointwise2020 returns a task that computes a 1x1 convolution with a bias from shape in to
// shape out. Its registers have the values that Apple's compiler of 2020 writes. The caller
// must set its operands and weights.
func NewPointwise2020(in, out regs.Shape) *Task {
	t := MAC{Op: regs.MultiplyAccumulate, In: in, Out: out, Window: Pointwise, Bias: true}.Task()
	t.g.Common.Cfg = t.g.Common.Cfg.WithAccDoubleBufEn(true)
	return t
}

// NewSum2020 returns a planar task that adds two tensors of shape s. Its registers have the values
// that Apple's compiler of 2020 writes, with 0 in the registers of the MAC engines.
func NewSum2020(s regs.Shape) *Task {
	t := Planar{Form: regs.FormTwoSources, In: s, Op: Sum}.Task()
	t.g.NE.KernelCfg, t.g.NE.MACCfg = regs.KernelCfg{}, regs.MACCfg{}
	return t
}

// StageResult2020 makes t write its result to surface m in memory through a tile in L2 with the
// given layout. It is like [Task.StageResult], but sets the registers as in programs of the
// vendor's compiler of 2020.
func StageResult2020(t *Task, m place.Memory, layout place.Layout) {
	t.WriteResult(m, layout.Base)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithDep_or_BfrMode(0)
	t.setLayout(layout, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
}

// WriteResult2020 makes planar task t stream its result to surface m in memory. base is the address
// in L2 of the buffer that the data passes through. As in programs of Apple's compiler of
// 2020, the DMA does not fill the padding of rows with zeros.
func WriteResult2020(t *Task, m place.Memory, base int) {
	t.WriteResult(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithZeroPadLast(false).WithZeroPadFirst(false)
}

// UnlistScratch removes the scratch buffer from the header of t if t only describes a surface
// there, without reading or writing it. Programs without a scratch segment need this.
func UnlistScratch(t *Task) {
	if t.DescribesResult {
		t.h.Bases = t.h.Bases.WithWBE(false)
	}
	if t.DescribesSource {
		t.h.Bases = t.h.Bases.WithRBE0(false)
	}
}
