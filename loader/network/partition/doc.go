// Package partition makes programs of a list of layers: one where that is possible, else one on
// each side of what the engine has no form for.
//
// The engine runs a program in one dispatch, whose descriptors hand tensors on in the L2 or in
// memory. What ends a program is a layer that cannot be lowered, which the host may do, or a
// limit on what one program holds. [CoverageOf] says how much of a network the programs do and
// which of its results are lost.
package partition
