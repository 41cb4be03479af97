// Package translate converts programs of Core ML's intermediate language to graphs.
//
// The language and ONNX use different terms for the same computations: the padding of a
// convolution is a word, weights are a palette or bytes with scales, and constants of a table
// are arguments. [Function] converts each operation to one or more nodes with ONNX's operators.
// One package can then hold the shapes of operators, and one the layers that the engine runs
// them as. Packed weights are unpacked. Their packing is recorded as well, because the engine
// reads some packed forms itself.
package translate
