package regs

import (
	"iter"
	"strings"
)

// A Field is a named range of bits of a register, as defined in fields.txt.
type Field struct {
	Name       string
	Low, Width int
	Type       string
	Evidence   string
	Note       string
}

// Of extracts the field from a register word.
func (f Field) Of(w uint32) uint32 { return field(w, f.Low, f.Width) }

// Fits reports whether v fits in the field.
func (f Field) Fits(v uint64) bool { return v>>f.Width == 0 }

// With returns w with the field set to v. It panics if v does not fit.
func (f Field) With(w, v uint32) uint32 { return withField(w, f.Low, f.Width, v) }

// Unit returns log2 of the number of bytes that the field counts in, 0 if it does not count bytes.
func (f Field) Unit() int {
	switch f.Type {
	case "bytes64":
		return 6
	case "bytes16":
		return 4
	}
	return 0
}

// A Register is one word of a group.
type Register struct {
	Group  string // G0 to G6, H for the header, K0 and K1 for the version 10 image
	Block  string // KernelDMASrc, Common, ...
	Name   string // with its index if it belongs to an array
	Word   int    // index in the group
	Fields []Field
}

// Addr returns the register's byte address in the version 7 space.
func (r Register) Addr() uint32 { return groupWindow(r.Group).Base + 4*uint32(r.Word) }

// Unknown returns the bits of w that no field of the register covers.
func (r Register) Unknown(w uint32) uint32 {
	for _, f := range r.Fields {
		w &^= (1<<f.Width - 1) << f.Low
	}
	return w
}

// Sole reports whether the register holds a single quantity that is known by the register's name.
func (r Register) Sole() bool {
	return len(r.Fields) == 1 && (r.Fields[0].Unit() > 0 || r.Fields[0].Name == "Value" || r.Fields[0].Name == r.Name)
}

// Field returns the field with the given name, ignoring case.
func (r Register) Field(name string) (Field, bool) {
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Field{}, false
}

// Registers yields the version 7 registers of G0 to G6, in the order of groups and words.
func Registers() iter.Seq[Register] { return registersOf('G') }

// HeaderRegisters yields the ten header words.
func HeaderRegisters() iter.Seq[Register] { return registersOf('H') }

// registersOf yields the registers of groups whose name starts with kind.
func registersOf(kind byte) iter.Seq[Register] {
	return func(yield func(Register) bool) {
		for _, r := range registerTable {
			if r.Group[0] == kind && !yield(r) {
				return
			}
		}
	}
}

// RegisterAt returns the version 7 register at a byte address. ok is false outside the windows.
func RegisterAt(addr uint32) (r Register, ok bool) {
	at, room := slot(addr)
	if room == 0 {
		return Register{}, false
	}
	return registerTable[at], true
}

// Lookup returns the register with the given group or block name and register name, ignoring case.
func Lookup(block, register string) (Register, bool) {
	for r := range Registers() {
		if (strings.EqualFold(r.Block, block) || strings.EqualFold(r.Group, block)) && strings.EqualFold(r.Name, register) {
			return r, true
		}
	}
	return Register{}, false
}
