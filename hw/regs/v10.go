package regs

import (
	"fmt"
	"strings"
)

// A V10 holds captured task registers of a later chip, whose layout the documents call version 10.
// It has the same seven register groups as the M1, at other addresses. Names are known only for the
// dimensions, the addresses and strides of tensors, and the weight streams; other registers are
// stored by address.
type V10 struct {
	words   [v10Words]uint32
	written [v10Words]bool
}

const v10Words = 34 + 19 + 69 + 30 + 14 + 11 + 21

// A V10Window is the address range of a register group in the version 10 layout, with its position
// in the descriptor image.
type V10Window struct {
	Window
	Image int // byte offset of the group in the descriptor image
	at    int
}

// V10Windows returns the address ranges of the seven register groups, in the order of the image.
func V10Windows() [7]V10Window {
	w := [7]V10Window{
		{Window{"G0", "KernelDMASrc", 0x5500, 34}, 0x24, 0},
		{Window{"G1", "Common", 0x0000, 19}, 0xf4, 0},
		{Window{"G2", "TileDMASrc", 0x4d00, 69}, 0x148, 0},
		{Window{"G3", "L2", 0x4100, 30}, 0x264, 0},
		{Window{"G4", "PE", 0x4500, 14}, 0x2e4, 0},
		{Window{"G5", "NE", 0x4900, 11}, 0x324, 0},
		{Window{"G6", "TileDMADst", 0x5100, 21}, 0x358, 0},
	}
	for i := 1; i < len(w); i++ {
		w[i].at = w[i-1].at + w[i-1].Words
	}
	return w
}

// A V10Relocation is a register of the version 10 layout that holds a device address, which the
// loader fills in. Word is its byte address divided by 4.
type V10Relocation struct {
	Word uint32
	Name string
}

// V10Relocations returns the registers that hold device addresses in the version 10 layout.
func V10Relocations() [7]V10Relocation {
	return [7]V10Relocation{
		{0x1344, "source 1"}, {0x134a, "source 2"}, {0x1442, "destination"},
		{0x1554, "bias"}, {0x1558, "post-scale"}, {0x155c, "palette"}, {0x1560, "activation table"},
	}
}

// findV10Register returns the window with the register at the byte address addr and the register's
// index in V10.words. It returns false if no window contains addr.
func findV10Register(addr uint32) (V10Window, int, bool) {
	for _, w := range V10Windows() {
		if addr&3 == 0 && w.Contains(addr) {
			return w, w.at + int(addr-w.Base)/4, true
		}
	}
	return V10Window{}, 0, false
}

// Store writes the register at the byte address addr. It returns an *[AddressError] if addr is not
// in any window.
func (v *V10) Store(addr, value uint32) error {
	_, at, ok := findV10Register(addr)
	if !ok {
		return &AddressError{addr}
	}
	v.words[at], v.written[at] = value, true
	return nil
}

// Load returns the register at the byte address addr. It returns false if the register was not
// written.
func (v *V10) Load(addr uint32) (value uint32, ok bool) {
	_, at, in := findV10Register(addr)
	if !in || !v.written[at] {
		return 0, false
	}
	return v.words[at], true
}

// V10Address returns the byte address of the register with the given name, such as Common.InDim or,
// for a register without a known name, TileDMASrc.Word04. It ignores case. It returns false if
// there is none.
func V10Address(name string) (addr uint32, ok bool) {
	block, register, _ := strings.Cut(name, ".")
	for _, w := range V10Windows() {
		if !strings.EqualFold(w.Block, block) {
			continue
		}
		for r := range registersOfKind('K') {
			if r.Group[1:] == w.Group[1:] && strings.EqualFold(r.Name, register) {
				return w.Base + 4*uint32(r.Word), true
			}
		}
		for i := range w.Words {
			if strings.EqualFold(wordName(i), register) {
				return w.Base + 4*uint32(i), w.newWord(i).Reg.Name == ""
			}
		}
	}
	return 0, false
}

// wordName returns a name such as "Word04" for word i of a group, for use if the word has no known
// name.
func wordName(i int) string { return fmt.Sprintf("Word%02d", i) }

// newWord returns word i of the window, with Value unset.
func (w V10Window) newWord(i int) V10Word {
	word := V10Word{Window: w, Addr: w.Base + 4*uint32(i), Image: w.Image + 4*i}
	for r := range registersOfKind('K') {
		if r.Group[1:] == w.Group[1:] && r.Word == i {
			word.Reg = r
		}
	}
	return word
}

// A V10Word records a write to a register of version 10: its address and the value written.
type V10Word struct {
	Window V10Window
	Addr   uint32 // byte address
	Image  int    // byte offset in the descriptor image
	Value  uint32
	Reg    Register // empty if the meaning is unknown
}

// Name returns the name of the register, or its block and index if it has none.
func (w V10Word) Name() string {
	if w.Reg.Name != "" {
		return w.Window.Block + "." + w.Reg.Name
	}
	return w.Window.Block + "." + wordName(int(w.Addr-w.Window.Base)/4)
}

// Words returns the registers that were written, in the order of the image.
func (v *V10) Words() []V10Word {
	var out []V10Word
	for _, w := range V10Windows() {
		for i := range w.Words {
			if !v.written[w.at+i] {
				continue
			}
			word := w.newWord(i)
			word.Value = v.words[w.at+i]
			out = append(out, word)
		}
	}
	return out
}

// V10Names reports whether any register or field of the version 10 layout has the given name.
func V10Names(field string) bool {
	for r := range registersOfKind('K') {
		if _, ok := r.Field(field); ok || r.Name == field {
			return true
		}
	}
	return false
}
