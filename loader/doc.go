// Package loader reads and writes compiled engine programs, and checks that they access
// only their own memory.
//
// A program arrives in one of several forms: the hardware container, a bare chain of task
// descriptors, the firmware container, the Linux driver's form, or captured register pairs.
// The hardware container is shaped like a Mach-O file, with its own magic and an address
// space that starts at 0x30000000:
//
//	offset 0     +-------------------------------------------+
//	             | header  0xbeefface, subtype 4 = M1        |
//	             +-------------------------------------------+
//	0x20         | 0x19 segment  __PAGEZERO                  |
//	             | 0x19 segment  __TEXT   __text    ---------+--+
//	             |                        __const   ---------+--|--+
//	             | 0x19 segment  __FVMLIB  an input window   |  |  |
//	             | 0x19 segment  __FVMLIB  an output window  |  |  |
//	             | 0x06 port     address, name               |  |  |
//	             | 0x04 thread   flavor 1: BAR[0..31], words |  |  |
//	             |               of the first descriptor     |  |  |
//	             | 0x04 thread   flavor 3: a port's shape    |  |  |
//	             | 0x08 banner   the compiler's command line |  |  |
//	             | 0x02 symbols  tiles, types, shapes        |  |  |
//	             +-------------------------------------------+  |  |
//	             | symbols, strings, relocations             |  |  |
//	0x4000       +-------------------------------------------+  |  |
//	             | descriptor 0 -> descriptor 1 -> ...       |<-+  |
//	             +-------------------------------------------+     |
//	             | weights, one run per engine               |<----+
//	             +-------------------------------------------+
//
// Operation commands bind operands to ports by the port's symbol. Compilers from 2024 on
// give the operand of an output a name of its own, such as probs@output for the port probs.
// A container may have several procedures, each with a flavor 1 command, a chain and ports.
//
// A descriptor names its buffers by index. Index i means BAR[i], a device address, and a
// DMA's base register is an offset from there. Link resolves both and checks that every
// surface lies inside one segment before anything runs.
//
// Read recognises the form from the content. A file that violates its form gives a
// *FormatError with the byte offset. A file of a known form that the model does not run
// gives an *UnsupportedError. All sizes are checked against the file before anything is
// allocated, and no partial program is returned with an error.
//
// The files:
//
//	read.go                   recognizes the form of a file and calls its reader
//	container.go, command.go, segment.go, pieces.go, numbers.go
//	                          the hardware container: its load commands and their offsets
//	image.go                  a container as a Program
//	barechain.go, anec.go, firmware.go, firmware_program.go, capture.go
//	                          readers and writers of the other forms
//	capture_address.go, capture_transfer.go
//	                          what captured register pairs say of memory
//	program.go, symbols.go, banner.go
//	                          ports, segments, symbols, the compiler's command line
//	reloc.go, relocationgaps.go
//	                          words that are set when a program is loaded or called, and words
//	                          that should be but have no relocation
//	link.go, access.go        which bytes each descriptor reads and writes
//	build.go, buildsymbols.go, descriptor.go, rebuild.go
//	                          containers made of tasks, constants and ports
//	write.go                  containers as bytes
//
// All forms are in one package because they share Program, Port, Segment and the errors: a
// separate package for the parts of the hardware container would need 109 more exported names.
//
// The package keeps the parts of a container that it does not understand: a Program that
// was read from a container is written with the same bytes.
package loader
