// Package sweep times grids of designs and finds the best of them.
//
// The designer of an engine wants the cost of a layer for every width, clock and number of MAC
// engines. A [Sweep] is such a grid. It has programs, and axes that vary the keys of a layer,
// constants of the chip and register fields. Each point becomes a row of text: labels that
// identify the point, then its costs or the reason why it has none.
//
//	Description --New--> Sweep --Time--> rows --Output--> file
//	                                       \--> Front: designs that no other beats
//
// A large grid can be divided into shards. A [Shard] is every n-th point. An [Output] resumes a
// file after its last complete row if the rows have the same origin: chip, constants, settings
// and version. [ReadStatus] reports how far the shards are, and [Merge] merges their files. A
// [Search] needs no grid: it minimises the time or energy within a budget by varying the chip's
// constants.
//
// Rows are written in the order of the grid. Their bytes do not depend on the number of
// goroutines and shards.
package sweep
