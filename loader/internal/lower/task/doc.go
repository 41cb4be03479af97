// Package task builds descriptors: what a task computes, what it reads, where its tiles are
// placed in L2, and what it writes. Package chain adds the fields that depend on the other
// tasks of a program. No third package sets a register.
//
// A [Task] is built operand by operand. Package place describes an operand as a tensor in memory
// or as a tile in L2, and the methods of a task name it as a source or as the result:
//
//	memory   x [c][h][w]                                    y
//	            | LoadSource1                                ^ WriteResult
//	L2       | result of an earlier task | source tile | result ... |
//	            ^ KeepResult  | ReadTile, ReadSecondTile
//	engines    MAC engines: weights by lane          planar engine
//
// If a source does not fit L2, the builder of the tasks decides how to split it: by rows in
// tileheight.go of package family, by columns in [TakeColumns]. A patch is the block of pixels
// that the engines compute in one step.
//
// Comments give the number of descriptors that follow a rule out of those it applies to, as in
// "seen in 81 of 84 tasks", or say that a rule is assumed.
package task
