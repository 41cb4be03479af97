// Package task builds descriptors: what a task reads, where its tiles stand in the L2, what it
// writes, and what it takes from its neighbours in a chain. No other package sets a register.
//
// A [Task] is built from its operands. Package place says where they are, a
// tensor in memory or a tile in the L2, and a task reads, joins, leaves or writes them:
//
//	memory   x [c][h][w]                                  y
//	            | Source1                                  ^ Writes
//	L2       | result of an earlier task | source tile | result ... |
//	            ^ Leaves      | Reads, Joins
//	engines    MAC engines: coefficients by lane        planar engine
//
// A [Chain] is the tasks of a program in order. [Chain.Finish] fills in what follows from the
// others: runs and dependencies, the hints and the order of what the tile DMA moves, estimates
// and header words. All of it is derived from the operands, so it is the same for a layer, for
// rows of layers and for a network. Two older forms of the compiler have a finish of their own.
//
// How a source is cut that the L2 does not hold is decided by what builds its tasks: in rows by
// tileheight.go of package family, in columns by [Task.TakesColumns]. A patch is the pixels that
// the engines take in one step of it.
//
// Beside each rule stands how many of the descriptors it applies to it explains, as
// (holds/applies), or that it is assumed.
package task
