package loader

import (
	"fmt"
	"math"
	"strings"

	"anesim/loader/enums"
)

// A Command is the number of a load command (bytes).
type Command uint32

// The load commands of a container. Their numbers are those of Mach-O where both have the
// command; CommandPort and CommandPort64 are Mach-O's fixed libraries.
const (
	CommandSymtab  Command = 0x02 // symbol table
	CommandThread  Command = 0x04 // see Flavor
	CommandPort    Command = 0x06 // a port's name and 32-bit address
	CommandBanner  Command = 0x08 // the compiler's command line
	CommandSegment Command = 0x19 // a run of device memory
	CommandNote    Command = 0x31
	CommandPort64  Command = 0x40 // a port's name and 64-bit address
)

// String names the command.
func (c Command) String() string {
	switch c {
	case CommandSymtab:
		return "symbol table"
	case CommandThread:
		return "thread"
	case CommandPort, CommandPort64:
		return "port"
	case CommandBanner:
		return "banner"
	case CommandSegment:
		return "segment"
	case CommandNote:
		return "note"
	}
	return fmt.Sprintf("Command(%#x)", uint32(c))
}

// A Flavor says what a thread command describes (bytes).
type Flavor uint32

// Flavors of thread commands. What 2 and 4 describe, which small programs have, is not
// known; they are carried.
const (
	FlavorProgram   Flavor = 1 // buffers, size of the first descriptor, descriptor count
	FlavorOperation Flavor = 3 // an operand bound to a port, with its shape
)

// String names the flavor.
func (f Flavor) String() string {
	switch f {
	case FlavorProgram:
		return "program"
	case FlavorOperation:
		return "operation"
	}
	return fmt.Sprintf("Flavor(%d)", uint32(f))
}

// SegmentFlags are the flags of a segment (bytes).
type SegmentFlags uint32

// Flags of the segments seen.
const (
	SegmentPadded SegmentFlags = 4 // __PAGEZERO, and a __TEXT whose constants no register reads
	SegmentWindow SegmentFlags = 6 // __FVMLIB: memory that a surface is mapped to
)

// String names the flags.
func (f SegmentFlags) String() string {
	switch f {
	case 0:
		return "none"
	case SegmentPadded:
		return "padded"
	case SegmentWindow:
		return "window"
	}
	return fmt.Sprintf("SegmentFlags(%#x)", uint32(f))
}

// SectionFlags are the flags of a section: a kind in the low byte, attributes above.
type SectionFlags uint32

// Flags of the sections seen (bytes; SectionScratch is inferred: zero-fill, as Mach-O
// has it).
const (
	SectionScratch SectionFlags = 0x01
	SectionInput   SectionFlags = 0x21
	SectionOutput  SectionFlags = 0x23
	SectionConst   SectionFlags = 0x26
	SectionText    SectionFlags = 0x28

	SectionRelocated SectionFlags = 0x100 // attribute: the section has relocations
)

// String names the kind and the attribute.
func (f SectionFlags) String() string {
	var parts []string
	switch kind := f & 0xff; kind {
	case SectionScratch:
		parts = append(parts, "scratch")
	case SectionInput:
		parts = append(parts, "input")
	case SectionOutput:
		parts = append(parts, "output")
	case SectionConst:
		parts = append(parts, "constants")
	case SectionText:
		parts = append(parts, "text")
	default:
		parts = append(parts, fmt.Sprintf("SectionFlags(%#x)", uint32(kind)))
	}
	if f&SectionRelocated != 0 {
		parts = append(parts, "relocated")
	}
	if rest := f &^ (0xff | SectionRelocated); rest != 0 {
		parts = append(parts, fmt.Sprintf("+%#x", uint32(rest)))
	}
	return strings.Join(parts, ",")
}

// A SymbolType is the type of a symbol table's entry (bytes).
type SymbolType uint8

// Types of the symbols seen.
const (
	SymbolDefined SymbolType = 0x0f // weight tiles and ports
	SymbolShape   SymbolType = 0x20 // a tensor's extents and strides
	SymbolElement SymbolType = 0x80 // an entry of the element-type catalogue
)

// String names the type.
func (t SymbolType) String() string {
	switch t {
	case SymbolDefined:
		return "defined"
	case SymbolShape:
		return "shape"
	case SymbolElement:
		return "element type"
	}
	return fmt.Sprintf("SymbolType(%#x)", uint8(t))
}

// A Subtype is the processor subtype of a container: which generation of the engine its
// text is for (decompiled; 4 is bytes).
type Subtype uint32

// SubtypeM1 is the engine of the M1 and A14, H13: the one the model runs.
const SubtypeM1 Subtype = 4

// String names the machines.
func (s Subtype) String() string {
	if s.known() {
		return enums.Generation(s).String()
	}
	return fmt.Sprintf("subtype %d", uint32(s))
}

// known reports whether the documents name the generation.
func (s Subtype) known() bool {
	_, err := enums.ParseGeneration(enums.Generation(s).String())
	return err == nil && s <= math.MaxUint8
}
