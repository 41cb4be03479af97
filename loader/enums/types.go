package enums

// Each type is an enumeration of the table by the same name, and its constants are those of
// its values that code names. A test holds them to the table.

// TensorDataType is the element types of a dispatch descriptor.
type TensorDataType int32

// Values of TensorDataType.
const (
	TensorFloat16 TensorDataType = 1
)

// String returns the vendor's spelling, or TensorDataType(number) if the number has no name.
func (v TensorDataType) String() string { return spell("TensorDataType", uint64(v)) }

// OpType is the operations of a dispatch descriptor.
type OpType uint8

// Values of OpType.
const (
	OpTypeCast         OpType = 0
	OpTypeAneInference OpType = 1
)

// String returns the vendor's spelling, or OpType(number) if the number has no name.
func (v OpType) String() string { return spell("OpType", uint64(v)) }

// CatalogueType is the element types of a container's symbol table.
type CatalogueType uint8

// String returns the vendor's spelling, or CatalogueType(number) if the number has no name.
func (v CatalogueType) String() string { return spell("CatalogueType", uint64(v)) }

// Known reports whether the number has a name.
func (v CatalogueType) Known() bool { return find("CatalogueType", uint64(v)) != nil }

// Generation is the generation of the engine that a container is for, its subtype.
type Generation uint8

// String returns the vendor's spelling, or Generation(number) if the number has no name.
func (v Generation) String() string { return spell("Generation", uint64(v)) }

// Known reports whether the number has a name.
func (v Generation) Known() bool { return find("Generation", uint64(v)) != nil }

// LoadCommand is the kind of a load command of a container.
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

// String returns the vendor's spelling, or LoadCommand(number) if the number has no name.
func (v LoadCommand) String() string { return spell("LoadCommand", uint64(v)) }

// ThreadFlavor is what a thread command describes.
type ThreadFlavor uint32

// Values of ThreadFlavor.
const (
	FlavorProgram   ThreadFlavor = 1
	FlavorOperation ThreadFlavor = 3
)

// String returns the vendor's spelling, or ThreadFlavor(number) if the number has no name.
func (v ThreadFlavor) String() string { return spell("ThreadFlavor", uint64(v)) }

// SegmentFlags is the flags of a segment.
type SegmentFlags uint32

// Values of SegmentFlags.
const (
	SegmentPadded SegmentFlags = 4
	SegmentWindow SegmentFlags = 6
)

// String returns the vendor's spelling, or SegmentFlags(number) if the number has no name.
func (v SegmentFlags) String() string { return spell("SegmentFlags", uint64(v)) }

// SectionKind is the low byte of a section's flags.
type SectionKind uint8

// Values of SectionKind.
const (
	SectionScratch   SectionKind = 1
	SectionInput     SectionKind = 0x21
	SectionOutput    SectionKind = 0x23
	SectionConstants SectionKind = 0x26
	SectionText      SectionKind = 0x28
)

// String returns the vendor's spelling, or SectionKind(number) if the number has no name.
func (v SectionKind) String() string { return spell("SectionKind", uint64(v)) }

// SymbolType is the type of a symbol table's entry.
type SymbolType uint8

// Values of SymbolType.
const (
	SymbolDefined     SymbolType = 0xf
	SymbolShape       SymbolType = 0x20
	SymbolElementType SymbolType = 0x80
)

// String returns the vendor's spelling, or SymbolType(number) if the number has no name.
func (v SymbolType) String() string { return spell("SymbolType", uint64(v)) }
