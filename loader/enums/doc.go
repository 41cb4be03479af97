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
// All are read from enums.txt, with the table of the documents each comes from; the types
// are generated and a test regenerates them. Every type has String, which gives the
// vendor's spelling, its mistakes included, and a Parse function that takes it back. What
// the documents count and do not list (the nine task classes, three activation tokens,
// twelve entries of the container's catalogue) is not here.
package enums
