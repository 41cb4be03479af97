package limits

import (
	"cmp"

	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

// Find returns the first reason why the model cannot compute the values of a task, as an
// [evidence.Limit]. It returns nil if the model can compute them.
func Find(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	for _, l := range [...]*evidence.Limit{checkElements(g, o), findUnknownBits(g), checkOperands(g, o)} {
		if l != nil {
			return l
		}
	}
	switch cc := g.Common.ConvCfg; {
	case g.Windowed():
		if cc.Kw() == 0 || cc.Kh() == 0 || cc.Sx() == 0 || cc.Sy() == 0 || g.L2.Cfg.PaddingMode() != 1 {
			return evidence.Unspecified("planar task has window %dx%d, stride %dx%d and padding mode %d; want extents and strides of at least 1, and mode 1", cc.Kh(), cc.Kw(), cc.Sy(), cc.Sx(), g.L2.Cfg.PaddingMode())
		}
		return nil
	case g.Planar():
		if cc.Kw() != 1 || cc.Kh() != 1 || cc.Sx() != 1 || cc.Sy() != 1 || cc.Px() != 0 || cc.Py() != 0 {
			return evidence.Unspecified("planar task has window %dx%d, stride %dx%d and padding %dx%d; want 1x1, 1x1 and 0x0", cc.Kh(), cc.Kw(), cc.Sy(), cc.Sx(), cc.Py(), cc.Px())
		}
		return nil
	}
	return checkEngineTask(g)
}

// checkElements returns an [evidence.Limit] if a task has 8-bit elements in a form that the
// model does not compute, and nil otherwise. The model computes the one form that a program shows,
// which is a table between two surfaces in memory.
func checkElements(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	c := &g.Common
	if c.ChCfg.InFmt() == regs.FormatFP16 && c.ChCfg.OutFmt() == regs.FormatFP16 && (!o.Source2.Used || c.ChCfg.Src2Fmt() == regs.FormatFP16) {
		return nil
	}
	s, r := &o.Source1, &o.Result
	switch {
	case c.ChCfg.InFmt() != regs.FormatInt8A || c.ChCfg.OutFmt() != regs.FormatInt8A || o.Source2.Used:
		return evidence.NotInModel("8-bit elements (Common.ChCfg %v) are supported only in format %v and without a second source", c.ChCfg, regs.FormatInt8A)
	case g.Planar() || g.NE.MACCfg.OpMode() != regs.PassThrough:
		return evidence.NotInModel("8-bit elements (Common.ChCfg %v) are supported only in pass-through tasks of the array", c.ChCfg)
	case !s.DRAM || !r.DRAM || s.L2 != regs.Streamed || r.L2 != regs.Streamed,
		s.Transposed || r.Transposed || s.Interleave > 1 || r.Interleave > 1:
		return evidence.NotInModel("8-bit elements (Common.ChCfg %v) are supported only in memory, neither transposed nor interleaved", c.ChCfg)
	}
	return nil
}

// checkOperands checks how a task pads, transposes and places its operands. It returns an
// [evidence.Limit] that describes the first unsupported feature, or nil if the model supports all
// of them.
func checkOperands(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	maximum := g.Planar() && g.PE.Cfg.Maximum() || !g.Planar() && g.NE.MACCfg.OpMode() == regs.ChannelMaximum
	if mode := g.L2.Cfg.PaddingMode(); mode > 1 || mode == 1 && !maximum {
		return evidence.Unspecified("padding mode is %d; want 0, or 1 in a maximum", mode)
	}
	for _, s := range o.List() {
		if s.DRAM && s.Role != regs.Destination && s.Used && s.Tile.Transposed {
			return evidence.Unspecified("transposing %v while it is read from memory is not supported", s.Role)
		}
		if l := findOverlap(s); l != nil {
			return l
		}
	}
	return nil
}

// checkEngineTask checks whether the model can compute the operation of a task of the MAC engines.
// It returns an [evidence.Limit] with the reason if it cannot, and nil otherwise.
func checkEngineTask(g *regs.Groups) *evidence.Limit {
	n, in, out := &g.NE, g.InShape(), g.OutShape()
	switch {
	case g.L2.Cfg.InputReLU() || g.L2.Cfg.InputReLU2():
		return evidence.Unspecified("MAC task applies ReLU to a source; only planar tasks are known to do so")
	case in.Planes() != out.Planes(), in.Planes() > 1 && n.MACCfg.OpMode() != regs.PassThrough:
		return evidence.Unspecified("MAC task has input depth %d and output depth %d; want 1, or equal depths in a copy", in.Planes(), out.Planes())
	case n.MACCfg.OpMode() != regs.MultiplyAccumulate && n.MACCfg.BiasMode():
		return evidence.Unspecified("task has a bias but does not multiply by weights")
	case g.TableStream:
		return evidence.NotInModel("activation table has a stream of its own; want one in the weight streams")
	case n.MACCfg.NonlinearMode() > regs.ActivationTable:
		return evidence.Unspecified("unknown nonlinear mode %d; want 0 to 2", n.MACCfg.NonlinearMode())
	}
	switch op := n.MACCfg.OpMode(); op {
	case regs.PassThrough, regs.ChannelProduct, regs.ChannelMaximum, regs.MantissaTable:
		return checkChannels(g, op, in, out)
	case regs.MultiplyAccumulate:
		return checkConvolution(g)
	default:
		return evidence.Unspecified("unknown MAC operation %d; it returned zeros on silicon or was never tried", op)
	}
}

// checkChannels checks whether the shapes in and out fit op, an operation other than a
// multiply-accumulate. It returns an [evidence.Limit] that says how they do not fit, or nil if they
// do.
func checkChannels(g *regs.Groups, op regs.MACOp, in, out regs.Shape) *evidence.Limit {
	u := g.Common.GroupConvCfg
	switch {
	case in.Height != out.Height || in.Width != out.Width:
		return evidence.Unspecified("%v has a source of %dx%d and a result of %dx%d; want equal sizes", op, in.Height, in.Width, out.Height, out.Width)
	case op == regs.ChannelProduct && (!u.ElemMultMode() || u.UnicastCin() != 2 || in.Channels != 2*out.Channels):
		return evidence.Unspecified("channel product reads %d of %d input channels for each of %d output channels; want 2 input channels for each output channel", u.UnicastCin(), in.Channels, out.Channels)
	case op == regs.ChannelMaximum && (out.Channels != 1 || int(u.UnicastCin()) != in.Channels):
		return evidence.Unspecified("channel maximum reads %d of %d input channels for %d output channels; want all input channels and 1 output channel", u.UnicastCin(), in.Channels, out.Channels)
	case op == regs.MantissaTable && !u.UnicastEn() && out.Channels != 1:
		return evidence.Unspecified("channel sum has %d output channels; want 1", out.Channels)
	case op == regs.MantissaTable && u.UnicastEn() && out.Channels != in.Channels:
		return evidence.Unspecified("unicast task has %d input channels and %d output channels; want equal numbers", in.Channels, out.Channels)
	}
	return nil
}

// checkConvolution checks the steps, the channels and the storage format of the weights of a
// multiply-accumulate. It returns an [evidence.Limit] that describes the first unsupported feature,
// or nil if the model supports all of them.
func checkConvolution(g *regs.Groups) *evidence.Limit {
	c := &g.Common
	switch cc := c.ConvCfg; {
	case cc.Oy() != 1 || cc.Ox() == 0 || cc.Sx()%cc.Ox() != 0:
		return evidence.Unspecified("task computes %dx%d outputs per step with stride %dx%d; want 1 row, and columns that divide the horizontal stride", cc.Oy(), cc.Ox(), cc.Sy(), cc.Sx())
	case c.GroupConvCfg.UnicastEn() && c.GroupConvCfg.UnicastCin() != 1:
		return evidence.Unspecified("unicast task reads %d input channels for each output channel; want 1", c.GroupConvCfg.UnicastCin())
	case c.GroupConvCfg.UnicastEn() && c.Cin.Cin() != c.Cout.Cout():
		return evidence.Unspecified("unicast task has %d input channels and %d output channels; want equal numbers", c.Cin.Cin(), c.Cout.Cout())
	}
	if _, note := tiles.PackingOf(g); note != "" {
		return evidence.Unspecified("%s", note)
	}
	return nil
}

// findOverlap checks whether the rows of operand o overlap in L2, because their stride is
// shorter than a row. It returns an [evidence.Limit] that says so, or nil if they do not overlap.
func findOverlap(o *regs.Operand) *evidence.Limit {
	if !o.InL2() || o.Tile.Transposed {
		return nil
	}
	s, t, row := o.Shape, &o.Tile, o.Shape.Width*cmp.Or(o.Tile.Element, 2)
	for _, axis := range [...]struct {
		extent int
		stride uint32
	}{{s.Channels, t.Channel}, {s.Height, t.Row}, {s.Planes(), t.Depth}, {s.Groups, t.Group}} {
		if step := int(axis.stride); axis.extent > 1 && 0 < step && step < row {
			return evidence.Unspecified("%v has overlapping rows in L2: rows have %d bytes and a stride of %d bytes", o.Role, row, step)
		}
	}
	return nil
}
