// Package checksums repeats published measurements of whole layers on real chips, which gave only the
// relative error of each layer to 16 digits (vectors/silicon/checksums). It computes the layers from
// the inputs of the published scripts.
//
//	seed --> package numpy --> inputs --+--> float32 or float64 --> reference
//	                                     +--> fp16 --> Engine -----> results, and their relative error
//
// An [Engine] computes layers on fp16 numbers. [Plain] computes them by the rules of the arithmetic
// alone, and tests also use the model.
//
// If one result is one place of fp16 off, the seventh to tenth digit of the error changes.
package checksums
