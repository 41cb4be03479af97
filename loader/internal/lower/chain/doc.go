// Package chain turns the tasks of a program into a chain of descriptors. A task is complete
// except for the fields that depend on other tasks; [Finish] fills them in.
//
//	runs       groups of tasks that pass tiles to each other
//	route      which tasks of which engine a task waits for
//	reuse      which other tasks access the bytes that the tile DMA moves
//	estimate   the cycles that the compiler expects
//
// Everything is derived from the operands of the tasks, so the rules are the same for a layer,
// for a row chain and for a network. [Finish2020] and [Finish2023] produce the forms of two other
// releases of the compiler. The release of 2023 passes tensors that exceed the L2 through rings
// and the scratch buffer ([PassThroughScratch]).
//
// The package works on copies of the registers, so the tasks do not change. Apart from package
// task, no other package sets registers. Comments give the number of descriptors that follow a
// rule out of those it applies to, as in "seen in 81 of 84 tasks", or say that a rule is assumed.
package chain
