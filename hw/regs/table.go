package regs

import (
	"iter"
	"strings"
)

// A Field is a named run of bits of a register, as fields.txt has it.
type Field struct {
	Name       string
	Low, Width int
	Type       string
	Evidence   string
	Note       string
}

// Of extracts the field from a register word.
func (f Field) Of(w uint32) uint32 { return field(w, f.Low, f.Width) }

// Fits reports whether v fits the field.
func (f Field) Fits(v uint64) bool { return v>>f.Width == 0 }

// With returns w with the field set to v; it panics when v does not fit.
func (f Field) With(w, v uint32) uint32 { return withField(w, f.Low, f.Width, v) }

// Unit is log2 of the bytes that the field counts in, 0 where it counts something else.
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
	Name   string // with its index when it is one of an array
	Word   int    // index inside the group
	Fields []Field
}

// Addr is the register's byte address in the version 7 space.
func (r Register) Addr() uint32 { return windowOf(r.Group).Base + 4*uint32(r.Word) }

// Unknown returns the bits of w that no field of the register names.
func (r Register) Unknown(w uint32) uint32 {
	for _, f := range r.Fields {
		w &^= (1<<f.Width - 1) << f.Low
	}
	return w
}

// Sole reports whether the register is one quantity, which goes by the register's name.
func (r Register) Sole() bool {
	return len(r.Fields) == 1 && (r.Fields[0].Unit() > 0 || r.Fields[0].Name == "Value" || r.Fields[0].Name == r.Name)
}

// Field finds a field by name.
func (r Register) Field(name string) (Field, bool) {
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Field{}, false
}

// Registers yields the version 7 registers of G0 to G6 in address order of their groups.
func Registers() iter.Seq[Register] { return registersOf('G') }

// HeaderRegisters yields the ten header words.
func HeaderRegisters() iter.Seq[Register] { return registersOf('H') }

func registersOf(kind byte) iter.Seq[Register] {
	return func(yield func(Register) bool) {
		for _, r := range registerTable {
			if r.Group[0] == kind && !yield(r) {
				return
			}
		}
	}
}

// RegisterAt is the version 7 register at a byte address; ok is false outside the windows.
func RegisterAt(addr uint32) (r Register, ok bool) {
	at, room := slot(addr)
	if room == 0 {
		return Register{}, false
	}
	return registerTable[at], true
}

// Lookup finds a register by group or block name and register name, case aside.
func Lookup(block, register string) (Register, bool) {
	for r := range Registers() {
		if (strings.EqualFold(r.Block, block) || strings.EqualFold(r.Group, block)) && strings.EqualFold(r.Name, register) {
			return r, true
		}
	}
	return Register{}, false
}
