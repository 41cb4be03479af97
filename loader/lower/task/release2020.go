package task

import (
	"anesim/hw/regs"
	"anesim/loader/lower/place"
)

// Copy2020 is Copy in the form of 2020, with ReLU or not: its patch is two rows high, and
// without coefficients it has no format of theirs.
func NewCopy2020(s regs.Shape, relu bool) *Task {
	t := MAC{Op: regs.PassThrough, In: s, Out: s, PerChannel: true, ReLU: relu}.Task()
	t.SetPatch(FixedPatch(1))
	c, n := &t.g.Common, &t.g.NE
	c.Cfg = c.Cfg.WithAccDoubleBufEn(true)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(0)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	return t
}

// Pointwise2020 is a convolution by a window of one tap, with bias, in the form of 2020.
func NewPointwise2020(in, out regs.Shape) *Task {
	t := MAC{Op: regs.MultiplyAccumulate, In: in, Out: out, Window: Pointwise, Bias: true}.Task()
	t.g.Common.Cfg = t.g.Common.Cfg.WithAccDoubleBufEn(true)
	return t
}

// Sum2020 is the sum of two sources in the form of 2020: nothing is said to the MAC engines.
func NewSum2020(s regs.Shape) *Task {
	t := Planar{Form: regs.FormTwoSources, In: s, Op: Sum}.Task()
	t.g.NE.KernelCfg, t.g.NE.MACCfg = 0, 0
	return t
}

// Stages2020 is Stages in the form of 2020.
func StageResult2020(t *Task, m place.Memory, at place.Layout) {
	t.WriteResult(m, at.Base)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithDep_or_BfrMode(0)
	t.setLayout(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
}

// Writes2020 is Writes of a planar task in the form of 2020, which does not pad rows.
func WriteResult2020(t *Task, m place.Memory, base int) {
	t.WriteResult(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithZeroPadLast(false).WithZeroPadFirst(false)
}

// Unlist takes back the buffer of a surface that is described in the scratch buffer, of a
// program that lists none.
func UnlistScratch(t *Task) {
	if t.DescribesResult {
		t.h.Bases = t.h.Bases.WithWBE(false)
	}
	if t.DescribesSource {
		t.h.Bases = t.h.Bases.WithRBE0(false)
	}
}
