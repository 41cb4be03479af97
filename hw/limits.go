package hw

import (
	"cmp"
	"fmt"

	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// newUnspecifiedLimit returns an [evidence.Limit] that says that the model cannot compute a feature
// because no program or document specifies it. The arguments describe the feature as in
// fmt.Sprintf.
func newUnspecifiedLimit(format string, args ...any) *evidence.Limit {
	return &evidence.Limit{Kind: evidence.MissingSpecification, What: fmt.Sprintf(format, args...)}
}

// newNotModeledLimit returns an [evidence.Limit] that says that the model leaves out a known
// feature. The arguments describe the feature as in fmt.Sprintf.
func newNotModeledLimit(format string, args ...any) *evidence.Limit {
	return &evidence.Limit{Kind: evidence.NotModelled, What: fmt.Sprintf(format, args...)}
}

// addLimit appends l to the limits in the report.
func (r *DescriptorReport) addLimit(l *evidence.Limit) { r.Limits = append(r.Limits, *l) }

// markComputed records in the report that the values of a task with registers g were computed. It
// also adds an [evidence.Limit] for each unconfirmed assumption on which the values depend.
func (r *DescriptorReport) markComputed(g *regs.Groups) {
	r.Computed = true
	addNote := func(kind evidence.LimitKind, what string) {
		r.addLimit(&evidence.Limit{Kind: kind, What: what})
	}
	if isWindowed(g) {
		addNote(evidence.RestsOnInference, "planar window is inferred, from the pool mode of later targets: no program shows one")
	}
	if g.Planar() {
		if f := g.Common.Cfg.PlanarForm(); f == regs.FormReduction && (g.PE.Cfg.OpMode() == regs.PlanarMax || g.PE.Cfg.OpMode() == regs.PlanarMin) {
			addNote(evidence.RestsOnAssumption, "OpMode is assumed to choose the reduction; programs set PE.Cfg.Maximum")
		}
		return
	}
	if g.NE.MACCfg.OpMode() == regs.ChannelProduct {
		addNote(evidence.RestsOnInference, "MAC operation 10 is inferred to multiply neighbouring channels, from the chain of a power")
	}
	if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		return
	}
	if g.TableInLanes() {
		addNote(evidence.RestsOnAssumption, "values assume that the activation table precedes the weights of a lane, which no program shows; if it does not, they are wrong")
	}
	// Programs of the compiler show dense weights and, for stride 2, zero-skipping ones. All other
	// packings are a reading of the registers alone.
	switch p, _ := tiles.PackingOf(g); p {
	case tiles.Dense:
	case tiles.ZeroSkipping:
		if cc := g.Common.ConvCfg; cc.Kw() != 1 || cc.Kh() != 1 {
			addNote(evidence.RestsOnInference, "order of the entries in zero-skipping weights of several taps is inferred: correct for programs lowered here, unproved for those of the vendor's compiler")
		}
	default:
		addNote(evidence.RestsOnAssumption, fmt.Sprintf("layout of %v weights in a coefficient lane is assumed; no program shows it", p))
	}
}

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
				return newUnspecifiedLimit("%s sets bits %v; no program shows their meaning", r.name, r.unknown)
			}
		}
		return nil
	}
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

// findOverlapLimit checks whether the rows of operand o overlap in L2, because their stride is
// shorter than a row. It returns an [evidence.Limit] that says so, or nil if they do not overlap.
func findOverlapLimit(o *regs.Operand) *evidence.Limit {
	if !o.InL2() || o.Tile.Transposed {
		return nil
	}
	s, t, row := o.Shape, &o.Tile, o.Shape.Width*cmp.Or(o.Tile.Element, 2)
	for _, axis := range [...]struct {
		extent int
		stride uint32
	}{{s.Channels, t.Channel}, {s.Height, t.Row}, {s.Planes(), t.Depth}, {s.Groups, t.Group}} {
		if step := int(axis.stride); axis.extent > 1 && 0 < step && step < row {
			return newUnspecifiedLimit("%v has overlapping rows in the L2: rows have %d bytes and a stride of %d bytes", o.Role, row, step)
		}
	}
	return nil
}

// findFirstLimit returns the first reason why the model cannot compute the values of a task, as an
// [evidence.Limit]. It returns nil if the model can compute them.
func findFirstLimit(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	for _, l := range [...]*evidence.Limit{findEightBitLimit(g, o), findUnknownBits(g), findOperandLimit(g, o)} {
		if l != nil {
			return l
		}
	}
	switch cc := g.Common.ConvCfg; {
	case isWindowed(g):
		if cc.Kw() == 0 || cc.Kh() == 0 || cc.Sx() == 0 || cc.Sy() == 0 || g.L2.Cfg.PaddingMode() != 1 {
			return newUnspecifiedLimit("planar task has window %dx%d, stride %dx%d and padding mode %d; want extents and strides of at least 1, and mode 1", cc.Kh(), cc.Kw(), cc.Sy(), cc.Sx(), g.L2.Cfg.PaddingMode())
		}
		return nil
	case g.Planar():
		if cc.Kw() != 1 || cc.Kh() != 1 || cc.Sx() != 1 || cc.Sy() != 1 || cc.Px() != 0 || cc.Py() != 0 {
			return newUnspecifiedLimit("planar task has window %dx%d, stride %dx%d and padding %dx%d; want 1x1, 1x1 and 0x0", cc.Kh(), cc.Kw(), cc.Sy(), cc.Sx(), cc.Py(), cc.Px())
		}
		return nil
	}
	return findEngineLimit(g)
}

// findOperandLimit checks how a task pads, transposes and places its operands. It returns an
// [evidence.Limit] that describes the first unsupported feature, or nil if the model supports all
// of them.
func findOperandLimit(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	maximum := g.Planar() && g.PE.Cfg.Maximum() || !g.Planar() && g.NE.MACCfg.OpMode() == regs.ChannelMaximum
	if mode := g.L2.Cfg.PaddingMode(); mode > 1 || mode == 1 && !maximum {
		return newUnspecifiedLimit("padding mode is %d; want 0, or 1 in a maximum", mode)
	}
	for _, s := range o.List() {
		if s.DRAM && s.Role != regs.Destination && s.Used && s.Tile.Transposed {
			return newUnspecifiedLimit("transposing %v while it is read from memory is not supported", s.Role)
		}
		if s.DRAM && s.Transposed && s.Interleave > 1 {
			return newUnspecifiedLimit("transposing and interleaving %v at once is not supported", s.Role)
		}
		if l := findOverlapLimit(s); l != nil {
			return l
		}
	}
	return nil
}

// findEngineLimit checks whether the model can compute the operation of a task of the MAC engines.
// It returns an [evidence.Limit] with the reason if it cannot, and nil otherwise.
func findEngineLimit(g *regs.Groups) *evidence.Limit {
	n, in, out := &g.NE, g.InShape(), g.OutShape()
	switch {
	case g.L2.Cfg.InputReLU() || g.L2.Cfg.InputReLU2():
		return newUnspecifiedLimit("MAC task applies ReLU to a source; only planar tasks are known to do so")
	case in.Planes() != out.Planes(), in.Planes() > 1 && n.MACCfg.OpMode() != regs.PassThrough:
		return newUnspecifiedLimit("MAC task has input depth %d and output depth %d; want 1, or equal depths in a copy", in.Planes(), out.Planes())
	case n.MACCfg.OpMode() != regs.MultiplyAccumulate && n.MACCfg.BiasMode():
		return newUnspecifiedLimit("task has a bias but does not multiply by weights")
	case g.TableStream:
		return newNotModeledLimit("activation table has a stream of its own; want one in the weight streams")
	case n.MACCfg.NonlinearMode() > regs.ActivationTable:
		return newUnspecifiedLimit("unknown nonlinear mode %d; want 0 to 2", n.MACCfg.NonlinearMode())
	}
	switch op := n.MACCfg.OpMode(); op {
	case regs.PassThrough, regs.ChannelProduct, regs.ChannelMaximum, regs.MantissaTable:
		return findChannelLimit(g, op, in, out)
	case regs.MultiplyAccumulate:
		return findConvolutionLimit(g)
	default:
		return newUnspecifiedLimit("unknown MAC operation %d; it returned zeros on silicon or was never tried", op)
	}
}

// findChannelLimit checks whether the shapes in and out fit op, an operation other than a
// multiply-accumulate. It returns an [evidence.Limit] that says how they do not fit, or nil if they
// do.
func findChannelLimit(g *regs.Groups, op regs.MACOp, in, out regs.Shape) *evidence.Limit {
	u := g.Common.GroupConvCfg
	switch {
	case in.Height != out.Height || in.Width != out.Width:
		return newUnspecifiedLimit("%v has a source of %dx%d and a result of %dx%d; want equal sizes", op, in.Height, in.Width, out.Height, out.Width)
	case op == regs.ChannelProduct && (!u.ElemMultMode() || u.UnicastCin() != 2 || in.Channels != 2*out.Channels):
		return newUnspecifiedLimit("channel product reads %d of %d input channels for each of %d output channels; want 2 input channels for each output channel", u.UnicastCin(), in.Channels, out.Channels)
	case op == regs.ChannelMaximum && (out.Channels != 1 || int(u.UnicastCin()) != in.Channels):
		return newUnspecifiedLimit("channel maximum reads %d of %d input channels for %d output channels; want all input channels and 1 output channel", u.UnicastCin(), in.Channels, out.Channels)
	case op == regs.MantissaTable && !u.UnicastEn() && out.Channels != 1:
		return newUnspecifiedLimit("channel sum has %d output channels; want 1", out.Channels)
	case op == regs.MantissaTable && u.UnicastEn() && out.Channels != in.Channels:
		return newUnspecifiedLimit("unicast task has %d input channels and %d output channels; want equal numbers", in.Channels, out.Channels)
	}
	return nil
}

// findConvolutionLimit checks the steps, the channels and the storage format of the weights of a
// multiply-accumulate. It returns an [evidence.Limit] that describes the first unsupported feature,
// or nil if the model supports all of them.
func findConvolutionLimit(g *regs.Groups) *evidence.Limit {
	c := &g.Common
	switch cc := c.ConvCfg; {
	case cc.Oy() != 1 || cc.Ox() == 0 || cc.Sx()%cc.Ox() != 0:
		return newUnspecifiedLimit("task computes %dx%d outputs per step with stride %dx%d; want 1 row, and columns that divide the horizontal stride", cc.Oy(), cc.Ox(), cc.Sy(), cc.Sx())
	case c.GroupConvCfg.UnicastEn() && c.GroupConvCfg.UnicastCin() != 1:
		return newUnspecifiedLimit("unicast task reads %d input channels for each output channel; want 1", c.GroupConvCfg.UnicastCin())
	case c.GroupConvCfg.UnicastEn() && c.Cin.Cin() != c.Cout.Cout():
		return newUnspecifiedLimit("unicast task has %d input channels and %d output channels; want equal numbers", c.Cin.Cin(), c.Cout.Cout())
	}
	if _, note := tiles.PackingOf(g); note != "" {
		return newUnspecifiedLimit("%s", note)
	}
	return nil
}
