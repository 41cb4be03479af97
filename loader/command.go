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

// A Flavor selects the contents of a thread command.
type Flavor = enums.ThreadFlavor

// Flavors of thread commands.
const (
	FlavorProgram   = enums.FlavorProgram
	FlavorOperation = enums.FlavorOperation
)

// SegmentFlags are the flags of a segment.
type SegmentFlags = enums.SegmentFlags

// Segment flags that occur in containers.
const (
	SegmentPadded = enums.SegmentPadded
	SegmentWindow = enums.SegmentWindow
)

// SectionFlags holds a section's kind in the low byte and attributes above it.
type SectionFlags uint32

// Section kinds and attributes that occur in containers.
const (
	SectionScratch = SectionFlags(enums.SectionScratch)
	SectionInput   = SectionFlags(enums.SectionInput)
	SectionOutput  = SectionFlags(enums.SectionOutput)
	SectionConst   = SectionFlags(enums.SectionConstants)
	SectionText    = SectionFlags(enums.SectionText)

	SectionRelocated SectionFlags = 0x100 // attribute: the section has relocations (bytes)
)

// String returns the kind and the attributes separated by commas, such as "text,relocated".
// Unknown attributes are written in hexadecimal.
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

// Symbol types that occur in containers.
const (
	SymbolDefined = enums.SymbolDefined
	SymbolShape   = enums.SymbolShape
	SymbolElement = enums.SymbolElementType
)

// A Subtype is the processor subtype of a container. It identifies the engine generation
// that the text was compiled for (decompiled; 4 is seen in files).
type Subtype uint32

// SubtypeM1 is the engine of the M1 and A14 (H13), the one that the model runs.
const SubtypeM1 Subtype = 4

// String returns the name of the engine generation, or "subtype N" for an unknown one.
func (s Subtype) String() string {
	if s.isKnown() {
		return enums.Generation(s).String()
	}
	return fmt.Sprintf("subtype %d", uint32(s))
}

// isKnown reports whether the documents name the generation.
func (s Subtype) isKnown() bool { return s <= math.MaxUint8 && enums.Generation(s).Known() }
