package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// An access is one unit's DMA of a task: which buffer it goes to and how far.
type access struct {
	role    regs.Role // of a surface
	lane    int       // of coefficients
	bar     int       // -1 when the header names no buffer
	on      bool
	write   bool
	low     int64 // of the first byte in the buffer: below zero where a stride leads there
	off     uint64
	bytes   uint64       // to the end of the last element
	surface regs.Surface // of a tile DMA
	kernel  bool         // a coefficient lane, without a surface
}

// name is the unit as messages call it.
func (a *access) name() string {
	if a.kernel {
		return fmt.Sprintf("kernel lane %d", a.lane)
	}
	return a.role.String()
}

// accesses lists a task's DMAs: source 1, source 2, destination, then the coefficient
// lanes that are on. A DMA that is off and names a buffer is listed too: it says how
// large the vendor's compiler made that buffer.
func accesses(dst []access, h *regs.Header, g *regs.Groups, ops *regs.Operands) []access {
	dst = dst[:0]
	for i, n := range [...]struct {
		named bool
		bar   uint32
	}{
		{h.Bases.RBE0(), h.Bases.RBase0()},
		{h.Bases.RBE1(), h.Bases.RBase1()},
		{h.Bases.WBE(), h.Bases.WBase()},
	} {
		o := ops.List()[i]
		if !n.named && !o.DRAM {
			continue
		}
		low, high := o.Extent()
		a := access{role: o.Role, bar: -1, on: o.DRAM, write: o.Role == regs.Destination, surface: o.Surface}
		a.low = int64(o.Base) + low
		a.off, a.bytes = uint64(max(0, a.low)), uint64(high-low)
		if n.named {
			a.bar = int(n.bar)
		}
		dst = append(dst, a)
	}
	k := &g.KernelDMASrc
	for i, c := range k.CoeffDMAConfig {
		if n := k.CoeffBfrSize[i].Bytes(); c.En() && n > 0 {
			a := access{lane: i, bar: -1, on: true, kernel: true,
				low: int64(k.CoeffBaseAddr[i].Bytes()), off: uint64(k.CoeffBaseAddr[i].Bytes()), bytes: uint64(n)}
			if h.KernelBases.KBE0() {
				a.bar = int(h.KernelBases.KBase0())
			}
			dst = append(dst, a)
		}
	}
	return dst
}
