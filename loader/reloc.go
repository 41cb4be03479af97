package loader

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"anesim/hw/regs"
)

// A RelocKind says how the value of a [Relocation] is determined.
type RelocKind uint8

// Kinds of relocations. Known containers use only the first. The names of the others were
// read from the vendor's code.
const (
	SectionRelative RelocKind = iota // the word as it is, already relative to its section
	DeviceAddress                    // the address of buffer Target, plus Value; or the address Value
	DataSet                          // the on-chip data-set id Value
	BufferOffset                     // the offset Value in a buffer
	LiveIn                           // the run-time parameter Value, which must be in Range
)

// String returns the name of the kind, such as "device-address".
func (k RelocKind) String() string {
	switch k {
	case SectionRelative:
		return "section-relative"
	case DeviceAddress:
		return "device-address"
	case DataSet:
		return "data-set"
	case BufferOffset:
		return "buffer-offset"
	case LiveIn:
		return "live-in"
	}
	return fmt.Sprintf("RelocKind(%d)", uint8(k))
}

// A Relocation sets a field of a register to a value that is determined when the program is loaded.
type Relocation struct {
	Kind     RelocKind
	Task     int    // descriptor in the chain
	Register uint32 // byte address of the register
	Off      uint32 // byte offset of its word in __text
	Bit      int    // lowest bit of the field
	Width    int    // bits of the field
	Shift    int    // log2 of the field's unit in bytes, 6 for a DMA word
	Target   int    // section ordinal from 1, or buffer index; noTarget if Value is a device address
	// Within is one more than the index of the buffer to whose address the engine adds the field, or 0
	// if there is none. The value of a DeviceAddress then counts from that address.
	Within int
	Value  uint64 // value to write, with the meaning and unit of Kind
	Scale  int64  // for a run-time parameter, whose field is Scale*Value+Plus; 0 means 1
	Plus   int64
	Name   string // name of a run-time parameter
	Range  Range  // values that a run-time parameter may have
	Info   uint32 // second word of the container's pair
}

// noTarget is the Target of a [DeviceAddress] whose Value is the whole address.
const noTarget = -1

// IsBar reports whether a call can give the relocation another value by its number: a custom bar, in
// the words of the documents. A bar writes a device address, a data-set identifier or an offset in a
// buffer. A run-time parameter has a name instead.
func (r *Relocation) IsBar() bool {
	return r.Kind == DeviceAddress || r.Kind == DataSet || r.Kind == BufferOffset
}

// setsSameField reports whether two relocations set the same field of the same descriptor.
func (r *Relocation) setsSameField(x *Relocation) bool {
	return r.Task == x.Task && r.Register == x.Register && r.Bit == x.Bit && r.Width == x.Width
}

// Bars returns one relocation for each bar of p, in the order of p.Relocations. Its index is the number
// by which calls set the bar. A field that several words of a descriptor set is one bar.
func (p *Program) Bars() (list []Relocation) {
	for i := range p.Relocations {
		r := &p.Relocations[i]
		if r.IsBar() && !slices.ContainsFunc(list, func(x Relocation) bool { return r.setsSameField(&x) }) {
			list = append(list, *r)
		}
	}
	return list
}

// SetBar gives the bar with the given number the value v, which replaces the address, identifier or
// offset of the program. It returns false if there is no such bar. The caller must own p.Relocations.
func (p *Program) SetBar(number int, v uint64) bool {
	list := p.Bars()
	if number < 0 || number >= len(list) {
		return false
	}
	for i := range p.Relocations {
		if r := &p.Relocations[i]; r.IsBar() && r.setsSameField(&list[number]) {
			r.Value = v
			if r.Kind == DeviceAddress {
				r.Target = noTarget
			}
		}
	}
	return true
}

// BufferBase returns one more than the index of the buffer to whose address descriptor d adds the
// values of a register, or 0 if the register has no addresses in a buffer or d names none.
func BufferBase(d *regs.Descriptor, register uint32) int {
	reg, ok := regs.RegisterAt(register)
	if !ok {
		return 0
	}
	bases, named, index := d.Header.Bases, false, uint32(0)
	switch {
	case reg.Block == "TileDMASrc" && reg.Name == "Src1Base":
		named, index = bases.RBE0(), bases.RBase0()
	case reg.Block == "TileDMASrc" && reg.Name == "Src2Base":
		named, index = bases.RBE1(), bases.RBase1()
	case reg.Block == "TileDMADst" && reg.Name == "DstBase":
		named, index = bases.WBE(), bases.WBase()
	case reg.Block == "KernelDMASrc" && strings.HasPrefix(reg.Name, "CoeffBaseAddr"):
		named, index = d.Header.KernelBases.KBE0(), d.Header.KernelBases.KBase0()
	}
	if !named {
		return 0
	}
	return int(index) + 1
}

// Parameters returns one relocation for each run-time parameter of p: the first in p.Relocations
// that depends on it. The results are in the order of p.Relocations.
func (p *Program) Parameters() (list []Relocation) {
	for _, r := range p.Relocations {
		if r.Kind == LiveIn && !slices.ContainsFunc(list, func(x Relocation) bool { return x.Name == r.Name }) {
			list = append(list, r)
		}
	}
	return list
}

// A Range is the set of permitted values of a run-time parameter: Start, Start+Step and so on, up
// to Stop. If Step is 0, only Start is permitted.
type Range struct {
	Start, Stop, Step uint64
}

// Contains reports whether v is one of the permitted values.
func (r Range) Contains(v uint64) bool {
	if v < r.Start || v > r.Stop {
		return false
	}
	return v == r.Start || r.Step > 0 && (v-r.Start)%r.Step == 0
}

// A RelocError reports a [Relocation] whose value cannot be determined or does not fit in
// its field.
type RelocError struct {
	Relocation
	What string
}

func (e *RelocError) Error() string {
	return escapeUnprintable(fmt.Sprintf("%v relocation of descriptor %d, %s: %s", e.Kind, e.Task, e.Field(), e.What))
}

// Field returns the name of the field that the relocation sets, in the form BLOCK.REGISTER.FIELD.
// If the field has no name, Field returns the register and the bits.
func (r *Relocation) Field() string {
	reg, ok := regs.RegisterAt(r.Register)
	if !ok {
		return fmt.Sprintf("register %#x bits %d to %d", r.Register, r.Bit, r.Bit+r.Width-1)
	}
	for _, f := range reg.Fields {
		if f.Low == r.Bit && f.Width == r.Width {
			return reg.Block + "." + reg.Name + "." + f.Name
		}
	}
	return fmt.Sprintf("%s.%s bits %d to %d", reg.Block, reg.Name, r.Bit, r.Bit+r.Width-1)
}

// Resolve returns the value of the relocation's field, given the addresses of the buffers.
// All errors are of type *[RelocError].
func (r *Relocation) Resolve(bars *regs.BARs) (uint64, error) {
	bad := func(format string, args ...any) (uint64, error) {
		return 0, &RelocError{*r, fmt.Sprintf(format, args...)}
	}
	if r.Bit < 0 || r.Width < 1 || r.Bit+r.Width > 32 || r.Shift < 0 || r.Shift > 31 {
		return bad("invalid field of %d bits at bit %d with shift %d", r.Width, r.Bit, r.Shift)
	}
	v := r.Value
	switch r.Kind {
	case DeviceAddress:
		if r.Target != noTarget {
			if r.Target < 0 || r.Target >= len(bars) || bars[r.Target] == 0 {
				return bad("buffer %d is not in the program", r.Target)
			}
			v += bars[r.Target]
		}
		if r.Within > 0 { // the engine adds this address itself
			base := bars[r.Within-1]
			if v < base {
				return bad("address %#x is below %#x, the address of buffer %d, to which the engine adds the field", v, base, r.Within-1)
			}
			v -= base
		}
	case LiveIn:
		if !r.Range.Contains(v) {
			return bad("%s is %d; want %d to %d in steps of %d", r.Name, v, r.Range.Start, r.Range.Stop, r.Range.Step)
		}
		scaled, ok := Linear(v, r.Scale, r.Plus)
		if !ok {
			return bad("%d*%s%+d is negative or exceeds 63 bits for %[2]s=%[4]d", cmp.Or(r.Scale, 1), r.Name, r.Plus, v)
		}
		v = scaled
	}
	// Bits that the field does not have must be zero, or the tensor would move silently.
	if v&(1<<r.Shift-1) != 0 {
		return bad("%#x is not a multiple of %d", v, 1<<r.Shift)
	}
	if v >>= r.Shift; v>>r.Width != 0 {
		return bad("%#x does not fit in %d bits", v, r.Width)
	}
	return v, nil
}

// Linear returns scale*v + plus, where a scale of 0 counts as 1. It returns false if the result is
// negative or exceeds 63 bits.
func Linear(v uint64, scale, plus int64) (uint64, bool) {
	if scale == 0 {
		scale = 1
	}
	abs := uint64(max(scale, -scale))
	high, low := bits.Mul64(v, abs)
	if high != 0 || low > math.MaxInt64 {
		return 0, false
	}
	sum := int64(low)
	if scale < 0 {
		sum = -sum
	}
	total := sum + plus
	if wrapped := (sum^total)&(plus^total) < 0; wrapped || total < 0 {
		return 0, false
	}
	return uint64(total), true
}

// Store computes the value of the relocation, given the addresses of the buffers, and writes it to
// text, the bytes of the descriptor chain. All errors are of type *[RelocError].
func (r *Relocation) Store(text []byte, bars *regs.BARs) error {
	v, err := r.Resolve(bars)
	if err != nil {
		return err
	}
	if r.Off%4 != 0 || uint64(r.Off)+4 > uint64(len(text)) {
		return &RelocError{*r, fmt.Sprintf("offset %#x is misaligned or outside the text (%#x bytes)", r.Off, len(text))}
	}
	w, mask := text[r.Off:], uint32(1<<r.Width-1)<<r.Bit
	le.PutUint32(w, regs.Masked(le.Uint32(w), mask, uint32(v)<<r.Bit))
	return nil
}

// findRegisterAt returns the byte address of the register to which descriptor d writes the word at byte
// offset off of __text. ok is false if the word is not the value of a register.
func findRegisterAt(d *regs.Descriptor, off uint32) (register uint32, ok bool) {
	for at, r := range recordsWithOffsets(d) {
		if off >= at && off < at+4*uint32(len(r.Values)) && off%4 == 0 {
			return r.Addr + off - at, true
		}
	}
	return 0, false
}

// recordsWithOffsets returns an iterator over the records of descriptor d, each with the byte offset of
// its first value in __text.
func recordsWithOffsets(d *regs.Descriptor) func(func(uint32, *regs.Record) bool) {
	return func(yield func(uint32, *regs.Record) bool) {
		at := d.Offset + regs.HeaderBytes
		if d.Extended {
			at += 4
		}
		for i := range d.Records {
			if !yield(at+4, &d.Records[i]) {
				return
			}
			at += 4 + 4*uint32(len(d.Records[i].Values))
		}
	}
}

// relocateText returns the descriptors with all relocations applied. It returns p.Text
// itself if no relocation changes it.
func (p *Program) relocateText() ([]byte, error) {
	text := p.Text
	own := true
	for i := range p.Relocations {
		r := &p.Relocations[i]
		if r.Kind == SectionRelative {
			continue
		}
		if own && p.TextFile != nil {
			var err error
			if text, err = readExactSize(p.TextFile.R, int64(p.TextFile.Bytes)); err != nil {
				return nil, err
			}
			own = false
		}
		if own {
			text, own = append([]byte(nil), text...), false
		}
		if err := r.Store(text, &p.BARs); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// WordsOf returns the byte offsets in p.Text of the words that descriptor d writes to the register
// with the given address. It returns nil if d does not write the register.
func (p *Program) WordsOf(d *regs.Descriptor, register uint32) []uint32 {
	return findWordOffsets(d, register)
}

func findWordOffsets(d *regs.Descriptor, register uint32) []uint32 {
	var words []uint32
	for at, r := range recordsWithOffsets(d) {
		if register >= r.Addr && register < r.Addr+4*uint32(len(r.Values)) && register%4 == 0 {
			words = append(words, at+register-r.Addr)
		}
	}
	return words
}
