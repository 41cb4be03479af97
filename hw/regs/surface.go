package regs

import "fmt"

// A Shape holds the extents of a tensor in elements: groups (or batch elements), channels per
// group, depth, height and width. A depth of 0 counts as 1.
type Shape struct {
	Groups, Channels, Height, Width int
	Depth                           int
}

// Planes returns the depth of the tensor, which is at least 1.
func (s Shape) Planes() int { return max(1, s.Depth) }

// Elements returns the number of elements of the tensor.
func (s Shape) Elements() int { return s.Groups * s.Channels * s.Height * s.Width * s.Planes() }

// A Surface describes a tensor in device memory with the values of the tile-DMA registers. Element
// (g, d, c, y, x) is at Base + g*Group + d*DepthStride + c*Plane + y*Row + 2x. In a transposed
// surface c and x are swapped: ... + x*Plane + y*Row + 2c (seen in the results of matvec and matmul
// programs). Strides are in bytes and may be negative.
type Surface struct {
	Shape
	Base        uint32 // offset in its buffer
	Row, Plane  int64
	DepthStride int64
	Group       int64
	Transposed  bool
	// If Interleave is above one, that many channels are interleaved at each x:
	// (c/Interleave)*Plane + (x*Interleave + c%Interleave)*2 (from bytes: the runtime matmul writes
	// its kernel operand four channels wide). If the surface is transposed too, these are the channels of the
	// result after the exchange: (x/Interleave)*Plane + (c*Interleave + x%Interleave)*2 (inferred: one program,
	// of which only the number of tasks and the scratch memory are known, has room for both in one task).
	Interleave int
	Element    int // bytes per element, 0 for fp16
}

const fp16Bytes = 2

// elementBytesOrFP16 returns n, the size of an element in bytes, or the size of fp16 if n is 0.
func elementBytesOrFP16(n int) int {
	if n == 0 {
		return fp16Bytes
	}
	return n
}

func (s *Surface) elementBytes() int { return elementBytesOrFP16(s.Element) }

// Extent returns the offsets of the surface's first byte and of the byte after its last, relative
// to its base. The offset low is negative if a stride is negative. Both offsets are 0 if the
// surface has no elements.
func (s *Surface) Extent() (low, high int64) {
	if s.Elements() <= 0 {
		return 0, 0
	}
	outer, inner := s.Channels, s.Width
	if s.Transposed {
		outer, inner = inner, outer
	}
	if s.Interleave > 1 {
		outer, inner = (outer+s.Interleave-1)/s.Interleave, inner*s.Interleave
	}
	high = int64(inner) * int64(s.elementBytes())
	for _, axis := range [...]struct {
		n      int
		stride int64
	}{{s.Groups, s.Group}, {s.Planes(), s.DepthStride}, {outer, s.Plane}, {s.Height, s.Row}} {
		if reach := int64(axis.n-1) * axis.stride; reach < 0 {
			low += reach
		} else {
			high += reach
		}
	}
	return low, high
}

// Span returns the number of bytes from the first byte of the surface to the end of its last
// element.
func (s *Surface) Span() uint64 {
	low, high := s.Extent()
	return uint64(high - low)
}

// DestinationOn reports whether the task writes its result to device memory.
func (g *Groups) DestinationOn() bool { return g.TileDMADst.DstDMAConfig.En() }

// KernelOn reports whether the task reads weights from device memory.
func (g *Groups) KernelOn() bool {
	for _, c := range g.KernelDMASrc.CoeffDMAConfig {
		if c.En() {
			return true
		}
	}
	return false
}

// GroupCount returns the number of groups or batch elements of the task, which is at least 1.
func (g *Groups) GroupCount() int { return max(1, int(g.Common.GroupConvCfg.NumGroups())) }

// InShape returns the shape of the task's source. Axes that the task repeats have their full extent.
func (g *Groups) InShape() Shape {
	c := &g.Common
	return Shape{g.GroupCount(), int(c.Cin.Cin()), int(c.InDim.Hin()), int(c.InDim.Win()), int(c.InDepth.Din())}
}

// OutShape returns the shape of the result. A planar reduction writes one element per channel
// although OutDim repeats the input's dimensions (seen in the reduce_mean and layer_norm programs).
// A multiply-accumulate writes Ox pixels per step (inferred: the 1x9 convolution of 375 pixels has
// 188 steps at stride 2 and result rows of 376). Channel and x are not swapped, even if
// [Groups.ResultTransposed] is true.
func (g *Groups) OutShape() Shape {
	c := &g.Common
	s := Shape{g.GroupCount(), int(c.Cout.Cout()), int(c.OutDim.Hout()), int(c.OutDim.Wout()), int(c.OutDepth.Dout())}
	switch {
	case g.Planar():
		if c.Cfg.PlanarForm().Reduces() {
			s.Height, s.Width, s.Depth = 1, 1, 1
		}
	case g.NE.MACCfg.OpMode() == MultiplyAccumulate:
		s.Width *= max(1, int(c.ConvCfg.Ox()))
	}
	return s
}

// ResultTransposed reports whether the task stores its result with channel and x swapped.
func (g *Groups) ResultTransposed() bool {
	if g.Planar() {
		return g.Common.PlanarOperands.ResultTranspose()
	}
	return g.Common.Cfg.Transpose()
}

// BARs holds the buffer-access registers: the device addresses of up to 32 buffers, which
// descriptors refer to by index. The address 0 means that there is no such buffer.
type BARs [32]uint64

// Indices in [BARs] that have the same meaning in every program: the descriptors, the weights and
// the scratch memory.
const (
	BARText    = 0
	BARWeights = 1
	BARScratch = 3
)

// AddressBits is the number of bits of a device address.
const AddressBits = 42

// Bases holds the device address at which each DMA of a task starts, or 0 for a DMA that is off.
// The weights of a lane start at Kernel + CoeffBaseAddr.
type Bases struct {
	Source1, Source2, Destination, Kernel uint64
}

// A BaseError reports a DMA that is on but has no valid device address.
type BaseError struct {
	Unit string // source 1, source 2, destination, kernel
	BAR  int    // -1 if the header names no buffer
	What string
}

func (e *BaseError) Error() string {
	if e.BAR < 0 {
		return e.Unit + " DMA is enabled, but " + e.What
	}
	return fmt.Sprintf("%s DMA is enabled, but buffer %d %s", e.Unit, e.BAR, e.What)
}

// Resolve returns the device addresses of a task's DMAs: for each, the address in bars of the
// buffer that the header h names plus the offset in the registers g. It returns a *[BaseError] if a
// DMA that is on has no buffer or if its address is too large.
func Resolve(h *Header, g *Groups, bars *BARs) (Bases, error) {
	var addr [4]uint64
	for i, u := range [len(addr)]struct {
		unit  string
		on    bool
		named bool
		bar   uint32
		off   uint32
	}{
		{"source 1", g.Source1On(), h.Bases.RBE0(), h.Bases.RBase0(), g.TileDMASrc.Src1Base.Bytes()},
		{"source 2", g.Source2On(), h.Bases.RBE1(), h.Bases.RBase1(), g.TileDMASrc.Src2Base.Bytes()},
		{"destination", g.DestinationOn(), h.Bases.WBE(), h.Bases.WBase(), g.TileDMADst.DstBase.Bytes()},
		{"kernel", g.KernelOn(), h.KernelBases.KBE0(), h.KernelBases.KBase0(), 0},
	} {
		if !u.on {
			continue
		}
		if !u.named {
			return Bases{}, &BaseError{u.unit, -1, "the header names no buffer"}
		}
		if bars[u.bar] == 0 {
			return Bases{}, &BaseError{u.unit, int(u.bar), "is not in the program"}
		}
		addr[i] = bars[u.bar] + uint64(u.off)
		if addr[i]>>AddressBits != 0 {
			return Bases{}, &BaseError{u.unit, int(u.bar), fmt.Sprintf("resolves to address %#x, which exceeds %d bits", addr[i], AddressBits)}
		}
	}
	return Bases{Source1: addr[0], Source2: addr[1], Destination: addr[2], Kernel: addr[3]}, nil
}
