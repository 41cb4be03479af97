package loader

import (
	"fmt"
	"strings"

	"anesim/hw/regs"
)

// Captured registers tell what the tile DMA reads: an address, strides, and the extents of
// the input. They do not tell what is computed. The version 10 image has 198 words, of
// which the documents place 41; the operation, the window, the extents of the output and
// the tiles in the L2 are in none of those. So the transfers are resolved as those of a
// program are, and the rest is refused by name.

// A Transfer is a tensor that captured registers place in device memory.
type Transfer struct {
	Role    regs.Role
	Address uint64
	Surface regs.Surface // its extents are zero where the image does not place them
	// Low and High are the device addresses of the first byte and behind the last; equal
	// where the extents are not known.
	Low, High uint64
}

// Transfers resolves the tensors of captured registers, those whose address was captured.
// An address that does not join, or a tensor that leaves the device space, is a
// *FormatError: Off is the register's address.
func (p *Program) Transfers() ([]Transfer, error) {
	addresses, err := p.Addresses()
	if err != nil {
		return nil, err
	}
	var out []Transfer
	for _, a := range addresses {
		role, prefix := regs.FirstSource, "TileDMASrc.Src1"
		switch a.Slot {
		case regs.FirstSource.String():
		case regs.SecondSource.String():
			role, prefix = regs.SecondSource, "TileDMASrc.Src2"
		case regs.Destination.String():
			role, prefix = regs.Destination, "TileDMADst.Dst"
		default:
			continue // a stream of coefficients has a size that is not captured
		}
		t := Transfer{Role: role, Address: a.Address, Low: a.Address, High: a.Address}
		s := &t.Surface
		s.Row, s.Plane = p.captureStride(prefix+"RowStride"), p.captureStride(prefix+"PlaneStride")
		s.DepthStride, s.Group = p.captureStride(prefix+"DepthStride"), p.captureStride(prefix+"GroupStride")
		if role != regs.Destination {
			s.Shape = p.captureInput()
		}
		if low, high := s.Extent(); s.Elements() > 0 {
			t.Low, t.High = a.Address+uint64(low), a.Address+uint64(high)
			if int64(a.Address)+low < 0 || t.High > 1<<regs.AddressBits {
				return nil, fail(uint64(a.Register), a.Address, "tensor of %v, bytes %d to %d, leaves the %d-bit device space at", role, low, high, regs.AddressBits)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// captureInput is the input's shape, empty unless its extents were captured.
func (p *Program) captureInput() regs.Shape {
	dims, ok := p.captured("Common.InDim")
	channels, ok2 := p.captured("Common.Cin")
	if !ok || !ok2 {
		return regs.Shape{}
	}
	groups, _ := p.captured("Common.Groups")
	return regs.Shape{
		Groups: max(1, int(groups&0x1fff)), Channels: int(channels & 0x1ffff),
		Width: int(dims & 0x7fff), Height: int(dims >> 16 & 0x7fff),
	}
}

// captureStride is a stride in bytes, a signed field of 26 bits at bit 6; 0 where it was
// not captured.
func (p *Program) captureStride(name string) int64 {
	w, _ := p.captured(name)
	return regs.DMAWord(w).Stride()
}

func (p *Program) captured(name string) (uint32, bool) {
	addr, ok := regs.V10Address(name)
	if !ok {
		return 0, false
	}
	return p.Registers.Load(addr)
}

// String says what moves.
func (t Transfer) String() string {
	var b strings.Builder
	verb := "reads"
	if t.Role == regs.Destination {
		verb = "writes"
	}
	fmt.Fprintf(&b, "%v %s", t.Role, verb)
	if t.Surface.Elements() > 0 {
		fmt.Fprintf(&b, " %s at %#x, bytes %#x to %#x", extents(t.Surface.Shape), t.Address, t.Low, t.High)
	} else {
		fmt.Fprintf(&b, " at %#x, a tensor whose extents the image does not place", t.Address)
	}
	for _, n := range [...]struct {
		axis   string
		stride int64
	}{{"rows", t.Surface.Row}, {"planes", t.Surface.Plane}, {"depths", t.Surface.DepthStride}, {"groups", t.Surface.Group}} {
		if n.stride != 0 {
			fmt.Fprintf(&b, ", %s %#x apart", n.axis, n.stride)
		}
	}
	return b.String()
}

// capturedGaps are what a run needs and the version 10 image does not place: the fields
// of the version 7 registers, by what they are for.
func capturedGaps() []string {
	var gaps []string
	for _, n := range [...]struct{ what, field string }{
		{"the output's extents", "Wout"},
		{"the window", "Kw"},
		{"the operation of the MAC engines", "OpMode"},
		{"that of the planar engine", "PlanarForm"},
		{"the activation", "NonlinearMode"},
		{"the sizes of the coefficient streams", "CoeffBfrSize"},
		{"the tiles in the L2", "ResultBase"},
	} {
		if !regs.V10Names(n.field) {
			gaps = append(gaps, n.what)
		}
	}
	return gaps
}
