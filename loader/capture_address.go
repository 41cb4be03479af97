package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// A CapturedAddress is a device address from captured registers. The loader fills in its
// low word, and the register after that holds its high word.
//
// The four weight streams have the same layout: enable, offset, low word, high word. This
// is inferred from the documents' relocation words and the named enables and offsets.
type CapturedAddress struct {
	Slot     string
	Register uint32 // byte address of the low word
	Address  uint64 // hi<<32 | lo
	// For a weight stream, whose enable and offset precede the address.
	Stream  bool
	Enabled bool
	Offset  uint32
}

const (
	capturedHighBits = regs.AddressBits - 32 // bits in the high word
	capturedStream   = 0x5500                // first register of the weight streams
)

// Addresses returns the device addresses in captured registers, or nil for a program of
// another form. It returns a *FormatError if a high word has more than 10 bits or a low
// word is not a multiple of 64. The error's Off is then the register's address.
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
			return nil, fail(uint64(at+4), hi, "high word of the address of %s exceeds %d bits", r.Name, capturedHighBits)
		}
		if lo%TileSize != 0 {
			return nil, fail(uint64(at), lo, "low word of the address of %s is not a multiple of %d", r.Name, TileSize)
		}
		a := CapturedAddress{Slot: r.Name, Register: at, Address: uint64(hi)<<32 | uint64(lo)}
		if at >= capturedStream {
			a.Stream, a.Enabled, a.Offset = true, values[at-8]&1 != 0, values[at-4]
		}
		out = append(out, a)
	}
	return out, nil
}

// String returns the slot and its address, such as "slot at 0x30000000". For a weight
// stream it adds the offset and "on" or "off".
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
