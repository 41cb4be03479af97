// Package regs defines the engine's task registers: their names, their addresses, and the two
// layouts in which they are stored.
//
// A task descriptor is not code. It is a short header and a list of register writes. The engine's
// sequencer stores them in the register file and starts the units:
//
//	header W0..W9      task, next descriptor, buffers
//	[extra word]       if the kernel is a scratch surface
//	record             (count-1)<<26 | byte address, then count words
//	record             ...
//	                        |
//	                        v
//	+--------------------- File -----------------------+
//	| G1 Common       shape, engines, groups           |
//	| G0 KernelDMASrc sixteen weight lanes             |
//	| G2 TileDMASrc   source bases and strides         |
//	| G3 L2           layout of buffers in the L2      |
//	| G4 PE           planar operation and scales      |
//	| G5 NE           MAC operation, bias, activation  |
//	| G6 TileDMADst   result base and strides          |
//	+--------------------------------------------------+
//
// Real programs of the M1 use the version 7 stream. The version 10 image has the same seven groups
// at the addresses of a later numbering, known from captured (address, value) pairs; see V10.
//
// All fields come from one table, fields.txt, with their evidence. The generator in
// internal/regsgen turns the table into a struct per group, a word type per register with getters
// and With setters, and the table for the dump. Words are stored whole, so bits without a named
// field survive decoding and encoding.
package regs
