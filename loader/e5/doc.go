// Package e5 reads and writes dispatch descriptors (.e5). A dispatch descriptor lists the
// operations that the runtime performs for a network, and names the containers that the
// engine runs.
//
//	dispatch descriptor (.e5)          container (.hwx)
//	  Cast            host layout -> engine layout, one an input
//	  AneInference  ------------------> the chain of descriptors
//	  Cast            engine layout -> host layout, one an output
//
// A network that the engine runs as one program has one inference, however many layers it
// has. A network that is split into three programs has three. The size of the file
// therefore does not depend on depth or shapes.
//
// The file is a FlatBuffer. Its schema, e5.fbs, is this project's own, based on the two
// listings of the documents (23.1, 23.2 and C.1). The listings disagree: they announce 23
// tables, 4 enumerations and a union, but list 13, 2 and none. OpType is a byte in one and
// an int in the other. Sections have no bytes, and nothing connects the root with the
// operations. The root matches the documents byte for byte (its tag is 0c00 1400 0400
// 0800). This project's extension is the field Section.data, a nested FlatBuffer that holds
// an operation with its operands in an argument frame, and the attributes in an attribute
// section. Without that field, only names, build information and sections can be read.
package e5
