package loader

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"anesim/hw/regs"
)

// A RelocKind is what a relocation writes.
type RelocKind uint8

// Kinds of relocation. The first is the container's own; the others are the "bars" of
// the documents (decompiled), which no program at hand has.
const (
	SectionRelative RelocKind = iota // the word is already relative to its section: nothing to write
	DeviceAddress                    // address of buffer Target, plus Value
	DataSet                          // on-chip data-set id Value
	BufferOffset                     // offset Value in a buffer
	LiveIn                           // run-time parameter Value, within Range
)

// String names the kind.
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

// A Relocation is a bit field of a register that a loader resolves.
type Relocation struct {
	Kind     RelocKind
	Task     int    // descriptor in the chain
	Register uint32 // byte address of the register
	Off      uint32 // byte offset of its word in __text
	Bit      int    // lowest bit of the field
	Width    int    // bits of the field
	Shift    int    // log2 of the field's unit in bytes: 6 in a DMA word
	Target   int    // section ordinal from 1, or buffer index
	Value    uint64 // what to write, in the kind's measure
	Scale    int64  // of a run-time parameter: the field has Scale times Value and Plus; 0 is 1
	Plus     int64
	Name     string // of a run-time parameter
	Range    Range  // of a run-time parameter
	Info     uint32 // second word of the container's pair
}

// A Range is what a run-time parameter may be: Start, Start+Step, ... up to Stop.
type Range struct {
	Start, Stop, Step uint64
}

// Contains reports whether v is one of the range's values.
func (r Range) Contains(v uint64) bool {
	if v < r.Start || v > r.Stop {
		return false
	}
	return v == r.Start || r.Step > 0 && (v-r.Start)%r.Step == 0
}

// A RelocError is a relocation that cannot be resolved.
type RelocError struct {
	Relocation
	What string
}

func (e *RelocError) Error() string {
	return printable(fmt.Sprintf("%v relocation of descriptor %d, %s: %s", e.Kind, e.Task, e.Field(), e.What))
}

// Field names what the relocation writes, BLOCK.REGISTER.FIELD where the field has a name.
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

// Resolve is the value that the relocation's field takes.
func (r *Relocation) Resolve(bars *regs.BARs) (uint64, error) {
	bad := func(format string, args ...any) (uint64, error) {
		return 0, &RelocError{*r, fmt.Sprintf(format, args...)}
	}
	if r.Bit < 0 || r.Width < 1 || r.Bit+r.Width > 32 || r.Shift < 0 || r.Shift > 31 {
		return bad("no such field in a word")
	}
	v := r.Value
	switch r.Kind {
	case DeviceAddress:
		if r.Target < 0 || r.Target >= len(bars) || bars[r.Target] == 0 {
			return bad("buffer %d is not in the program", r.Target)
		}
		v += bars[r.Target]
	case LiveIn:
		if !r.Range.Contains(v) {
			return bad("%s is %d, want %d to %d by %d", r.Name, v, r.Range.Start, r.Range.Stop, r.Range.Step)
		}
		scaled, ok := Linear(v, r.Scale, r.Plus)
		if !ok {
			return bad("%d*%s%+d is below 0 or exceeds 63 bits at %[2]s=%[4]d", cmp.Or(r.Scale, 1), r.Name, r.Plus, v)
		}
		v = scaled
	}
	if v&(1<<r.Shift-1) != 0 {
		return bad("%#x is no multiple of %d", v, 1<<r.Shift)
	}
	if v >>= r.Shift; v>>r.Width != 0 {
		return bad("%#x does not fit %d bits", v, r.Width)
	}
	return v, nil
}

// Linear is scale times v and plus; a scale of 0 is 1. It is false where that is negative
// or has more than 63 bits.
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

// Store resolves the relocation and writes it into its word of text. Errors are a
// *RelocError.
func (r *Relocation) Store(text []byte, bars *regs.BARs) error {
	v, err := r.Resolve(bars)
	if err != nil {
		return err
	}
	if r.Off%4 != 0 || uint64(r.Off)+4 > uint64(len(text)) {
		return &RelocError{*r, fmt.Sprintf("no word at offset %#x of the %#x bytes of text", r.Off, len(text))}
	}
	w, mask := text[r.Off:], uint32(1<<r.Width-1)<<r.Bit
	le.PutUint32(w, regs.Masked(le.Uint32(w), mask, uint32(v)<<r.Bit))
	return nil
}

// recordWord is the register that the word at a byte offset of __text is stored to.
func recordWord(d *regs.Descriptor, off uint32) (register uint32, ok bool) {
	for at, r := range recordsAt(d) {
		if off >= at && off < at+4*uint32(len(r.Values)) && off%4 == 0 {
			return r.Addr + off - at, true
		}
	}
	return 0, false
}

// recordsAt yields the byte offset in __text of each record's first value.
func recordsAt(d *regs.Descriptor) func(func(uint32, *regs.Record) bool) {
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

// relocated is the program's text with every relocation resolved. It is the program's
// own when none writes anything, as in every container at hand.
func (p *Program) relocated() ([]byte, error) {
	text := p.Text
	own := true
	for i := range p.Relocations {
		r := &p.Relocations[i]
		if r.Kind == SectionRelative {
			continue
		}
		if own && p.TextFile != nil {
			var err error
			if text, err = readExact(p.TextFile.R, int64(p.TextFile.Bytes)); err != nil {
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

// WordsOf are the offsets in Text of the words that a descriptor of the program writes to
// a register.
func (p *Program) WordsOf(d *regs.Descriptor, register uint32) []uint32 { return wordsOf(d, register) }

func wordsOf(d *regs.Descriptor, register uint32) []uint32 {
	var words []uint32
	for at, r := range recordsAt(d) {
		if register >= r.Addr && register < r.Addr+4*uint32(len(r.Values)) && register%4 == 0 {
			words = append(words, at+register-r.Addr)
		}
	}
	return words
}
