// Package tiles models the MAC array: sixteen engines of two tiles, each tile with its own clock
// and power gate, and the distribution of a descriptor's work over them.
//
//	        broadcast of the source, one input channel per step
//	    +------------+------------+---- ... ----+
//	 engine 0     engine 1     engine 2      engine 15
//	+---+---+    +---+---+    +---+---+     +---+---+
//	|t0 |t1 |    |t2 |t3 |    |t4 |t5 |     |t30|t31|   128 MACs per tile
//	+---+---+    +---+---+    +---+---+     +---+---+
//	\______________ cluster 0 ... 3 ________________/
//
// All engines see the same pixels. Each works on its own output channels, whose weights are in its
// weight lane. A work unit is one patch of up to 256 pixels and one output-channel group of
// every engine. For each output channel an engine takes one step per (input channel, tap) and one
// for a bias. With sparse weights it takes only the steps for which the busiest lane has weights.
//
// Closed tiles slow the array down. An engine with one open tile works at half the rate, and the
// other engines of the round wait for it. The output-channel groups of an engine without an open
// tile are added to the others, one group at a time, in additional rounds. So are the groups of an
// engine with one open tile if that is faster (assumed). Values depend neither on the gates nor on
// the number of goroutines that compute them.
package tiles
