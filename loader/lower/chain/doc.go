// Package chain makes the tasks of a program a chain of descriptors. [Finish] fills in what follows
// from the tasks around each one; a task by itself is finished already.
//
//	runs       tasks that pass tiles on to each other: where a run starts and ends
//	route      which engine's work a task's tiles wait for
//	reuse      who else touches the bytes that the tile DMA moves
//	estimate   the cycles that the compiler expects
//
// All of it is derived from the operands, so it is the same for a layer, for rows of layers and
// for a network. [Finish2020] and [Finish2023] write the forms of two other releases of the
// compiler; that of 2023 passes tensors beyond the L2 through rings and the scratch buffer
// ([Spread]).
//
// The tasks are not changed: chain works on copies of their registers, and is the only package
// beside task that sets any. Beside each rule stands how many of the descriptors it applies to it
// explains, as (holds/applies), or that it is assumed.
package chain
