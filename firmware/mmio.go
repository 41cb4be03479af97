package firmware

import (
	"fmt"

	"anesim/hw/regs"
)

// An AlignmentError reports an access to an address that is not a multiple of 4.
type AlignmentError struct {
	Addr uint64
}

func (e *AlignmentError) Error() string {
	return fmt.Sprintf("MMIO address %#x is not a multiple of 4", e.Addr)
}

// MMIO is the register space outside the task registers: 32-bit words by 64-bit byte
// address. A word that was never written reads 0. The zero MMIO is the reset state.
type MMIO struct {
	words map[uint64]uint32
}

// Load returns the word at addr. It returns an *AlignmentError unless addr is a multiple of
// 4.
func (m *MMIO) Load(addr uint64) (uint32, error) {
	if addr&3 != 0 {
		return 0, &AlignmentError{addr}
	}
	return m.words[addr], nil
}

// MaskedWrite sets the bits of mask in the word at addr to those of value. It returns an
// *AlignmentError unless addr is a multiple of 4.
func (m *MMIO) MaskedWrite(addr uint64, mask, value uint32) error {
	if addr&3 != 0 {
		return &AlignmentError{addr}
	}
	m.write(addr, mask, value)
	return nil
}

func (m *MMIO) write(addr uint64, mask, value uint32) {
	if m.words == nil {
		m.words = make(map[uint64]uint32)
	}
	m.words[addr] = regs.Masked(m.words[addr], mask, value)
}
