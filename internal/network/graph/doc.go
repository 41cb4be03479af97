// Package graph represents a network as its file states it: nodes, the tensors between them,
// and their constants.
//
// The engine computes in fp16 only, but a file also has integers: shapes, indices, and 8-bit
// weights with a scale. Everything that is computed before the engine runs must be exact in the
// types of the file. A [Const] therefore keeps its values in these types, and leaves values in
// the file until they are needed.
package graph
