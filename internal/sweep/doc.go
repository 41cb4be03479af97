// Package sweep times grids of designs and finds the best of them.
//
// A designer of an engine wants to know the cost of a layer for every width, every clock
// and every number of MAC engines. A [Sweep] is such a grid: programs, and axes of their
// keys, of constants of the chip and of register fields. Each point becomes a row of text
// with its labels and its costs, or the reason why it has none.
//
//	Description --New--> Sweep --Time--> rows --Output--> file
//	                                       \--> Front: the designs that no other beats
//
// A grid may take longer than one machine has time for. A [Shard] is every n-th point. An
// [Output] continues after the last complete row of an interrupted file, if its rows have
// the same origin: chip, constants, settings and version. [ReadStatus] reports the progress
// of shards, and [Merge] combines their files. A [Search] needs no grid: it searches for
// the constants with the least time or energy within a budget.
//
// Rows are written in the order of the grid, with the same bytes for any number of
// goroutines and shards.
package sweep
