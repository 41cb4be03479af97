// Package coeff lays out the coefficients of descriptors: which weight stands where in the
// lanes of the sixteen engines, in which of the engine's forms, and where that is in a
// program's constants.
//
//	layer + weights --shares--> the channels of one descriptor
//	   Filter: the weights and biases of its channels, one by one
//	      | Pack: planes dealt to lanes (package lanes), dense or in a smaller form
//	      v
//	   Kernel: the bytes of every lane  --AddKernel-->  Section: constants
//
// Which form is taken for a share of the channels is decided by the values: the smallest of
// those that give the very same fp16 values, dense ones where none does. A [Layout] reads the
// same order back from a descriptor's registers, so that the weights of a program that someone
// else made can be replaced in place.
package coeff
