package loader

import (
	"fmt"
	"strings"

	"anesim/hw/regs"
	"anesim/loader/describe"
)

// Captured registers show the tile DMA's addresses, its strides and the extents of the
// input. They do not show the computation. The documents place 41 of the 198 words of the
// version 10 image. The operation, the kernel size, the extents of the output and the
// buffers in L2 are not among them. Therefore the package resolves the transfers as it does
// for other programs, and refuses to link.

// A Transfer describes a tensor that a task reads or writes, as found in captured registers, and
// its place in device memory.
type Transfer struct {
	Role    regs.Role
	Address uint64
	Surface regs.Surface // its extents are zero if they were not captured
	// Low is the device address of the tensor's first byte, and High the address after its
	// last. They are equal if the size of the tensor is unknown.
	Low, High uint64
}

// Transfers returns the tensors whose addresses are in the captured registers of p: the sources and
// the result, but not the weights. It returns nil if p does not hold captured registers. It returns
// a *[FormatError] if an address is invalid or a tensor extends past the device address space. The
// Off field of the error is the address of the register.
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
			continue // a weight stream, whose size was not captured
		}
		t := Transfer{Role: role, Address: a.Address, Low: a.Address, High: a.Address}
		s := &t.Surface
		s.Row, s.Plane = capturedStride(p.Registers, prefix+"RowStride"), capturedStride(p.Registers, prefix+"PlaneStride")
		s.DepthStride, s.Group = capturedStride(p.Registers, prefix+"DepthStride"), capturedStride(p.Registers, prefix+"GroupStride")
		// A capture has the input's extents; those of the result would have to be computed from the
		// operation.
		if role != regs.Destination {
			s.Shape = capturedInputShape(p.Registers)
		}
		if low, high := s.Extent(); s.Elements() > 0 {
			t.Low, t.High = a.Address+uint64(low), a.Address+uint64(high)
			if int64(a.Address)+low < 0 || t.High > 1<<regs.AddressBits {
				return nil, newFormatError(uint64(a.Register), a.Address, "address of the %v tensor puts its bytes %d to %d outside the %d-bit device address space", role, low, high, regs.AddressBits)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// capturedInputShape returns the shape of the input, or the zero Shape unless its extents
// and channels were captured.
func capturedInputShape(v *regs.V10) regs.Shape {
	dims, ok := capturedValue(v, "Common.InDim")
	channels, ok2 := capturedValue(v, "Common.Cin")
	if !ok || !ok2 {
		return regs.Shape{}
	}
	groups, _ := capturedValue(v, "Common.Groups")
	return regs.Shape{
		Groups: max(1, int(groups&0x1fff)), Channels: int(channels & 0x1ffff),
		Width: int(dims & 0x7fff), Height: int(dims >> 16 & 0x7fff),
	}
}

// capturedStride returns a stride in bytes, from a signed field of 26 bits at bit 6. It
// returns 0 if the register was not captured.
func capturedStride(v *regs.V10, name string) int64 {
	w, _ := capturedValue(v, name)
	return regs.FromRaw[regs.DMAWord](w).Stride()
}

func capturedValue(v *regs.V10, name string) (uint32, bool) {
	addr, ok := regs.V10Address(name)
	if !ok {
		return 0, false
	}
	return v.Load(addr)
}

// String describes the transfer in words, such as "source 1 reads 64 channels of 8x8 at
// 0x30000000", with its range of addresses and its strides.
func (t Transfer) String() string {
	var b strings.Builder
	verb := "reads"
	if t.Role == regs.Destination {
		verb = "writes"
	}
	fmt.Fprintf(&b, "%v %s", t.Role, verb)
	if t.Surface.Elements() > 0 {
		fmt.Fprintf(&b, " %s at %#x, bytes %#x to %#x", describe.Shape(t.Surface.Shape), t.Address, t.Low, t.High)
	} else {
		fmt.Fprintf(&b, " a tensor of unknown extents at %#x", t.Address)
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

// describeUnknownFields returns descriptions of the register fields that a run needs but whose
// registers are not known in the version 10 layout.
func describeUnknownFields() []string {
	var gaps []string
	for _, n := range [...]struct{ what, field string }{
		{"the output's dimensions", "Wout"},
		{"the window", "Kw"},
		{"the operation of the MAC engines", "OpMode"},
		{"the operation of the planar engine", "PlanarForm"},
		{"the activation", "NonlinearMode"},
		{"the sizes of the weight streams", "CoeffBfrSize"},
		{"the tiles in L2", "ResultBase"},
	} {
		if !regs.V10Names(n.field) {
			gaps = append(gaps, n.what)
		}
	}
	return gaps
}
