// Package asm reads and writes descriptor text: a chain of task descriptors as a person
// writes it, and as a difference between two programs is read.
//
// A descriptor is ten header words and runs of register writes. In the text it is a line
// .td and below it a line for each register that is written, by name, with its fields by
// name or the word as a number:
//
//	.td                                   # the next multiple of 0x100
//	Header.Bases     RBase0=4 RBE0 WBase=5 WBE ENE=5
//	Common.InDim     Win=16 Hin=1         # fields; a field left out is 0
//	Common.Cin       64                   # a register that is one quantity
//	Common.Cfg       ActiveNE=4 +0x1      # bits that no field names
//	NE.MACCfg        OpMode=pass-through  # an enumeration by name
//	NE.PostScale     PostScale=1.0        # fp16; 0x3c00 says the same
//	L2.Src1RowStride 0x400                # bytes, where the register counts bytes
//	L2.Cfg           word=0x10            # the whole word
//	0x1f800          0x40                 # a register by its address
//	KernelDMASrc.CoeffBaseAddr[0-15] 0 step 0x200
//
// A register without a line is not written and keeps its value: an absent write is not a
// write of zero. Registers at neighbouring addresses share a record of the stream;
// .record starts a new one. The next pointer and the size of the next descriptor are
// filled in where the text does not say them.
//
//	text --Assemble--> Unit --File--> container, or bare text
//	program --Disassemble--> text
//
// Disassemble writes all there is: assembling its text gives the program's bytes again,
// unknown bits, absent writes, gaps and padding included. What of a container is not its
// text stands as bytes by file offset.
//
// Errors are an [*Error] with the line and the column, and the nearest name where one was
// not found.
package asm
