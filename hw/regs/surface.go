package regs

import "fmt"

// A Shape is an extent in elements: groups (or batch), channels of one group, height, width.
type Shape struct {
	Groups, Channels, Height, Width int
}

// Elements is the number of elements of the shape.
func (s Shape) Elements() int { return s.Groups * s.Channels * s.Height * s.Width }

// A Surface is a tensor in device memory as the tile-DMA registers describe it. Element
// (g, c, y, x) stands at Base + g*Group + c*Plane + y*Row + 2x; on a transposed surface
// channel and x change places: Base + g*Group + x*Plane + y*Row + 2c (bytes: matvec and
// matmul destinations). Strides are bytes.
type Surface struct {
	Shape
	Base                     uint32 // offset in its buffer
	Row, Plane, Depth, Group uint32
	Transposed               bool
	// Interleave channels stand side by side at each x when it is above one:
	// (c/Interleave)*Plane + (x*Interleave + c%Interleave)*2 (bytes: the runtime matmul
	// writes its kernel operand four channels wide).
	Interleave int
}

// elementBytes is the size of fp16, the only element format real programs move.
const elementBytes = 2

// Span is the number of bytes from the surface's base to the end of its last element.
func (s Surface) Span() uint64 {
	if s.Elements() <= 0 {
		return 0
	}
	outer, inner := s.Channels, s.Width
	switch {
	case s.Transposed:
		outer, inner = inner, outer
	case s.Interleave > 1:
		outer, inner = (outer+s.Interleave-1)/s.Interleave, inner*s.Interleave
	}
	return uint64(s.Groups-1)*uint64(s.Group) + uint64(outer-1)*uint64(s.Plane) +
		uint64(s.Height-1)*uint64(s.Row) + uint64(inner)*elementBytes
}

// Moved is the number of bytes one pass over the surface moves, in the measure of the
// stored ExeCycles (fitted, 104 of 104 descriptors): batch times the smallest non-zero of
// depth stride, plane stride times channels and row stride times height and channels, and
// no less than its elements; the true element bytes of a transposed surface.
func (s Surface) Moved() uint64 {
	true2 := uint64(s.Elements()) * elementBytes
	if s.Transposed {
		return true2
	}
	least := uint64(0)
	for _, n := range [...]uint64{
		uint64(s.Depth),
		uint64(s.Plane) * uint64(s.Channels),
		uint64(s.Row) * uint64(s.Height) * uint64(s.Channels),
	} {
		if n != 0 && (least == 0 || n < least) {
			least = n
		}
	}
	// Strides that reach an element in fewer bytes than it has are views (a softmax over
	// rows exchanges channel and row); they still move every element.
	return max(uint64(s.Groups)*least, true2)
}

// Source1On reports whether the tile DMA reads source 1 from device memory.
func (g *Groups) Source1On() bool { return g.TileDMASrc.Src1DMAConfig.En() }

// Source2On reports whether the tile DMA reads source 2: bits 16-17 are 3 in every
// program that does, and the enable bit never is (bytes).
func (g *Groups) Source2On() bool { return g.TileDMASrc.Src2DMAConfig.DepMode() == 3 }

// DestinationOn reports whether the tile DMA writes the result to device memory.
func (g *Groups) DestinationOn() bool { return g.TileDMADst.DstDMAConfig.En() }

// KernelOn reports whether any coefficient lane is on.
func (g *Groups) KernelOn() bool {
	for _, c := range g.KernelDMASrc.CoeffDMAConfig {
		if c.En() {
			return true
		}
	}
	return false
}

// Planar reports whether the task runs on the planar engine alone: TaskInfo carries the
// network id 1 on every task of the MAC engines and 0 on planar tasks (104 of 104).
func (g *Groups) Planar() bool { return g.Common.TaskInfo.TaskNID() == 0 }

// GroupCount is the number of groups or batch elements, at least one.
func (g *Groups) GroupCount() int { return max(1, int(g.Common.GroupConvCfg.NumGroups())) }

// InShape is the shape of the source.
func (g *Groups) InShape() Shape {
	c := &g.Common
	return Shape{g.GroupCount(), int(c.Cin.Cin()), int(c.InDim.Hin()), int(c.InDim.Win())}
}

// OutShape is the shape the task writes. A planar reduction writes one element a
// channel although OutDim repeats the input's (bytes: reduce_mean, layer_norm). A
// multiply-accumulate writes Ox pixels a step (inferred: the 1x9 convolution of 375
// pixels has 188 steps at stride 2 and result rows of 376). Channel and width are those
// before ResultExchanged applies.
func (g *Groups) OutShape() Shape {
	c := &g.Common
	s := Shape{g.GroupCount(), int(c.Cout.Cout()), int(c.OutDim.Hout()), int(c.OutDim.Wout())}
	switch {
	case g.Planar():
		switch c.Cfg.PlanarForm() {
		case FormReduction, FormTwoReduced:
			s.Height, s.Width = 1, 1
		}
	case g.NE.MACCfg.OpMode() == MultiplyAccumulate:
		s.Width *= max(1, int(c.ConvCfg.Ox()))
	}
	return s
}

// Source1 is the first source's surface; it means something when Source1On.
func (g *Groups) Source1() Surface {
	t := &g.TileDMASrc
	return Surface{
		Shape: g.InShape(), Base: t.Src1Base.Bytes(),
		Row: t.Src1RowStride.Bytes(), Plane: t.Src1PlaneStride.Bytes(),
		Depth: t.Src1DepthStride.Bytes(), Group: t.Src1GroupStride.Bytes(),
	}
}

// Source2 is the second source's surface; it means something when Source2On.
func (g *Groups) Source2() Surface {
	t := &g.TileDMASrc
	return Surface{
		Shape: g.InShape(), Base: t.Src2Base.Bytes(),
		Row: t.Src2RowStride.Bytes(), Plane: t.Src2PlaneStride.Bytes(),
		Depth: t.Src2DepthStride.Bytes(), Group: t.Src2GroupStride.Bytes(),
	}
}

// ResultExchanged reports whether channel and x change places as the result is written:
// Cfg bit 28 on the MAC engines (matvec, matmul), a planar operand bit on the planar
// engine (inferred).
func (g *Groups) ResultExchanged() bool {
	if g.Planar() {
		return g.Common.PlanarOperands.ResultTranspose()
	}
	return g.Common.Cfg.Transpose()
}

// Destination is the result's surface; it means something when DestinationOn.
func (g *Groups) Destination() Surface {
	t := &g.TileDMADst
	s := Surface{
		Shape: g.OutShape(), Base: t.DstBase.Bytes(),
		Row: t.DstRowStride.Bytes(), Plane: t.DstPlaneStride.Bytes(),
		Depth: t.DstDepthStride.Bytes(), Group: t.DstGroupStride.Bytes(),
	}
	s.Transposed = g.ResultExchanged()
	s.Interleave = int(t.DstFmt.Interleave())
	return s
}

// KernelBytes is the sum of the coefficient buffers that are on.
func (g *Groups) KernelBytes() uint64 {
	n := uint64(0)
	for i, c := range g.KernelDMASrc.CoeffDMAConfig {
		if c.En() {
			n += uint64(g.KernelDMASrc.CoeffBfrSize[i].Bytes())
		}
	}
	return n
}

// BARs are the 32 buffer-access registers: the device address of each buffer a
// descriptor may name by index; 0 is a buffer that is not there.
type BARs [32]uint64

// Indices of buffer-access registers that mean the same in every program (bytes).
const (
	BARText    = 0
	BARWeights = 1
	BARScratch = 3
)

// AddressBits is the width of a device address (decompiled).
const AddressBits = 42

// Bases are the device addresses of a task's DMA, zero where a DMA is off. A lane's
// coefficients stand at Kernel + CoeffBaseAddr.
type Bases struct {
	Source1, Source2, Destination, Kernel uint64
}

// A BaseError is a DMA that is on and whose base does not resolve.
type BaseError struct {
	Unit string // source 1, source 2, destination, kernel
	BAR  int    // -1 when the header names no buffer
	What string
}

func (e *BaseError) Error() string {
	if e.BAR < 0 {
		return e.Unit + " DMA is on: " + e.What
	}
	return fmt.Sprintf("%s DMA is on: buffer %d %s", e.Unit, e.BAR, e.What)
}

// Resolve adds the buffer addresses that the header names to the base registers. An
// error is a *BaseError.
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
			return Bases{}, &BaseError{u.unit, int(u.bar), fmt.Sprintf("resolves to %#x, beyond %d bits", addr[i], AddressBits)}
		}
	}
	return Bases{Source1: addr[0], Source2: addr[1], Destination: addr[2], Kernel: addr[3]}, nil
}
