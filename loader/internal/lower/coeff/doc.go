// Package coeff packs the weights of descriptors. It decides the order of the weights in the
// lanes of the 16 engines, their encoding, and their place in a program's constants.
//
//	layer + weights --Shares--> the channels of one descriptor
//	   ChannelWeights: the weights and biases of these channels
//	      | Pack: planes distributed over lanes (package lanes), dense or in a smaller form
//	      v
//	   Kernel: the bytes of every lane  --AddKernel-->  Section: constants
//
// The values decide the form of each share: the smallest one that reproduces the same fp16
// values, or dense fp16 if no other form does. A [Layout] derives the same order from a
// descriptor's registers, so that the weights of a program of another origin can be replaced in
// place.
package coeff
