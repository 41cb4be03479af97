package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// A CapturedAddress is a device address found in captured registers, which are register values
// recorded from a task on a chip after the M1. The address occupies two registers. The first holds the
// low word.
//
// The two registers before the address of a weight stream hold an enable bit and an offset. It is
// inferred that all four streams have this layout.
type CapturedAddress struct {
	Slot     string // the access that uses the address, such as "source 1"
	Register uint32 // byte address of the register with the low word
	Address  uint64 // both words: high<<32 | low
	// Stream is set for a weight stream. The fields after it are meaningful only then.
	Stream  bool
	Enabled bool
	Offset  uint32 // added to Address
}

const (
	capturedHighBits = regs.AddressBits - 32 // bits in the high word
	capturedStream   = 0x5500                // first register of the weight streams
)

// Addresses returns the device addresses in the captured registers of p, or nil if p does not hold
// captured registers. It returns a *[FormatError] if an address has more than 42 bits or is not a
// multiple of 64. The Off field of the error is the address of the register.
func (p *Program) Addresses() ([]CapturedAddress, error) {
	if p.Registers == nil {
		return nil, nil
	}
	values := make(map[uint32]uint32)
	for _, w := range p.Registers.Words() {
		values[w.Addr] = w.Value
	}
	var out []CapturedAddress
	for _, r := range regs.V10Relocations() {
		at := 4 * r.Word
		lo, ok := values[at]
		hi, high := values[at+4]
		if !ok && !high {
			continue
		}
		if hi>>capturedHighBits != 0 {
			return nil, newFormatError(uint64(at+4), hi, "high address word of %s exceeds %d bits", r.Name, capturedHighBits)
		}
		if lo%TileSize != 0 {
			return nil, newFormatError(uint64(at), lo, "low address word of %s is not a multiple of %d", r.Name, TileSize)
		}
		a := CapturedAddress{Slot: r.Name, Register: at, Address: uint64(hi)<<32 | uint64(lo)}
		if at >= capturedStream {
			a.Stream, a.Enabled, a.Offset = true, values[at-8]&1 != 0, values[at-4]
		}
		out = append(out, a)
	}
	return out, nil
}

// String returns the slot and its address, such as "source 1 at 0x30000000". For a weight stream,
// it adds the offset and whether the stream is on or off.
func (a CapturedAddress) String() string {
	s := fmt.Sprintf("%s at %#x", a.Slot, a.Address)
	if a.Stream {
		s += fmt.Sprintf(" + %#x, ", a.Offset)
		if a.Enabled {
			return s + "on"
		}
		return s + "off"
	}
	return s
}
