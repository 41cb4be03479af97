package task

import (
	"anesim/hw/regs"
	"anesim/loader/lower/place"
)

// NewCopy2020 is like [NewCopy] in the form of the compiler of 2020, with an optional ReLU. Its
// patch is two rows high, and the unused weights have no format.
func NewCopy2020(s regs.Shape, relu bool) *Task {
	t := MAC{Op: regs.PassThrough, In: s, Out: s, PerChannel: true, ReLU: relu}.Task()
	t.SetPatch(FixedPatch(1))
	c, n := &t.g.Common, &t.g.NE
	c.Cfg = c.Cfg.WithAccDoubleBufEn(true)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(0)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	return t
}

// NewPointwise2020 returns a convolution with a window of one tap and a bias, in the form of the
// compiler of 2020.
func NewPointwise2020(in, out regs.Shape) *Task {
	t := MAC{Op: regs.MultiplyAccumulate, In: in, Out: out, Window: Pointwise, Bias: true}.Task()
	t.g.Common.Cfg = t.g.Common.Cfg.WithAccDoubleBufEn(true)
	return t
}

// NewSum2020 returns the sum of two sources in the form of the compiler of 2020, which leaves the
// registers of the MAC engines at 0.
func NewSum2020(s regs.Shape) *Task {
	t := Planar{Form: regs.FormTwoSources, In: s, Op: Sum}.Task()
	t.g.NE.KernelCfg, t.g.NE.MACCfg = 0, 0
	return t
}

// StageResult2020 is like [Task.StageResult] in the form of the compiler of 2020.
func StageResult2020(t *Task, m place.Memory, at place.Layout) {
	t.WriteResult(m, at.Base)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithDep_or_BfrMode(0)
	t.setLayout(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
}

// WriteResult2020 is like [Task.WriteResult] for a planar task in the form of the compiler of
// 2020, which does not pad rows.
func WriteResult2020(t *Task, m place.Memory, base int) {
	t.WriteResult(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithZeroPadLast(false).WithZeroPadFirst(false)
}

// UnlistScratch removes the scratch buffer from the header of a task that describes a surface in
// it, for a program without a scratch segment.
func UnlistScratch(t *Task) {
	if t.DescribesResult {
		t.h.Bases = t.h.Bases.WithWBE(false)
	}
	if t.DescribesSource {
		t.h.Bases = t.h.Bases.WithRBE0(false)
	}
}
