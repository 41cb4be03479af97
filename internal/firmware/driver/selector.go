package driver

import "encoding/binary"

// A Kind is a kind of client, which determines the selectors and methods that the client can call.
type Kind uint8

// Kinds of clients.
const (
	Control Kind = iota
	DirectPath
	Hints
)

// String returns the name of the kind.
func (k Kind) String() string { return [...]string{"control", "direct path", "hints"}[min(k, Hints)] }

// Sizes holds the exact sizes of a call's arguments and results. It counts scalars, and gives the
// sizes of structs in bytes.
type Sizes struct{ ScalarsIn, StructIn, ScalarsOut, StructOut uint32 }

// A Selector describes an operation that clients call by number: its name and the sizes of its
// arguments and results.
type Selector struct {
	Number uint32
	Name   string
	Sizes
}

// Sizes in bytes of the structs that clients pass to selectors.
const (
	OpenBytes    = 104
	RequestBytes = 2376
	ReplyBytes   = 40
	MapBytes     = 2080
	InputsBytes  = 3104
)

var control = [...]Selector{
	{0, "ANE_DeviceOpen", Sizes{0, OpenBytes, 0, OpenBytes}},
	{1, "ANE_DeviceClose", Sizes{}},
	{2, "ANE_ProgramSendRequest", Sizes{1, RequestBytes, 0, ReplyBytes}},
	{3, "ANE_ProgramCreate", Sizes{0, 32, 0, 0}},
	{4, "ANE_ProgramPrepare", Sizes{0, 56, 0, 56}},
	{5, "ANE_ProgramUnprepare", Sizes{0, 56, 0, 0}},
	{6, "ANE_ProgramDestroy", Sizes{0, 16, 0, 0}},
	{7, "ANE_GetStatus", Sizes{0, 0, 0, 32}},
	{8, "ANE_ProgramCreateInstance", Sizes{0, 32, 0, 0}},
	{9, "ANE_ProgramChainingPrepare", Sizes{0, 16, 0, 24}},
	{10, "ANE_GetVersion", Sizes{0, 0, 1, 0}},
	{11, "ANE_RegisterDebugWorkProcessor", Sizes{0, 24, 0, 0}},
	{12, "ANE_UnregisterDebugWorkProcessor", Sizes{}},
	{13, "ANE_GetDebugWorkProcessorItem", Sizes{2, 0, 0, 0}},
	{14, "ANE_CompleteDebugWorkProcessorItem", Sizes{2, 0, 0, 0}},
	{15, "ANE_ReleaseDebugWorkProcessorBuffers", Sizes{}},
	{16, "ANE_LoadFirmware", Sizes{3, 0, 0, 0}},
}

var directPath = [...]Selector{
	{0, "ANE_DeviceOpen", Sizes{0, OpenBytes, 0, OpenBytes}},
	{1, "ANE_DeviceClose", Sizes{}},
	{2, "ANE_ProgramSendRequest", Sizes{1, RequestBytes, 0, ReplyBytes}},
	{3, "ANE_ProgramOutputSetEnqueue", Sizes{0, 40, 0, 0}},
	{4, "ANE_ProgramInputsReady", Sizes{0, InputsBytes, 0, 0}},
	{5, "ANE_MemoryMapRequest", Sizes{1, MapBytes, 1, 0}},
	{6, "ANE_MemoryUnMapRequest", Sizes{0, MapBytes, 0, 0}},
	{7, "ANE_SessionHintRequest", Sizes{0, 16, 0, 24}},
	{8, "ANE_ProgramChainingSetActiveProcedure", Sizes{0, 32, 0, 0}},
}

// Selectors returns the selectors that clients of kind k can call, in the order of their numbers.
// It returns nil for Hints, whose selectors are not documented.
func Selectors(k Kind) []Selector {
	switch k {
	case Control:
		return append([]Selector(nil), control[:]...)
	case DirectPath:
		return append([]Selector(nil), directPath[:]...)
	}
	return nil
}

// RecordBytes is the size of a selector's entry in the dispatch table of the vendor's
// driver.
const RecordBytes = 40

// Append encodes the selector as an entry of the vendor's dispatch table, appends it to dst and
// returns the extended slice. The entry consists of a handler address, which is zero here, four
// sizes and 16 reserved bytes.
func (s *Selector) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, 0)
	for _, n := range [...]uint32{s.ScalarsIn, s.StructIn, s.ScalarsOut, s.StructOut} {
		dst = le.AppendUint32(dst, n)
	}
	return append(dst, make([]byte, 16)...)
}

// An ArgumentOffset is a field of the argument block that the kernel passes to a selector, with its
// offset in bytes.
type ArgumentOffset struct {
	Field string
	Off   uint32
}

// ArgumentBlock returns the fields of the argument block that the kernel passes to a selector.
func ArgumentBlock() []ArgumentOffset {
	return []ArgumentOffset{
		{"asyncWakePort", 0x08}, {"scalarInput", 0x10}, {"scalarInputCount", 0x20},
		{"structureInput", 0x30}, {"structureInputSize", 0x38}, {"scalarOutput", 0x48},
		{"scalarOutputCount", 0x50}, {"structureOutput", 0x58}, {"structureOutputSize", 0x60},
	}
}
