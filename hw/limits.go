package hw

import (
	"cmp"
	"fmt"

	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// unspecified is a limit: no program and no document says how the hardware does it.
func unspecified(format string, args ...any) *evidence.Limit {
	return &evidence.Limit{Kind: evidence.MissingSpecification, What: fmt.Sprintf(format, args...)}
}

// notModelled is a limit: known, and left out of the model.
func notModelled(format string, args ...any) *evidence.Limit {
	return &evidence.Limit{Kind: evidence.NotModelled, What: fmt.Sprintf(format, args...)}
}

// limit adds one to the report.
func (r *DescriptorReport) limit(l *evidence.Limit) { r.Limits = append(r.Limits, *l) }

// computed says that a task's values were computed, and what they rest on that is not
// known of real programs.
func (r *DescriptorReport) computed(g *regs.Groups) {
	r.Computed = true
	rests := func(kind evidence.LimitKind, what string) {
		r.limit(&evidence.Limit{Kind: kind, What: what})
	}
	if g.Planar() {
		if f := g.Common.Cfg.PlanarForm(); f == regs.FormReduction && (g.PE.Cfg.OpMode() == regs.PlanarMax || g.PE.Cfg.OpMode() == regs.PlanarMin) {
			rests(evidence.RestsOnAssumption, "OpMode chooses the reduction: programs set PE.Cfg.Maximum")
		}
		return
	}
	if g.NE.MACCfg.OpMode() == regs.ChannelProduct {
		rests(evidence.RestsOnInference, "MAC operation 10 multiplies neighbouring channels: read from the chain of a power")
	}
	if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		return
	}
	if g.NE.MACCfg.NonlinearMode() == regs.ActivationTable {
		rests(evidence.RestsOnAssumption, "the activation table stands ahead of a lane's weights: no program shows where")
	}
	switch p, _ := tiles.PackingOf(g); p {
	case tiles.Dense:
	case tiles.ZeroSkipping:
		if cc := g.Common.ConvCfg; cc.Kw() != 1 || cc.Kh() != 1 {
			rests(evidence.RestsOnInference, "the order of the entries in zero-skipping weights of several taps: right for programs of our own lowering, unproved for the vendor compiler's")
		}
	default:
		rests(evidence.RestsOnAssumption, fmt.Sprintf("where %v weights stand in a coefficient lane: no program shows it", p))
	}
}

// A mask is the bits of a word that the values follow, or that programs show to leave
// them alone.
type mask struct {
	register string
	word     uint32
	known    uint32
}

// unknownBits finds a bit that no program explains in a word that a task's values could
// depend on. Words of the engine that a task does not use keep what an earlier one wrote.
func unknownBits(g *regs.Groups) *evidence.Limit {
	c, s, l, n, d := &g.Common, &g.TileDMASrc, &g.L2, &g.NE, &g.TileDMADst
	check := func(masks []mask) *evidence.Limit {
		for _, m := range masks {
			if u := m.word &^ m.known; u != 0 {
				return unspecified("%s has bits %#x set, whose meaning no program shows", m.register, u)
			}
		}
		return nil
	}
	const (
		route   = 0x0150_0fff // Type to DMAIntl, the planar bits, a second source
		surface = 0x0f30_3033 // FmtMode, Truncate, MemFmt, the paddings, Interleave
	)
	groups := uint32(0xffff_5fff)
	if !g.Planar() && n.MACCfg.OpMode() == regs.ChannelProduct {
		groups |= 1 << 15 // ElemMultMode
	}
	if u := check([]mask{
		{"Common.ChCfg", uint32(c.ChCfg), 0x3f},
		{"Common.ConvCfg", uint32(c.ConvCfg), 0xf7ff_ffff},
		{"Common.Reserved08", uint32(c.Reserved08), 0x2041},
		{"Common.GroupConvCfg", uint32(c.GroupConvCfg), groups},
		{"Common.PlanarPatch", uint32(c.PlanarPatch), 0xff},
		{"Common.PlanarOperands", uint32(c.PlanarOperands), 0x7ff},
		{"Common.Cfg", uint32(c.Cfg), 0x157f_7777},
		{"L2.Cfg", uint32(l.Cfg), 0x1d},
		{"L2.SourceCfg", uint32(l.SourceCfg), route},
		{"L2.ResultCfg", uint32(l.ResultCfg), route},
		{"TileDMASrc.Src1Fmt", uint32(s.Src1Fmt), surface},
		{"TileDMASrc.Src2Fmt", uint32(s.Src2Fmt), surface},
		{"TileDMADst.DstFmt", uint32(d.DstFmt), surface},
		{"TileDMASrc.PixelOffset", uint32(s.PixelOffset[0] | s.PixelOffset[1] | s.PixelOffset[2] | s.PixelOffset[3]), 0},
	}); u != nil || g.Planar() {
		return u
	}
	return check([]mask{
		{"Common.PlanarOperands", uint32(c.PlanarOperands), 0},
		{"NE.KernelCfg", uint32(n.KernelCfg), 0x0001_51f7},
		{"NE.MACCfg", uint32(n.MACCfg), 0x0017_1e1f},
		{"NE.MatrixVectorBias", uint32(n.MatrixVectorBias), 0},
		{"NE.AccBias", uint32(n.AccBias), 0x001f_ffff},
		{"NE.PostScale", uint32(n.PostScale), 0x001f_ffff},
	})
}

// secondFormat is bits 2-3 of Common.ChCfg, the format of source 2: fp16 on every task
// that has one (bytes).
func secondFormat(w regs.ChCfg) regs.Format { return regs.Format(uint32(w) >> 2 & 3) }

// overlapping is a tile that stays in the L2 with less from one channel, row, plane or group
// to the next than a row takes, as tiles of wide rows that pass through have.
func overlapping(o *regs.Operand) *evidence.Limit {
	if !o.InL2() || o.Tile.Transposed {
		return nil
	}
	s, t, row := o.Shape, &o.Tile, o.Shape.Width*cmp.Or(o.Tile.Element, 2)
	for _, axis := range [...]struct {
		extent int
		stride uint32
	}{{s.Channels, t.Channel}, {s.Height, t.Row}, {s.Planes(), t.Depth}, {s.Groups, t.Group}} {
		if step := int(axis.stride); axis.extent > 1 && 0 < step && step < row {
			return unspecified("%v stays in the L2 in rows of %d bytes, %d bytes apart: which row has the place no program shows", o.Role, row, step)
		}
	}
	return nil
}

// unmodelled is what a task uses that the values do not cover, nil when nothing.
func unmodelled(g *regs.Groups, o *regs.Operands) *evidence.Limit {
	c, n := &g.Common, &g.NE
	in, out := g.InShape(), g.OutShape()
	if u := eightBit(g, o); u != nil {
		return u
	}
	if u := unknownBits(g); u != nil {
		return u
	}
	maximum := g.Planar() && g.PE.Cfg.Maximum() || !g.Planar() && n.MACCfg.OpMode() == regs.ChannelMaximum
	if mode := g.L2.Cfg.PaddingMode(); mode > 1 || mode == 1 && !maximum {
		return unspecified("padding mode %d of anything but a maximum", mode)
	}
	for _, s := range o.List() {
		if s.DRAM && s.Role != regs.Destination && s.Used && s.Tile.Transposed {
			return unspecified("%v is transposed as it comes from memory", s.Role)
		}
		if s.DRAM && s.Transposed && s.Interleave > 1 {
			return unspecified("%v is transposed and interleaved", s.Role)
		}
		if l := overlapping(s); l != nil {
			return l
		}
	}
	if g.Planar() {
		if cc := c.ConvCfg; cc.Kw() != 1 || cc.Kh() != 1 || cc.Sx() != 1 || cc.Sy() != 1 || cc.Px() != 0 || cc.Py() != 0 {
			return unspecified("a window of %dx%d at stride %dx%d on the planar engine", cc.Kh(), cc.Kw(), cc.Sy(), cc.Sx())
		}
		return nil
	}
	switch {
	case g.L2.Cfg.InputReLU() || g.L2.Cfg.InputReLU2():
		return unspecified("a ReLU on a source of the MAC engines")
	case in.Planes() != out.Planes(), in.Planes() > 1 && n.MACCfg.OpMode() != regs.PassThrough:
		return unspecified("a depth of %d to %d on the MAC engines", in.Planes(), out.Planes())
	case n.MACCfg.OpMode() != regs.MultiplyAccumulate && n.MACCfg.BiasMode():
		return unspecified("a bias stream without a kernel")
	case n.MACCfg.NonlinearMode() > regs.ActivationTable:
		return unspecified("nonlinear mode %d", n.MACCfg.NonlinearMode())
	}
	switch op := n.MACCfg.OpMode(); op {
	case regs.PassThrough, regs.ChannelProduct, regs.ChannelMaximum, regs.MantissaTable:
		switch {
		case in.Height != out.Height || in.Width != out.Width:
			return unspecified("a %v from %dx%d to %dx%d", op, in.Height, in.Width, out.Height, out.Width)
		case op == regs.ChannelProduct && (!c.GroupConvCfg.ElemMultMode() || c.GroupConvCfg.UnicastCin() != 2 || in.Channels != 2*out.Channels):
			return unspecified("a product of %d of %d channels with %d results", c.GroupConvCfg.UnicastCin(), in.Channels, out.Channels)
		case op == regs.ChannelMaximum && (out.Channels != 1 || int(c.GroupConvCfg.UnicastCin()) != in.Channels):
			return unspecified("a maximum over %d of %d channels with %d results", c.GroupConvCfg.UnicastCin(), in.Channels, out.Channels)
		case op == regs.MantissaTable && !c.GroupConvCfg.UnicastEn() && out.Channels != 1:
			return unspecified("a sum of channels with %d results", out.Channels)
		case op == regs.MantissaTable && c.GroupConvCfg.UnicastEn() && out.Channels != in.Channels:
			return unspecified("unicast with several results a channel")
		}
		return nil
	case regs.MultiplyAccumulate:
	default:
		return unspecified("MAC operation %d: it gave zeros on silicon or was never tried", op)
	}
	switch cc := c.ConvCfg; {
	case cc.Oy() != 1 || cc.Ox() == 0 || cc.Sx()%cc.Ox() != 0:
		return unspecified("%dx%d outputs a step at stride %dx%d", cc.Oy(), cc.Ox(), cc.Sy(), cc.Sx())
	case c.GroupConvCfg.UnicastEn() && c.GroupConvCfg.UnicastCin() != 1:
		return unspecified("unicast over several input channels")
	case c.GroupConvCfg.UnicastEn() && c.Cin.Cin() != c.Cout.Cout():
		return unspecified("unicast with several results a channel")
	}
	if _, note := tiles.PackingOf(g); note != "" {
		return unspecified("%s", note)
	}
	return nil
}
