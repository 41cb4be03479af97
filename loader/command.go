package loader

import (
	"fmt"
	"math"
	"strings"

	"anesim/loader/enums"
)

// A Command is the number of a load command.
type Command = enums.LoadCommand

// The load commands of a container.
const (
	CommandSymtab  = enums.LoadSymbolTable
	CommandThread  = enums.LoadThread
	CommandPort    = enums.LoadPort
	CommandBanner  = enums.LoadBanner
	CommandSegment = enums.LoadSegment
	CommandNote    = enums.LoadNote
	CommandPort64  = enums.LoadWidePort
)

// A Flavor says what a thread command describes.
type Flavor = enums.ThreadFlavor

// Flavors of thread commands.
const (
	FlavorProgram   = enums.FlavorProgram
	FlavorOperation = enums.FlavorOperation
)

// SegmentFlags are the flags of a segment.
type SegmentFlags = enums.SegmentFlags

// Flags of the segments seen.
const (
	SegmentPadded = enums.SegmentPadded
	SegmentWindow = enums.SegmentWindow
)

// SectionFlags are the flags of a section: its kind in the low byte, attributes above.
type SectionFlags uint32

// Flags of the sections seen.
const (
	SectionScratch = SectionFlags(enums.SectionScratch)
	SectionInput   = SectionFlags(enums.SectionInput)
	SectionOutput  = SectionFlags(enums.SectionOutput)
	SectionConst   = SectionFlags(enums.SectionConstants)
	SectionText    = SectionFlags(enums.SectionText)

	SectionRelocated SectionFlags = 0x100 // attribute: the section has relocations (bytes)
)

// String names the kind and the attribute.
func (f SectionFlags) String() string {
	parts := []string{enums.SectionKind(f & 0xff).String()}
	if f&SectionRelocated != 0 {
		parts = append(parts, "relocated")
	}
	if rest := f &^ (0xff | SectionRelocated); rest != 0 {
		parts = append(parts, fmt.Sprintf("+%#x", uint32(rest)))
	}
	return strings.Join(parts, ",")
}

// A SymbolType is the type of a symbol table's entry.
type SymbolType = enums.SymbolType

// Types of the symbols seen.
const (
	SymbolDefined = enums.SymbolDefined
	SymbolShape   = enums.SymbolShape
	SymbolElement = enums.SymbolElementType
)

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
func (s Subtype) known() bool { return s <= math.MaxUint8 && enums.Generation(s).Known() }
