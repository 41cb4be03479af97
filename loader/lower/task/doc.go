// Package task builds descriptors: what a task computes, what it reads, where its tiles are in the
// L2, and what it writes. Package chain adds what a task takes from its neighbours in a program; no
// other package sets a register.
//
// A [Task] is built from its operands. Package place says where they are, a tensor in memory or a
// tile in the L2, and a task reads, joins, leaves or writes them:
//
//	memory   x [c][h][w]                                  y
//	            | Source1                                  ^ Writes
//	L2       | result of an earlier task | source tile | result ... |
//	            ^ Leaves      | Reads, Joins
//	engines    MAC engines: coefficients by lane        planar engine
//
// How a source is cut that the L2 does not hold is decided by what builds its tasks: in rows by
// tileheight.go of package family, in columns by [TakeColumns]. A patch is the pixels that
// the engines take in one step of it.
//
// Beside each rule stands how many of the descriptors it applies to it explains, as
// (holds/applies), or that it is assumed.
package task
