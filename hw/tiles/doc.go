// Package tiles is the MAC array: sixteen engines of two tiles, each tile with a clock
// and power gate of its own, and how the work of a descriptor is dealt out to them.
//
//	        broadcast of the source tile, one input channel a step
//	    +------------+------------+---- ... ----+
//	 engine 0     engine 1     engine 2      engine 15
//	+---+---+    +---+---+    +---+---+     +---+---+
//	|t0 |t1 |    |t2 |t3 |    |t4 |t5 |     |t30|t31|   128 MACs a tile
//	+---+---+    +---+---+    +---+---+     +---+---+
//	\______________ cluster 0 ... 3 ________________/
//
// Every engine sees the same pixels and works on output channels of its own, which its
// coefficient lane holds. A work unit is one patch of up to 256 pixels and one
// output-channel group of every engine: per output channel an engine takes one step for
// each (input channel, tap) and one for a bias, of sparse weights only those steps that
// the busiest lane has coefficients for. All engines of a round see the same pixels: one
// with one tile open works at half the rate and the others wait for it. The output-channel
// groups of an engine without an open tile go to the others, a group at a time, in rounds
// more; so do those of one with one tile where that is quicker (assumed).
// Values do not depend on gates, and not on the number of workers that compute
// them here.
package tiles
