package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// An access is one DMA transfer of a task: the buffer and the range of bytes that it reads
// or writes.
type access struct {
	role    regs.Role // of a tile DMA
	lane    int       // of a kernel DMA
	bar     int       // -1 when the header names no buffer
	on      bool
	write   bool
	low     int64        // offset of the first byte in the buffer; negative if a stride is
	off     uint64       // max(0, low)
	bytes   uint64       // to the end of the last element
	surface regs.Surface // of a tile DMA
	kernel  bool         // kernel DMA: one lane of weights, without a surface
}

// dmaName returns the name of the DMA for messages, such as "source 1" or "kernel lane 3".
func (a *access) dmaName() string {
	if a.kernel {
		return fmt.Sprintf("kernel lane %d", a.lane)
	}
	return a.role.String()
}

// listAccesses returns the DMA transfers of a task in dst[:0]: source 1, source 2, the
// destination, and the weight streams that are on. It includes a tensor in L2 whose header
// names a buffer, because it shows how large the compiler made the buffer.
func listAccesses(dst []access, h *regs.Header, g *regs.Groups, ops *regs.Operands) []access {
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
		// A tensor in L2 without a buffer occupies no memory.
		if !n.named && !o.DRAM {
			continue
		}
		low, high := o.Extent()
		a := access{role: o.Role, bar: -1, on: o.DRAM, write: o.Role == regs.Destination, surface: o.Surface}
		// With negative strides, a tensor begins below its base. Buffers are measured from 0 up; low is
		// kept for the check against segments.
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
