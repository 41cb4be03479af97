package enums

// Each type is an enumeration of enums.txt with the same name. Its constants are the values
// that code uses. A test compares them with the table.

// A TensorDataType is an element type in a dispatch descriptor.
type TensorDataType int32

// Values of TensorDataType.
const (
	TensorFloat16 TensorDataType = 1
)

// String returns the vendor's name for v, or a text such as "TensorDataType(7)" if it has none.
func (v TensorDataType) String() string { return formatName("TensorDataType", uint64(v)) }

// An OpType is the kind of an operation in a dispatch descriptor.
type OpType uint8

// Values of OpType.
const (
	OpTypeCast         OpType = 0
	OpTypeAneInference OpType = 1
)

// String returns the vendor's name for v, or a text such as "OpType(7)" if it has none.
func (v OpType) String() string { return formatName("OpType", uint64(v)) }

// A CatalogueType is an element type in a container's symbol table.
type CatalogueType uint8

// String returns the vendor's name for v, or a text such as "CatalogueType(7)" if it has none.
func (v CatalogueType) String() string { return formatName("CatalogueType", uint64(v)) }

// Known reports whether v is a named element type, according to the vendor's catalog in
// enums.txt.
func (v CatalogueType) Known() bool { return findValue("CatalogueType", uint64(v)) != nil }

// A Generation is the generation of the engine for which a container was compiled. The container
// stores it as its subtype.
type Generation uint8

// String returns the vendor's name for v, or a text such as "Generation(7)" if it has none.
func (v Generation) String() string { return formatName("Generation", uint64(v)) }

// Known reports whether v is a named engine generation, according to enums.txt.
func (v Generation) Known() bool { return findValue("Generation", uint64(v)) != nil }

// A LoadCommand is the kind of a load command, a record in the header of a container.
type LoadCommand uint32

// Values of LoadCommand.
const (
	LoadSymbolTable LoadCommand = 2
	LoadThread      LoadCommand = 4
	LoadPort        LoadCommand = 6
	LoadBanner      LoadCommand = 8
	LoadSegment     LoadCommand = 0x19
	LoadNote        LoadCommand = 0x31
	LoadWidePort    LoadCommand = 0x40
)

// String returns the vendor's name for v, or a text such as "LoadCommand(7)" if it has none.
func (v LoadCommand) String() string { return formatName("LoadCommand", uint64(v)) }

// A ThreadFlavor says what a container's thread command describes: a program or an operation.
type ThreadFlavor uint32

// Values of ThreadFlavor.
const (
	FlavorProgram   ThreadFlavor = 1
	FlavorOperation ThreadFlavor = 3
)

// String returns the vendor's name for v, or a text such as "ThreadFlavor(7)" if it has none.
func (v ThreadFlavor) String() string { return formatName("ThreadFlavor", uint64(v)) }

// SegmentFlags holds the flags of a container's segment.
type SegmentFlags uint32

// Values of SegmentFlags.
const (
	SegmentPadded SegmentFlags = 4
	SegmentWindow SegmentFlags = 6
)

// String returns the vendor's name for v, or a text such as "SegmentFlags(7)" if it has none.
func (v SegmentFlags) String() string { return formatName("SegmentFlags", uint64(v)) }

// A SectionKind is the kind of a container's section, such as its inputs or constants. It is stored
// in the low byte of the section's flags.
type SectionKind uint8

// Values of SectionKind.
const (
	SectionScratch   SectionKind = 1
	SectionInput     SectionKind = 0x21
	SectionOutput    SectionKind = 0x23
	SectionConstants SectionKind = 0x26
	SectionText      SectionKind = 0x28
)

// String returns the vendor's name for v, or a text such as "SectionKind(7)" if it has none.
func (v SectionKind) String() string { return formatName("SectionKind", uint64(v)) }

// A SymbolType is the type of an entry in a symbol table.
type SymbolType uint8

// Values of SymbolType.
const (
	SymbolDefined     SymbolType = 0xf
	SymbolShape       SymbolType = 0x20
	SymbolElementType SymbolType = 0x80
)

// String returns the vendor's name for v, or a text such as "SymbolType(7)" if it has none.
func (v SymbolType) String() string { return formatName("SymbolType", uint64(v)) }
