// Package enums names the numbers of the vendor's software: operation classes, opcodes,
// activation modes, element types, reductions, paddings, return values.
//
// A network meets several numberings on its way to the engine. The front end has tokens,
// the compiler's middle has classes and opcodes, the dispatch descriptor and the container
// have element types of their own, and the registers are a last numbering:
//
//	network text      front end         compiler            files                registers
//	"gelu"        --> NeuronToken   --> NonLinearMode
//	"reduce_max"  --> ReduceOp      --> ReductionType   --> UnitType, MicroOp
//	fp16          --> SerialType    --> TensorDataType  --> CatalogueType   --> DatapathFormat
//
// All stand in enums.txt, which is embedded, with the table of the documents each comes
// from. Those that the readers and writers of files use are Go types as well, with the
// values that code names; String gives the vendor's spelling. What the documents count and
// do not list (the nine task classes, three activation tokens, twelve entries of the
// container's catalogue) is not here.
package enums
