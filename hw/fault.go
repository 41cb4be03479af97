package hw

import (
	"fmt"

	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
)

// findStartFault returns the unit and the problem that keep task t from starting on the silicon, or two
// empty strings if there is none. It checks that no register value hangs the engine (measured: each
// such value was tried), that at least one tile is open for the MAC array, and that all operands
// are inside the memory or L2.
func (d *Device) findStartFault(t *regs.Task) (unit, what string) {
	g := &t.Groups
	if unit, what = findHang(g); what != "" {
		return unit, what
	}
	if !g.Planar() && d.open.Tiles() == 0 {
		return "tiles", "no tile is open; want at least one for a task of the MAC array"
	}
	if err := d.checkMemory(t); err != nil {
		return "dma", err.Error()
	}
	if err := d.checkL2(); err != nil {
		return "l2", err.Error()
	}
	return "", ""
}

// findHang looks for a register in g whose value would hang the silicon. It returns the unit that
// hangs and a description of the problem, or two empty strings if there is no such value.
func findHang(g *regs.Groups) (unit, what string) {
	c := &g.Common
	// A size hangs the engine as soon as one of its extents is zero; the configuration words do so only as
	// a whole.
	for _, w := range [...]struct {
		name string
		zero bool
	}{
		{"Common.InDim", c.InDim.Win() == 0 || c.InDim.Hin() == 0},
		{"Common.OutDim", c.OutDim.Wout() == 0 || c.OutDim.Hout() == 0},
		{"Common.Cin", c.Cin.Cin() == 0},
		{"Common.Cout", c.Cout.Cout() == 0},
		{"Common.InDepth", c.InDepth.IsZero()},
		{"Common.OutDepth", c.OutDepth.IsZero()},
		{"Common.ConvCfg", c.ConvCfg.IsZero()},
		{"Common.GroupConvCfg", c.GroupConvCfg.IsZero()},
		{"Common.TileCfg", c.TileCfg.IsZero()},
	} {
		if w.zero {
			return "common", w.name + " is zero: the engine never finishes"
		}
	}
	switch {
	case g.L2.ResultCfg.IsZero():
		return "l2", "L2.ResultCfg is zero: the engine never finishes"
	case g.TileDMASrc.Src1DMAConfig.IsZero():
		return "tile-dma-source", "TileDMASrc.Src1DMAConfig is zero: the engine never finishes"
	case g.TileDMASrc.Src1Fmt.IsZero():
		return "tile-dma-source", "TileDMASrc.Src1Fmt is zero: the engine never finishes"
	case g.TileDMADst.DstFmt.IsZero():
		return "tile-dma-destination", "TileDMADst.DstFmt is zero: the engine never finishes"
	// A planar task does not use the MAC engines: their registers may hold anything.
	case g.Planar():
		return "", ""
	}
	op, kernel := g.NE.MACCfg.OpMode(), g.KernelOn()
	switch {
	case op == regs.MultiplyAccumulate && !kernel:
		return "kernel-dma", "multiply-accumulate without a kernel: the engine never finishes"
	case g.TableInLanes() && !kernel:
		return "kernel-dma", "activation table without kernel data: the engine never finishes"
	case op == regs.PassThrough && c.Cin.Cin() != c.Cout.Cout():
		return "ne", fmt.Sprintf("pass-through has %d input channels but %d output channels: the engine never finishes", c.Cin.Cin(), c.Cout.Cout())
	// Only a whole word of zeros was tried on the silicon. A single extent or stride of 0 is refused
	// because such a window has no results.
	case op == regs.MultiplyAccumulate && (c.ConvCfg.Kw() == 0 || c.ConvCfg.Kh() == 0 || c.ConvCfg.Sx() == 0 || c.ConvCfg.Sy() == 0):
		return "ne", fmt.Sprintf("kernel is %dx%d with stride %dx%d; want every extent and stride to be at least 1", c.ConvCfg.Kw(), c.ConvCfg.Kh(), c.ConvCfg.Sx(), c.ConvCfg.Sy())
	}
	return "", ""
}

// checkMemory returns an error if a DMA of the task accesses bytes that are not all in one memory
// segment.
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
			return fmt.Errorf("weight lane %d: %w", i, err)
		}
	}
	return nil
}

// checkL2 returns an error if an operand of the task extends past the end of L2.
func (d *Device) checkL2() error {
	size := uint64(d.p.l2.Bytes)
	for _, o := range d.ops.List() {
		if end := o.Tile.Span(o.Shape); o.InL2() && end > size {
			return fmt.Errorf("%v: %w", o.Role, &l2.RangeError{End: end, Size: size})
		}
	}
	return nil
}

// endOfL2Operands returns the L2 address after the last byte of the operands o, or 0 if no operand
// is in L2.
func endOfL2Operands(o *regs.Operands) (end uint64) {
	for _, o := range o.List() {
		if o.InL2() {
			end = max(end, o.Tile.Span(o.Shape))
		}
	}
	return end
}
