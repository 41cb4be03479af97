// Package translate states programs of Core ML's intermediate language as graphs.
//
// The language and ONNX name the same work of the engine in other words: a convolution with its
// padding as a word, weights as a palette or as bytes with scales, a table with its constants as
// arguments. [Program] states each operation as one node or several with ONNX's operators, so
// that one package has the shapes of operators and one the layers that the engine does them in.
// Packed weights are unpacked, and what they were is kept beside them, since the engine reads
// some packed forms itself.
package translate
