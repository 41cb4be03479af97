package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// A CapturedAddress is a device address of captured registers: a low word at a register
// that the loader fills in, and a high word behind it.
//
// The four weight streams are laid out alike, as the documents' relocation words and the
// named enables and offsets show (inferred): enable, offset, low word, high word.
type CapturedAddress struct {
	Slot     string
	Register uint32 // byte address of the low word
	Address  uint64 // hi<<32 | lo
	// Of a weight stream, whose enable and offset stand ahead of the address.
	Stream  bool
	Enabled bool
	Offset  uint32
}

const (
	capturedHighBits = regs.AddressBits - 32 // of the high word
	capturedStream   = 0x5500                // where the weight streams' registers begin
)

// Addresses joins the address words of captured registers. A high word of more than 10
// bits or a low word that is no multiple of 64 is a *FormatError: Off is the register's
// address.
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
			return nil, fail(uint64(at), lo, "low word of the address of %s is no multiple of %d", r.Name, TileSize)
		}
		a := CapturedAddress{Slot: r.Name, Register: at, Address: uint64(hi)<<32 | uint64(lo)}
		if at >= capturedStream {
			a.Stream, a.Enabled, a.Offset = true, values[at-8]&1 != 0, values[at-4]
		}
		out = append(out, a)
	}
	return out, nil
}

// String spells the address.
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
