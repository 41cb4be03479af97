package hw

import (
	"fmt"

	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
)

// fault checks what the silicon needs before a task may start: the writes that hang it
// (measured: each was tried), a tile to work with, surfaces inside the memory and tiles
// inside the L2. It returns the unit and what is wrong, or two empty strings.
func (d *Device) fault(t *regs.Task) (unit, what string) {
	g := &t.Groups
	if unit, what = hang(g); what != "" {
		return unit, what
	}
	if !g.Planar() && d.open.Tiles() == 0 {
		return "tiles", "no tile is open and the task needs the array"
	}
	if err := d.checkMemory(t); err != nil {
		return "dma", err.Error()
	}
	if err := d.checkScratchpad(g); err != nil {
		return "l2", err.Error()
	}
	return "", ""
}

// hang finds register values that stop the silicon for good.
func hang(g *regs.Groups) (unit, what string) {
	c := &g.Common
	for _, w := range [...]struct {
		name string
		zero bool
	}{
		{"Common.InDim", c.InDim.Win() == 0 || c.InDim.Hin() == 0},
		{"Common.OutDim", c.OutDim.Wout() == 0 || c.OutDim.Hout() == 0},
		{"Common.Cin", c.Cin.Cin() == 0},
		{"Common.Cout", c.Cout.Cout() == 0},
		{"Common.InDepth", c.InDepth == 0},
		{"Common.OutDepth", c.OutDepth == 0},
		{"Common.ConvCfg", c.ConvCfg == 0},
		{"Common.GroupConvCfg", c.GroupConvCfg == 0},
		{"Common.TileCfg", c.TileCfg == 0},
	} {
		if w.zero {
			return "common", w.name + " is zero: the engine never finishes"
		}
	}
	switch {
	case g.L2.ResultCfg == 0:
		return "l2", "L2.ResultCfg is zero: the engine never finishes"
	case g.TileDMASrc.Src1DMAConfig == 0:
		return "tile-dma-source", "TileDMASrc.Src1DMAConfig is zero: the engine never finishes"
	case g.TileDMASrc.Src1Fmt == 0:
		return "tile-dma-source", "TileDMASrc.Src1Fmt is zero: the engine never finishes"
	case g.TileDMADst.DstFmt == 0:
		return "tile-dma-destination", "TileDMADst.DstFmt is zero: the engine never finishes"
	case g.Planar():
		return "", ""
	}
	op, kernel := g.NE.MACCfg.OpMode(), g.KernelOn()
	switch {
	case op == regs.MultiplyAccumulate && !kernel:
		return "kernel-dma", "a multiply-accumulate has no kernel: the engine never finishes"
	case g.NE.MACCfg.NonlinearMode() == regs.ActivationTable && !kernel:
		return "kernel-dma", "an activation table is asked for without kernel data: the engine never finishes"
	case op == regs.PassThrough && c.Cin.Cin() != c.Cout.Cout():
		return "ne", fmt.Sprintf("a pass-through of %d channels has %d results: the engine never finishes", c.Cin.Cin(), c.Cout.Cout())
	case op == regs.MultiplyAccumulate && (c.ConvCfg.Kw() == 0 || c.ConvCfg.Kh() == 0 || c.ConvCfg.Sx() == 0 || c.ConvCfg.Sy() == 0):
		return "ne", fmt.Sprintf("kernel %dx%d at stride %dx%d has no step", c.ConvCfg.Kw(), c.ConvCfg.Kh(), c.ConvCfg.Sx(), c.ConvCfg.Sy())
	}
	return "", ""
}

// checkMemory makes sure every DMA of the task stays inside one segment.
func (d *Device) checkMemory(t *regs.Task) error {
	g := &t.Groups
	check := func(unit string, addr, n uint64) error {
		if err := d.mem.Check(addr, n); err != nil {
			return fmt.Errorf("%s: %w", unit, err)
		}
		return nil
	}
	if g.Source1On() {
		if err := check("source 1", t.Bases.Source1, g.Source1().Span()); err != nil {
			return err
		}
	}
	if g.Source2On() {
		if err := check("source 2", t.Bases.Source2, g.Source2().Span()); err != nil {
			return err
		}
	}
	if g.DestinationOn() {
		if err := check("destination", t.Bases.Destination, g.Destination().Span()); err != nil {
			return err
		}
	}
	for i, l := range dma.Lanes(g, t.Bases.Kernel) {
		if !l.On {
			continue
		}
		if err := d.mem.Check(l.Addr, uint64(l.Size)); err != nil {
			return fmt.Errorf("coefficient lane %d: %w", i, err)
		}
	}
	return nil
}

// A tile is a tensor's place in the L2.
type tile struct {
	what   string
	layout l2.Layout
	shape  regs.Shape
}

// residents are the tiles of a task that live in the L2.
func residents(g *regs.Groups) (list [3]tile, n int) {
	add := func(what string, l l2.Layout, s regs.Shape) {
		list[n] = tile{what, l, s}
		n++
	}
	if !g.Source1On() || keepsSource(g) {
		add("source 1", l2.Source1(g), operandShape(g, 1))
	}
	if secondFromL2(g) {
		add("source 2", l2.Source2(g), operandShape(g, 2))
	}
	if keepsResult(g) {
		add("result", l2.Result(g), g.OutShape())
	}
	return list, n
}

// checkScratchpad makes sure every tile that lives in the L2 fits it.
func (d *Device) checkScratchpad(g *regs.Groups) error {
	list, n := residents(g)
	for _, t := range list[:n] {
		if end := t.layout.Span(t.shape); end > uint64(d.p.l2.Bytes) {
			return fmt.Errorf("%s: %w", t.what, &l2.RangeError{End: end, Size: uint64(d.p.l2.Bytes)})
		}
	}
	return nil
}

// scratchpadEnd is the end of the furthest tile of a task in the L2.
func (d *Device) scratchpadEnd(g *regs.Groups) (end uint64) {
	list, n := residents(g)
	for _, t := range list[:n] {
		end = max(end, t.layout.Span(t.shape))
	}
	return end
}

// keepsSource reports whether the source tile stays in the L2 for a later descriptor:
// SourceCfg type 1, against 2 on sources that are used up (bytes: split convolutions,
// layer_norm, softmax).
func keepsSource(g *regs.Groups) bool { return g.Source1On() && g.L2.SourceCfg.Type() == 1 }

// keepsResult reports whether the result is left in the L2: when nothing writes it to
// memory, or when ResultCfg has type 1.
func keepsResult(g *regs.Groups) bool {
	return !g.DestinationOn() || g.L2.ResultCfg.Type() == 1
}

// secondFromL2 reports whether a planar task takes its second source from the L2.
func secondFromL2(g *regs.Groups) bool {
	if !g.Planar() || g.Source2On() {
		return false
	}
	switch g.Common.Cfg.PlanarForm() {
	case regs.FormTwoSources, regs.FormBiasScale, regs.FormTwoReduced:
		return true
	}
	return false
}

// operandShape is the shape of a source with its broadcast axes one long. The second
// source of a bias-and-scale task is two rows of one value a channel.
func operandShape(g *regs.Groups, source int) regs.Shape {
	s := g.InShape()
	if !g.Planar() {
		return s
	}
	b := g.Common.PlanarOperands
	w, h, c := b.Src1BroadcastW(), b.Src1BroadcastH(), b.Src1BroadcastC()
	if source == 2 {
		w, h, c = b.Src2BroadcastW(), b.Src2BroadcastH(), b.Src2BroadcastC()
		if g.Common.Cfg.PlanarForm() == regs.FormBiasScale {
			s.Width, s.Height, h = 1, 2, false
		}
	}
	if w {
		s.Width = 1
	}
	if h {
		s.Height = 1
	}
	if c {
		s.Channels = 1
	}
	return s
}
