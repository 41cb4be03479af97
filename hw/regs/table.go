package regs

import (
	"iter"
	"strings"
)

// A Field is a named range of bits of a register, as fields.txt defines it.
type Field struct {
	Name       string
	Low, Width int
	Type       string
	Evidence   string
	Note       string
}

// Of returns the value of the field in the register word w.
func (f Field) Of(w uint32) uint32 { return extractField(w, f.Low, f.Width) }

// Fits reports whether the field has enough bits for v.
func (f Field) Fits(v uint64) bool { return v>>f.Width == 0 }

// With returns the register word w with the field set to v. It panics if v does not fit.
func (f Field) With(w, v uint32) uint32 { return replaceField(w, f.Low, f.Width, v) }

// Unit returns the base-2 logarithm of the number of bytes that the field counts as one, such as 6
// if it counts units of 64 bytes. It returns 0 if the field does not count bytes.
func (f Field) Unit() int {
	switch f.Type {
	case "bytes64":
		return 6
	case "bytes16":
		return 4
	}
	return 0
}

// A Register is one word of a register group, with its fields.
type Register struct {
	Group  string // G0 to G6, H for the header, K0 and K1 for the version 10 image
	Block  string // KernelDMASrc, Common, ...
	Name   string // with its index if it belongs to an array
	Word   int    // index in the group
	Fields []Field
}

// Addr returns the byte address of the register on the M1.
func (r Register) Addr() uint32 { return findGroupWindow(r.Group).Base + 4*uint32(r.Word) }

// Unknown returns the bits of the register word w that do not belong to any field.
func (r Register) Unknown(w uint32) uint32 {
	for _, f := range r.Fields {
		w &^= (1<<f.Width - 1) << f.Low
	}
	return w
}

// Sole reports whether the register holds a single quantity, so that its value can be written
// without the name of a field.
func (r Register) Sole() bool {
	return len(r.Fields) == 1 && (r.Fields[0].Unit() > 0 || r.Fields[0].Name == "Value" || r.Fields[0].Name == r.Name)
}

// Field returns the field with the given name, ignoring case. It returns false if there is none.
func (r Register) Field(name string) (Field, bool) {
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Field{}, false
}

// Registers returns an iterator over the M1's task registers in address order within each group,
// from group G0 to G6.
func Registers() iter.Seq[Register] { return registersOfKind('G') }

// HeaderRegisters returns an iterator over the ten words of a descriptor's header.
func HeaderRegisters() iter.Seq[Register] { return registersOfKind('H') }

// registersOfKind returns an iterator over the registers of the groups whose names start with the
// letter kind.
func registersOfKind(kind byte) iter.Seq[Register] {
	return func(yield func(Register) bool) {
		for _, r := range registerTable {
			if r.Group[0] == kind && !yield(r) {
				return
			}
		}
	}
}

// RegisterAt returns the M1's task register at the byte address addr. It returns false if there is
// none.
func RegisterAt(addr uint32) (r Register, ok bool) {
	at, room := findRegisterIndex(addr)
	if room == 0 {
		return Register{}, false
	}
	return registerTable[at], true
}

// Lookup returns the register with the given name in the given block, such as "L2" or its group
// "G3", ignoring case. It returns false if there is none.
func Lookup(block, register string) (Register, bool) {
	for r := range Registers() {
		if (strings.EqualFold(r.Block, block) || strings.EqualFold(r.Group, block)) && strings.EqualFold(r.Name, register) {
			return r, true
		}
	}
	return Register{}, false
}
