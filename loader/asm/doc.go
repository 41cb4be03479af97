// Package asm assembles and disassembles descriptor text, a readable form of a chain of
// task descriptors. People write it by hand and compare programs with it.
//
// A descriptor is ten header words and records of register writes. In the text it is a line
// .td, followed by one line for each register that is written. The line has the register's
// name and either its fields by name or the whole word as a number:
//
//	.td                                   # the next multiple of 0x100
//	Header.Bases     RBase0=4 RBE0 WBase=5 WBE ENE=5
//	Common.InDim     Win=16 Hin=1         # fields; a field left out is 0
//	Common.Cin       64                   # a register that is one quantity
//	Common.Cfg       ActiveNE=4 +0x1      # bits that no field names
//	NE.MACCfg        OpMode=pass-through  # an enumeration by name
//	NE.PostScale     PostScale=1.0        # fp16; 0x3c00 means the same
//	L2.Src1RowStride 0x400                # bytes, where the register counts bytes
//	L2.Cfg           word=0x10            # the whole word
//	0x1f800          0x40                 # a register by its address
//	KernelDMASrc.CoeffBaseAddr[0-15] 0 step 0x200
//
// A register without a line is not written and keeps its value; that differs from writing
// zero. Registers at neighboring addresses share a record, and .record starts a new one.
// The next pointer and the size of the next descriptor are filled in unless the text sets
// them.
//
//	text --Assemble--> Unit --File--> container, or bare text
//	program --Disassemble--> text
//
// Disassemble is lossless: assembling its text gives the program's bytes again, including
// unknown bits, absent writes, gaps and padding. The parts of a container outside its text
// are written as bytes by file offset.
//
// Errors are an [*Error] with the line and the column, and the nearest known name for an
// unknown one.
package asm
