// Package graph is a network as its file has it: nodes, the tensors between them, and their
// constants.
//
// The engine computes in fp16 alone, but a file has whole numbers beside it: shapes, places
// and weights of eight bits with a scale. What is worked out before the engine runs has to
// be right in the file's own types, so that a [Const] keeps its values in them, and leaves
// those of a file in the file until something asks for them.
package graph
