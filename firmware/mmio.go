package firmware

import (
	"fmt"

	"anesim/hw/regs"
)

// An AlignmentError reports a register address that is not a multiple of 4.
type AlignmentError struct {
	Addr uint64
}

func (e *AlignmentError) Error() string {
	return fmt.Sprintf("MMIO address %#x is not a multiple of 4", e.Addr)
}

// An MMIO holds the engine's registers other than the task registers: 32-bit words at
// 64-bit byte addresses. Registers that were never written are 0. The zero MMIO is the
// state after a reset.
type MMIO struct {
	words map[uint64]uint32
}

// Load returns the register at addr. It returns an *[AlignmentError] if addr is not a
// multiple of 4.
func (m *MMIO) Load(addr uint64) (uint32, error) {
	if addr&3 != 0 {
		return 0, &AlignmentError{addr}
	}
	return m.words[addr], nil
}

// MaskedWrite copies the bits of value that are set in mask to the register at addr, and leaves its
// other bits unchanged. It returns an *[AlignmentError] if addr is not a multiple of 4.
func (m *MMIO) MaskedWrite(addr uint64, mask, value uint32) error {
	if addr&3 != 0 {
		return &AlignmentError{addr}
	}
	m.writeMasked(addr, mask, value)
	return nil
}

// writeMasked replaces the bits of the word at addr that are set in mask by those of value.
func (m *MMIO) writeMasked(addr uint64, mask, value uint32) {
	if m.words == nil {
		m.words = make(map[uint64]uint32)
	}
	m.words[addr] = regs.Masked(m.words[addr], mask, value)
}
