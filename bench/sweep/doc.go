// Package sweep times grids of designs and finds the best of them.
//
// An engine's designer asks what a layer costs with every width, every clock and every number
// of MAC engines. A [Sweep] is such a grid: programs, and axes of their keys, of constants of
// the chip and of register fields. Each point is a row of text, what the point is and what it
// costs, or why it has no costs.
//
//	Description --New--> Sweep --Time--> rows --Output--> file
//	                                       \--> Front: the designs that no other beats
//
// A grid may be larger than a machine has time for. A [Shard] is every n-th point; an [Output]
// goes on behind the last complete row of a file, whatever stopped it, if its rows are of the same
// origin: chip, constants, settings and version; [ReadStatus] says how far
// the shards are, and [Merge] puts their files together. A [Search] needs no grid: it goes
// downhill to the constants with the least time or energy within a budget.
//
// Rows come in the grid's order with the same bytes for any number of goroutines and shards.
package sweep
