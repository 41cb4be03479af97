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
	if err := d.checkScratchpad(); err != nil {
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
	for i, addr := range [...]uint64{t.Bases.Source1, t.Bases.Source2, t.Bases.Destination} {
		o := d.ops.List()[i]
		if !o.DRAM {
			continue
		}
		low, high := o.Extent()
		if err := d.mem.Check(addr+uint64(low), uint64(high-low)); err != nil {
			return fmt.Errorf("%v: %w", o.Role, err)
		}
	}
	for i, l := range dma.Lanes(&t.Groups, t.Bases.Kernel) {
		if !l.On {
			continue
		}
		if err := d.mem.Check(l.Addr, uint64(l.Size)); err != nil {
			return fmt.Errorf("coefficient lane %d: %w", i, err)
		}
	}
	return nil
}

// checkScratchpad makes sure every tile that stands in the L2 fits it.
func (d *Device) checkScratchpad() error {
	size := uint64(d.p.l2.Bytes)
	for _, o := range d.ops.List() {
		if end := o.Tile.Span(o.Shape); o.InL2() && end > size {
			return fmt.Errorf("%v: %w", o.Role, &l2.RangeError{End: end, Size: size})
		}
	}
	return nil
}

// scratchpadEnd is the end of the furthest tile of a task in the L2.
func scratchpadEnd(o *regs.Operands) (end uint64) {
	for _, o := range o.List() {
		if o.InL2() {
			end = max(end, o.Tile.Span(o.Shape))
		}
	}
	return end
}
