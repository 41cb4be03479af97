// Package patch changes a compiled program in place: weights, register fields, run-time
// parameters.
//
// A program is a chain of descriptors and, apart from it, the coefficients. Weights can
// change without the chain: they stand in the constants in an order that the descriptor's
// registers tell (loader/lower has the layouts), and stay where they are:
//
//	registers --LayoutOf--> which weight stands where --Weights--> constants
//
// A field changes where the chain writes its register; a run-time parameter changes the
// fields that its relocations name. All else of the file stays, byte for byte. What cannot
// be done is refused before anything is written.
package patch
