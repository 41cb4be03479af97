// Package e5 reads and writes dispatch descriptors (.e5): which operations a network is
// for the runtime, and which container the engine's part of it is in.
//
//	dispatch descriptor (.e5)          container (.hwx)
//	  Cast            host layout -> engine layout
//	  AneInference  ------------------> the chain of descriptors
//	  Cast            engine layout -> host layout
//
// A network that the engine runs in one piece has one inference, however deep it is; one
// cut into three pieces has three. The descriptor counts pieces, not layers, and its size
// depends neither on depth nor on shapes.
//
// The file is a FlatBuffer. Its schema, e5.fbs, is ours, after the two listings of the
// documents (23.1, 23.2 and C.1), which disagree: they announce 23 tables, 4 enumerations
// and a union, and list 13, 2 and none; OpType is a byte in one and an int in the other;
// sections have no bytes, and nothing leads from the root to the operations. The root is
// the documents' to the byte (its tag 0c00 1400 0400 0800). The field that makes the rest
// reachable is our extension: Section.data, a nested FlatBuffer; in an argument frame an
// operation and its operands, in an attribute section the attributes. A file without it
// reads to its names, build information and sections.
package e5
