package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// An access is one unit's DMA of a task: which buffer it goes to and how far.
type access struct {
	unit    string // source 1, source 2, destination; empty for a coefficient lane
	lane    int
	bar     int // -1 when the header names no buffer
	on      bool
	write   bool
	off     uint64 // of the first byte in the buffer
	bytes   uint64 // to the end of the last element
	surface regs.Surface
	kernel  bool // a coefficient lane, without a surface
}

// name is the unit as messages call it.
func (a *access) name() string {
	if a.kernel {
		return fmt.Sprintf("kernel lane %d", a.lane)
	}
	return a.unit
}

// accesses lists a task's DMAs: source 1, source 2, destination, then the coefficient
// lanes that are on. A DMA that is off and names a buffer is listed too: it says how
// large the vendor's compiler made that buffer.
func accesses(dst []access, h *regs.Header, g *regs.Groups) []access {
	dst = dst[:0]
	tile := func(unit string, named bool, bar uint32, on, write bool, s regs.Surface, f regs.SurfaceFmt) {
		if !named && !on {
			return
		}
		// An interleaved surface has the elements of several channels side by side,
		// and a plane for each such bundle (bytes: the runtime matmul's scratch).
		whole := s
		if n := int(f.Interleave()); n > 1 {
			whole.Channels, whole.Width = (s.Channels+n-1)/n, s.Width*n
		}
		a := access{unit: unit, bar: -1, on: on, write: write, off: uint64(s.Base), bytes: whole.Span(), surface: s}
		if named {
			a.bar = int(bar)
		}
		dst = append(dst, a)
	}
	tile("source 1", h.Bases.RBE0(), h.Bases.RBase0(), g.Source1On(), false, g.Source1(), g.TileDMASrc.Src1Fmt)
	tile("source 2", h.Bases.RBE1(), h.Bases.RBase1(), g.Source2On(), false, g.Source2(), g.TileDMASrc.Src2Fmt)
	tile("destination", h.Bases.WBE(), h.Bases.WBase(), g.DestinationOn(), true, g.Destination(), g.TileDMADst.DstFmt)
	k := &g.KernelDMASrc
	for i, c := range k.CoeffDMAConfig {
		if n := k.CoeffBfrSize[i].Bytes(); c.En() && n > 0 {
			a := access{lane: i, bar: -1, on: true, kernel: true,
				off: uint64(k.CoeffBaseAddr[i].Bytes()), bytes: uint64(n)}
			if h.KernelBases.KBE0() {
				a.bar = int(h.KernelBases.KBase0())
			}
			dst = append(dst, a)
		}
	}
	return dst
}
