package loader

import "anesim/hw/regs"

// Magic numbers by which the form of a file is recognized: the first four bytes as a
// little-endian word.
const (
	MagicContainer = 0xbeefface // hardware container: on disk CE FA EF BE

	magicFirmware     = 0x414E4548 // package level of the firmware container, "HENA" on disk
	magicFirmwareProg = 0x414E4550 // program level, "PENA"
	magicFirmwareSect = 0x414E4553 // section level, "SENA"
	magicMachO32      = 0xfeedface
	magicMachO64      = 0xfeedfacf
	magicFat          = 0xbebafeca // a fat Mach-O, big-endian cafebabe
)

// Values of the container header (seen in files; table 23.9 of the format document).
const (
	cpuTypeEngine = 0x80

	fileExecutable = 2
	headerFlags    = 0x200000

	headerSize = 32
)

// Sizes of the records in a container (seen in files).
const (
	commandHeader = 8 // command and size
	segmentSize   = 72
	sectionSize   = 80
	symbolSize    = 16
	relocSize     = 8
)

// Offsets from the start of the thread command of flavor 1 (seen in files).
const (
	programBARs       = 0x10 // u64 each
	programStart      = 0x810
	programFirstWords = 0x818 // words of the first descriptor, minus one
	programTasks      = 0x81c
	programFFFF       = 0x824 // 0xffff in every program
	programName       = 0x83c // offset of the procedure's name
	programWord850    = 0x850 // 0x11, but 7 in a concat of two descriptors
	programWord858    = 0x858 // in 2020, 3 with two ports and 4 with three; always 4 later
	programSize       = 0x860 // size without the name
)

// Offsets from the start of the thread command of flavor 3 (seen in files).
const (
	operationWord10    = 0x10  // 3 in every program
	operationDirection = 0x14  // 1 for input, 2 for output
	operationProcedure = 0x18  // offset of the procedure's name
	operationOperand   = 0x20  // offset of the operand's name, such as probs@output
	operationType      = 0x24  // element type
	operationShape     = 0x28  // N, C, H, W, and a fifth extent of 1
	operationStrides   = 0x50  // the same axes, u64 each
	operationBytes     = 0x70  // u64
	operationWord78    = 0x78  // 1
	operationSymbol    = 0x7c  // offset of the port's name, such as probs
	operationExtent    = 0x80  // u64; on outputs, bytes to the end of the last element
	operationSize      = 0x88  // size without the names
	operationLateSize  = 0xd48 // size since 2024
)

// relocSection is the second word of a Mach-O relocation pair on __text. It says that the
// word is relative to section 2, the constants.
const relocSection = 0x05000002

// Lowest address of device memory that containers use, and the units to which they round
// sizes.
const (
	ApertureBase = 0x30000000
	// AddressSpaceEnd is the first device address that the engine cannot reach: its address
	// translation (DART) covers 3.5 GiB, by the Linux driver's description of the M1.
	AddressSpaceEnd = 0xe0000000
	PageSize        = 0x4000 // granule of windows
	TileSize        = 0x40   // granule of text and constants
)

// Size limits of Apple's compiler, from the command line that one container records.
const (
	MaxKernelSection = 128 << 20 // maximum bytes of a section __KERN_n,__kern_n (--max-kernel-section-size)
	MaxScratch       = 3 << 30   // maximum bytes of __DATA,__bss (--bss-limit)
)

// Limits of this package on the sizes and counts that a file may ask for.
const (
	MaxFile         = 1<<32 - 1                 // maximum bytes of a file
	maxZeroFill     = MaxScratch + 1<<30        // maximum bytes of memory without contents in the file
	maxAddressRange = MaxFile + 1 + maxZeroFill // maximum bytes from the lowest window to the end of the highest
	maxName         = 1 << 12
	maxCapture      = 16 << 20 // maximum bytes of captured registers in text form; the image has 198 registers
	maxLoads        = 1 << 12
	maxProcedures   = 64
	maxPorts        = len(regs.BARs{}) // per procedure; a port without a buffer cannot be used
)

// Limits of a descriptor, from hw/regs.
const (
	maxWords       = regs.MaxWords
	descriptorUnit = regs.Alignment
)
