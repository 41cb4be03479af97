package regs

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A Window is a range of consecutive registers.
type Window struct {
	Group string // G0 to G6
	Block string
	Base  uint32
	Words int
}

// Contains reports whether the byte address addr is inside the window.
func (w Window) Contains(addr uint32) bool {
	return addr >= w.Base && addr < w.Base+4*uint32(w.Words)
}

// Numbers of words of the version 7 groups, 140 in total. The records of all real programs stay
// inside these windows.
const (
	wordsG0, wordsG1, wordsG2, wordsG3, wordsG4, wordsG5, wordsG6 = 62, 16, 28, 18, 4, 5, 7

	atG0 = 0
	atG1 = atG0 + wordsG0
	atG2 = atG1 + wordsG1
	atG3 = atG2 + wordsG2
	atG4 = atG3 + wordsG3
	atG5 = atG4 + wordsG4
	atG6 = atG5 + wordsG5
	atV7 = atG6 + wordsG6
)

// WordsV7 is the number of registers in all windows of version 7.
const WordsV7 = atV7

// V7Windows returns the windows that contain the M1's task registers, one per register group, in
// the order in which descriptors write them.
func V7Windows() [7]Window {
	return [7]Window{
		{"G0", "KernelDMASrc", 0x1F800, wordsG0},
		{"G1", "Common", 0x00000, wordsG1},
		{"G2", "TileDMASrc", 0x13800, wordsG2},
		{"G3", "L2", 0x04800, wordsG3},
		{"G4", "PE", 0x08800, wordsG4},
		{"G5", "NE", 0x0C800, wordsG5},
		{"G6", "TileDMADst", 0x17800, wordsG6},
	}
}

// findGroupWindow returns the version 7 window of the group with the given name, such as "G1", or
// the zero Window if there is none.
func findGroupWindow(group string) Window {
	for _, w := range V7Windows() {
		if w.Group == group {
			return w
		}
	}
	return Window{}
}

// An AddressError reports an access to an address that is not in any register window.
type AddressError struct {
	Addr uint32
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("register address %#x lies outside all register windows", e.Addr)
}

// A File holds the values of the engine's task registers. A register keeps its value from one
// descriptor to the next until it is written again. The zero File is the state after a reset.
type File struct {
	words   [atV7]uint32
	written [(atV7 + 63) / 64]uint64
}

// findRegisterIndex returns the index at of the register at address addr in File.words, and the
// number of words room from there to the end of its window. The room is 0 if addr is outside all
// windows or misaligned.
func findRegisterIndex(addr uint32) (at, room int) {
	if addr&3 != 0 {
		return 0, 0
	}
	var base uint32
	var start, n int
	switch {
	case addr < 4*wordsG1:
		base, start, n = 0, atG1, wordsG1
	case addr >= 0x1F800:
		base, start, n = 0x1F800, atG0, wordsG0
	case addr >= 0x17800:
		base, start, n = 0x17800, atG6, wordsG6
	case addr >= 0x13800:
		base, start, n = 0x13800, atG2, wordsG2
	case addr >= 0x0C800:
		base, start, n = 0x0C800, atG5, wordsG5
	case addr >= 0x08800:
		base, start, n = 0x08800, atG4, wordsG4
	case addr >= 0x04800:
		base, start, n = 0x04800, atG3, wordsG3
	}
	i := int(addr-base) / 4
	if i >= n {
		return 0, 0
	}
	return start + i, n - i
}

// Load returns the register at the byte address addr. It returns false if addr is not in any
// window.
func (f *File) Load(addr uint32) (v uint32, ok bool) {
	at, room := findRegisterIndex(addr)
	if room == 0 {
		return 0, false
	}
	return f.words[at], true
}

// Written reports whether the register at addr has been written since the reset.
func (f *File) Written(addr uint32) bool {
	at, room := findRegisterIndex(addr)
	return room > 0 && f.written[at/64]>>(at%64)&1 != 0
}

// CountWritten returns the number of registers that have been written since the reset.
func (f *File) CountWritten() int {
	n := 0
	for _, w := range f.written {
		n += bits.OnesCount64(w)
	}
	return n
}

// Store writes values to consecutive registers, starting at the byte address addr. If they do not
// all fit in one window, Store writes nothing and returns an *[AddressError].
func (f *File) Store(addr uint32, values ...uint32) error {
	at, room := findRegisterIndex(addr)
	if room < len(values) || room == 0 {
		return &AddressError{addr + 4*uint32(room)}
	}
	copy(f.words[at:], values)
	f.markWritten(at, len(values))
	return nil
}

// storeBytes writes the little-endian words in b to consecutive registers, starting at the byte
// address addr. The caller must have checked that they stay inside the window.
func (f *File) storeBytes(addr uint32, b []byte) {
	at, _ := findRegisterIndex(addr)
	words := f.words[at:][:len(b)/4]
	f.markWritten(at, len(words))
	// Every word of a walk passes through here. Storing two words per step makes a walk a fifth
	// faster.
	for len(words) >= 2 && len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		words[0], words[1] = uint32(w), uint32(w>>32)
		words, b = words[2:], b[8:]
	}
	if len(words) > 0 {
		words[0] = binary.LittleEndian.Uint32(b)
	}
}

// markWritten records that the n words from index at on were written.
func (f *File) markWritten(at, n int) {
	for end := at + n; at < end; {
		n := min(64-at%64, end-at)
		f.written[at/64] |= ^uint64(0) >> (64 - n) << (at % 64)
		at += n
	}
}

// MaskedWrite sets those bits of the register at addr that are set in mask to the bits of value. It
// returns an *[AddressError] if addr is not in any window.
func (f *File) MaskedWrite(addr, mask, value uint32) error {
	old, ok := f.Load(addr)
	if !ok {
		return &AddressError{addr}
	}
	return f.Store(addr, Masked(old, mask, value))
}

// Masked returns old with the bits that are set in mask replaced by the bits of value.
func Masked(old, mask, value uint32) uint32 { return old&^mask | value&mask }

// Groups holds a copy of all task registers, by register group, and the meanings of a task with these
// registers does.
type Groups struct {
	KernelDMASrc KernelDMASrc
	Common       Common
	TileDMASrc   TileDMASrc
	L2           L2
	PE           PE
	NE           NE
	TileDMADst   TileDMADst

	Meanings
}

// Snapshot copies the values of all registers to g, and reads their meanings.
func (f *File) Snapshot(g *Groups) {
	g.KernelDMASrc.loadWords((*[wordsG0]uint32)(f.words[atG0:]))
	g.Common.loadWords((*[wordsG1]uint32)(f.words[atG1:]))
	g.TileDMASrc.loadWords((*[wordsG2]uint32)(f.words[atG2:]))
	g.L2.loadWords((*[wordsG3]uint32)(f.words[atG3:]))
	g.PE.loadWords((*[wordsG4]uint32)(f.words[atG4:]))
	g.NE.loadWords((*[wordsG5]uint32)(f.words[atG5:]))
	g.TileDMADst.loadWords((*[wordsG6]uint32)(f.words[atG6:]))
	g.ReadMeanings()
}

// Words returns the values of all registers in g, in address order.
func (g *KernelDMASrc) Words() (w [wordsG0]uint32) { g.storeWords(&w); return w }

// Words returns the values of all registers in g, in address order.
func (g *Common) Words() (w [wordsG1]uint32) { g.storeWords(&w); return w }

// Words returns the values of all registers in g, in address order.
func (g *TileDMASrc) Words() (w [wordsG2]uint32) { g.storeWords(&w); return w }

// Words returns the values of all registers in g, in address order.
func (g *L2) Words() (w [wordsG3]uint32) { g.storeWords(&w); return w }

// Words returns the values of all registers in g, in address order.
func (g *PE) Words() (w [wordsG4]uint32) { g.storeWords(&w); return w }

// Words returns the values of all registers in g, in address order.
func (g *NE) Words() (w [wordsG5]uint32) { g.storeWords(&w); return w }

// Words returns the values of all registers in g, in address order.
func (g *TileDMADst) Words() (w [wordsG6]uint32) { g.storeWords(&w); return w }
