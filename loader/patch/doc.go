// Package patch changes a compiled program in place: weights, register fields and run-time
// parameters.
//
// A program is a chain of descriptors with separate weights. Weights can change without the
// chain, because they keep their places in the constants. Their order follows from the
// descriptor's registers (loader/lower has the layouts):
//
//	registers --ReadLayout--> place of each weight --Weights--> constants
//
// Setting a field changes all places where the chain writes its register. Binding a
// run-time parameter changes the fields that its relocations name. All other bytes of the
// file stay the same. An impossible change is refused before anything is written.
package patch
