// Package partition builds programs from a list of layers: one program if possible, otherwise
// one on each side of every layer that the engine cannot run.
//
// The engine runs a program in one dispatch. Its descriptors pass tensors on in L2 or in
// memory. A program ends at a layer that cannot be lowered, which the host may run, or at a
// limit on the size of a program. [CoverageOf] measures how much of a network the programs
// compute, and which of its results are lost.
package partition
