// Package tensor has the arrays on which package reference computes, without the nodes: what every
// operator needs and no operator defines.
//
//	tensor.go    Tensor, its types, and how many elements it may have
//	axes.go      strides, permutations, axes counted from the end, broadcasting
//	moves.go     Reshape, Transpose, Concatenate, slices: elements change their places
//	elements.go  elements, lines and channels changed by a function; sums
//	round.go     fp16, bfloat16 and float32
//
// It does not use the model's code.
package tensor
