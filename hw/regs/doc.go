// Package regs holds the engine's task registers: what they are called, where they
// stand, and the two layouts they travel in.
//
// A task descriptor is not code. It is a short header and a list of register writes;
// the engine's sequencer stores them into the register file and starts the units:
//
//	header W0..W9      who, next, which buffers
//	[extra word]       when the kernel is a scratch surface
//	record             (count-1)<<26 | byte address, then count words
//	record             ...
//	                        |
//	                        v
//	+--------------------- File -----------------------+
//	| G1 Common       shape, engines, groups           |
//	| G0 KernelDMASrc sixteen coefficient lanes        |
//	| G2 TileDMASrc   source bases and strides         |
//	| G3 L2           where tiles stand in the L2      |
//	| G4 PE           planar operation and scales      |
//	| G5 NE           MAC operation, bias, activation  |
//	| G6 TileDMADst   result base and strides          |
//	+--------------------------------------------------+
//
// The version 7 stream is what the M1's real programs hold. The version 10 image is the
// same seven groups behind the addresses of a later numbering, known from captured
// (address, value) pairs; see V10.
//
// Every field comes from one table, fields.txt, with the evidence it rests on. The
// generator in internal/regsgen turns the table into a struct per group, a word type
// per register with getters and With setters, and the table the dump reads. Whole words
// are kept, so bits no field names survive a decode and encode.
package regs
