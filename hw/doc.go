// Package hw models the device. It connects the units, holds the constants of each chip with their
// evidence, and computes the values, cycles, bytes and energy of tasks.
//
//	            regs.Task
//	                |
//	          regs.Operands          sources, result, weights: addresses, strides, sizes
//	                |
//	     +----------+-----------+
//	     | timing               | values (only if requested)
//	     v                      v
//	dma   bytes, cycles      dma    rows of the source, from memory or from L2
//	l2    banks, conflicts   tiles  reduction, post-processing, activation
//	tiles work units, gates  planar elementwise operations, reductions
//	planar elements          dma/l2 rows of the result
//	     |                      |
//	     v                      v
//	 DescriptorReport{cycles by cause, units, bytes, counters, energy}   device memory
//
// The descriptors of a chain overlap. Each engine has 64 KiB of kernel memory, and the weights of a
// task with several patches stay in it, so the weights of the next task are prefetched only as far
// as there is room. A source is prefetched if L2 has room and the previous descriptor does not
// write it. Results drain while the next descriptor runs. The pipeline in pipeline.go computes how
// many cycles each descriptor then adds to the chain, and gives each of those cycles one cause. Two
// descriptors with a ring of rows between them run at the same time, tile by tile.
//
// Timing and values use the same walk over a task. Timing touches no tensor bytes; execution adds
// the values. Cycles, bytes and counters come from the same code in both cases. A task that would
// hang or crash the silicon yields a Fault in the report, with the unit, the descriptor and the
// cycle. A task that the model cannot compute, for example because of a bit whose meaning no
// program shows, gets a limit in its report, and the model claims no outputs.
package hw
