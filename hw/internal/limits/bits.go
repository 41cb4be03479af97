package limits

import (
	"anesim/hw/evidence"
	"anesim/hw/regs"
)

// findUnknownBits looks for registers with a set bit whose meaning is not known, or that programs
// do not show to have no effect on the values. It returns an [evidence.Limit] that names the first
// such register, or nil if there is none. It checks only registers on which the values of the task
// can depend, because other registers keep the values of earlier tasks.
func findUnknownBits(g *regs.Groups) *evidence.Limit {
	c, s, l, n, d := &g.Common, &g.TileDMASrc, &g.L2, &g.NE, &g.TileDMADst
	type register struct {
		name    string
		unknown interface{ IsZero() bool }
	}
	check := func(registers []register) *evidence.Limit {
		for _, r := range registers {
			if !r.unknown.IsZero() {
				return evidence.Unspecified("%s sets bits %v; no program shows their meaning", r.name, r.unknown)
			}
		}
		return nil
	}
	// This field has a known effect in one operation only. In any other it counts as unknown.
	groups := c.GroupConvCfg.Unnamed()
	if g.Planar() || n.MACCfg.OpMode() != regs.ChannelProduct {
		groups = groups.WithElemMultMode(c.GroupConvCfg.ElemMultMode())
	}
	if u := check([]register{
		{"Common.ChCfg", c.ChCfg.Unnamed()},
		{"Common.ConvCfg", c.ConvCfg.Unnamed()},
		{"Common.Reserved08", c.Reserved08.Unnamed()},
		{"Common.GroupConvCfg", groups},
		{"Common.PlanarPatch", c.PlanarPatch.Unnamed()},
		{"Common.PlanarOperands", c.PlanarOperands.Unnamed()},
		{"Common.Cfg", c.Cfg.Unnamed()},
		{"L2.Cfg", l.Cfg.Unnamed()},
		{"L2.SourceCfg", unknownRoute(l.SourceCfg).WithSrc2Waits(0)}, // values do not depend on what a task waits for
		{"L2.ResultCfg", unknownRoute(l.ResultCfg)},
		{"TileDMASrc.Src1Fmt", unknownFormat(s.Src1Fmt)},
		{"TileDMASrc.Src2Fmt", unknownFormat(s.Src2Fmt)},
		{"TileDMADst.DstFmt", unknownFormat(d.DstFmt)},
		{"TileDMASrc.PixelOffset", s.PixelOffset[0]}, {"TileDMASrc.PixelOffset", s.PixelOffset[1]},
		{"TileDMASrc.PixelOffset", s.PixelOffset[2]}, {"TileDMASrc.PixelOffset", s.PixelOffset[3]},
	}); u != nil || g.Planar() {
		return u
	}
	// A planar task has returned above: it does not use the registers of the MAC engines, which may hold
	// those of earlier tasks.
	k, m := n.KernelCfg, n.MACCfg
	return check([]register{
		{"Common.PlanarOperands", c.PlanarOperands},
		{"NE.KernelCfg", k.Unnamed().WithGrpReuse(k.GrpReuse())},
		{"NE.MACCfg", m.Unnamed().WithKernelMode(m.KernelMode()).WithMatrixBiasEn(m.MatrixBiasEn()).WithPostScaleMode(m.PostScaleMode())},
		{"NE.MatrixVectorBias", n.MatrixVectorBias},
		{"NE.AccBias", n.AccBias.Unnamed()},
		{"NE.PostScale", n.PostScale.Unnamed()},
	})
}

// unknownRoute returns the bits of w that a task with known values does not set: in all programs
// that do, the tensor is neither compressed nor part of the channels of another.
func unknownRoute(w regs.L2Route) regs.L2Route {
	return w.Unnamed().WithCmpVec(w.CmpVec()).WithDMAOffCh(w.DMAOffCh()).WithSrc2Waits(w.Src2Waits())
}

// unknownFormat is like unknownRoute, but for the format of a tensor in memory.
func unknownFormat(w regs.SurfaceFmt) regs.SurfaceFmt {
	return w.Unnamed().WithShift(w.Shift()).WithOffsetCh(w.OffsetCh()).WithCmpVec(w.CmpVec())
}
