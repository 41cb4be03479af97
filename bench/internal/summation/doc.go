// Package summation sums products of fp16 numbers as chips did in published tests, which is the
// definition that tests hold the model's arithmetic to. It does not use the model's code.
//
//	x, w, bias --> H13 (M1) or Later (M4, M6) --> fp16
package summation
