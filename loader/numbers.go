package loader

import "anesim/hw/regs"

// Magic numbers of the files that turn up where a program is expected, as the
// little-endian word at offset 0.
const (
	MagicContainer = 0xbeefface // hardware container: on disk CE FA EF BE

	magicFirmware     = 0x414E4548 // package level of the firmware container, "HENA" on disk
	magicFirmwareProg = 0x414E4550 // program level, "PENA"
	magicFirmwareSect = 0x414E4553 // section level, "SENA"
	magicMachO32      = 0xfeedface
	magicMachO64      = 0xfeedfacf
	magicFat          = 0xbebafeca // a fat Mach-O, big-endian cafebabe
)

// Values of the container header (bytes; table 23.9 of the format document).
const (
	cpuTypeEngine = 0x80

	fileExecutable = 2
	headerFlags    = 0x200000

	headerSize = 32
)

// Sizes of the records of a container (bytes).
const (
	commandHeader = 8 // command and size
	segmentSize   = 72
	sectionSize   = 80
	symbolSize    = 16
	relocSize     = 8
)

// Offsets in the thread command of flavor 1, from the command's start (bytes).
const (
	programBARs       = 0x10 // u64 each
	programStart      = 0x810
	programFirstWords = 0x818 // words of the first descriptor, minus one
	programTasks      = 0x81c
	programFFFF       = 0x824 // 0xffff in every program
	programName       = 0x83c // offset of the procedure's name
	programWord850    = 0x850 // 0x11; 7 in a concat of two descriptors
	programWord858    = 0x858 // 3 with two ports, 4 with three (2020); 4 later
	programSize       = 0x860 // without the name
)

// Offsets in the thread command of flavor 3 (bytes).
const (
	operationWord10    = 0x10  // 3 in every program
	operationDirection = 0x14  // 1 input, 2 output
	operationProcedure = 0x18  // offset of the procedure's name
	operationOperand   = 0x20  // offset of the operand's name: probs@output
	operationType      = 0x24  // element type
	operationShape     = 0x28  // N, C, H, W, and a fifth extent of 1
	operationStrides   = 0x50  // the same axes, u64 each
	operationBytes     = 0x70  // u64
	operationWord78    = 0x78  // 1
	operationSymbol    = 0x7c  // offset of the symbol's name, that of the port: probs
	operationExtent    = 0x80  // u64: bytes to the end of the last element on outputs
	operationSize      = 0x88  // without the names
	operationLateSize  = 0xd48 // the same since 2024
)

// relocSection is the second word of a Mach-O relocation pair on __text: the word is
// relative to section 2, the constants.
const relocSection = 0x05000002

// Placement in device memory (bytes).
const (
	ApertureBase = 0x30000000
	PageSize     = 0x4000 // of a window
	TileSize     = 0x40   // of text and constants
)

// Limits of the vendor's compiler: its command line in the banner of the worked example
// (listing 23.4).
const (
	MaxKernelSection = 128 << 20 // bytes of a section __KERN_n,__kern_n: --max-kernel-section-size
	MaxScratch       = 3 << 30   // bytes of __DATA,__bss: --bss-limit
)

// Limits of our own on what a file may ask for. A section's file offset has 32 bits, so
// no container is larger; windows without contents may take a gigabyte beside the scratch.
const (
	MaxFile         = 1<<32 - 1                 // bytes of a file
	MaxZeroFill     = MaxScratch + 1<<30        // bytes of memory with nothing in the file
	MaxAddressRange = MaxFile + 1 + MaxZeroFill // from the lowest window to the end of the highest
	maxName         = 1 << 12
	maxCapture      = 16 << 20 // bytes of a text of captured registers: the image has 198 of them
	maxLoads        = 1 << 12
	maxProcedures   = 64
	maxPorts        = len(regs.BARs{}) // of a procedure: a port without a buffer is of no use
)

// Bounds of a descriptor, as hw/regs has them.
const (
	maxWords       = regs.MaxWords
	descriptorUnit = regs.Alignment
)
