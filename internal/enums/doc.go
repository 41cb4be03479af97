// Package enums names the numbers that Apple's software uses: operation classes,
// opcodes, activation modes, element types, reductions, paddings, return values.
//
// A network passes through several numberings on its way to the engine. The front end has
// tokens, the compiler's middle has classes and opcodes, and the dispatch descriptor, the
// container and the registers each have numberings of their own:
//
//	network text      front end         compiler            files                registers
//	"gelu"        --> NeuronToken   --> NonLinearMode
//	"reduce_max"  --> ReduceOp      --> ReductionType   --> UnitType, MicroOp
//	fp16          --> SerialType    --> TensorDataType  --> CatalogueType   --> DatapathFormat
//
// All of them are listed in enums.txt, which is embedded, with the table of the documents
// that each comes from. Those that readers and writers of files use are also Go types with
// constants, and their String methods return Apple's spelling. The package omits
// entries that the documents count but do not list: the nine task classes, three activation
// tokens and twelve entries of the container's catalog.
package enums
