package loader

import (
	"fmt"
	"math"
	"strings"

	"anesim/internal/enums"
)

// A Command identifies the kind of a load command.
type Command = enums.LoadCommand

// Kinds of load commands in a container.
const (
	CommandSymtab  = enums.LoadSymbolTable
	CommandThread  = enums.LoadThread
	CommandPort    = enums.LoadPort
	CommandBanner  = enums.LoadBanner
	CommandSegment = enums.LoadSegment
	CommandNote    = enums.LoadNote
	CommandPort64  = enums.LoadWidePort
)

// A flavor says what a thread command (a kind of load command) describes: a program or an
// operation.
type flavor = enums.ThreadFlavor

// Flavors of thread commands.
const (
	flavorProgram   = enums.FlavorProgram
	flavorOperation = enums.FlavorOperation
)

// SegmentFlags holds the flags of a segment.
type SegmentFlags = enums.SegmentFlags

// Flags of segments in containers.
const (
	segmentPadded = enums.SegmentPadded
	segmentWindow = enums.SegmentWindow
)

// SectionFlags holds the kind of a section in its low byte, and flags in the other three bytes.
type SectionFlags uint32

// Kinds and flags of sections in containers.
const (
	sectionScratch = SectionFlags(enums.SectionScratch)
	sectionInput   = SectionFlags(enums.SectionInput)
	sectionOutput  = SectionFlags(enums.SectionOutput)
	sectionConst   = SectionFlags(enums.SectionConstants)
	sectionText    = SectionFlags(enums.SectionText)

	sectionRelocated SectionFlags = 0x100 // attribute: the section has relocations (bytes)
)

// String returns the kind and the flags separated by commas, such as "text,relocated".
// Unknown flags are written in hexadecimal.
func (f SectionFlags) String() string {
	parts := []string{enums.SectionKind(f & 0xff).String()}
	if f&sectionRelocated != 0 {
		parts = append(parts, "relocated")
	}
	if rest := f &^ (0xff | sectionRelocated); rest != 0 {
		parts = append(parts, fmt.Sprintf("+%#x", uint32(rest)))
	}
	return strings.Join(parts, ",")
}

// A SymbolType is the type of an entry of the symbol table.
type SymbolType = enums.SymbolType

// Types of symbols in containers.
const (
	symbolDefined = enums.SymbolDefined
	symbolShape   = enums.SymbolShape
	symbolElement = enums.SymbolElementType
)

// A Subtype identifies the chip generation that a container was compiled for.
type Subtype uint32

// SubtypeM1 identifies the engine of the M1 and the A14, called H13. It is the only
// generation whose programs the model runs.
const SubtypeM1 Subtype = 4

// String returns the name of the chip generation, or "subtype N" if it is unknown.
func (s Subtype) String() string {
	if s.isKnown() {
		return enums.Generation(s).String()
	}
	return fmt.Sprintf("subtype %d", uint32(s))
}

// isKnown reports whether the documents name the generation.
func (s Subtype) isKnown() bool { return s <= math.MaxUint8 && enums.Generation(s).Known() }
