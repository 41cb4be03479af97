package task

import (
	"anesim/hw/regs"
	"anesim/loader/lower/place"
)

// Copy2020 is Copy in the form of 2020, with ReLU or not: its patch is two rows high, and
// without coefficients it has no format of theirs.
func Copy2020(s regs.Shape, relu bool) *Task {
	t := MAC{Op: regs.PassThrough, In: s, Out: s, Alone: true, ReLU: relu}.Task()
	t.Cut(FixedPatch(1))
	c, n := &t.g.Common, &t.g.NE
	c.Cfg = c.Cfg.WithAccDoubleBufEn(true)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(0)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	return t
}

// Pointwise2020 is a convolution by a window of one tap, with bias, in the form of 2020.
func Pointwise2020(in, out regs.Shape) *Task {
	t := MAC{Op: regs.MultiplyAccumulate, In: in, Out: out, Window: Pointwise, Bias: true}.Task()
	t.g.Common.Cfg = t.g.Common.Cfg.WithAccDoubleBufEn(true)
	return t
}

// Sum2020 is the sum of two sources in the form of 2020: nothing is said to the MAC engines.
func Sum2020(s regs.Shape) *Task {
	t := Planar{Form: regs.FormTwoSources, In: s, Op: Sum}.Task()
	t.g.NE.KernelCfg, t.g.NE.MACCfg = 0, 0
	return t
}

// Stages2020 is Stages in the form of 2020.
func Stages2020(t *Task, m place.Memory, at place.Layout) {
	t.Writes(m, at.Base)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithDep_or_BfrMode(0)
	t.place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
}

// Writes2020 is Writes of a planar task in the form of 2020, which does not pad rows.
func Writes2020(t *Task, m place.Memory, base int) {
	t.Writes(m, base)
	d := &t.g.TileDMADst
	d.DstFmt = d.DstFmt.WithZeroPadLast(false).WithZeroPadFirst(false)
}

// Unlist takes back the buffer of a surface that is described in the scratch buffer, of a
// program that lists none.
func Unlist(t *Task) {
	if t.DescribesResult {
		t.h.Bases = t.h.Bases.WithWBE(false)
	}
	if t.DescribesSource {
		t.h.Bases = t.h.Bases.WithRBE0(false)
	}
}
