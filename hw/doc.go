// Package hw is the device: it wires the units together, holds a chip's constants with
// the evidence for each, and turns a task into values, cycles, bytes and energy.
//
//	            regs.Task
//	                |
//	          regs.Operands          sources, result, coefficients: where, how far, how much
//	                |
//	     +----------+-----------+
//	     | timing               | values (only when asked)
//	     v                      v
//	dma   bytes, cycles      dma    rows of the source, from memory or from the L2
//	l2    banks, conflicts   tiles  reduction, post-processing, activation
//	tiles work units, gates  planar element-wise, reductions
//	planar elements          dma/l2 rows of the result
//	     |                      |
//	     v                      v
//	 DescriptorReport{cycles by cause, units, bytes, counters, energy}   device memory
//
// A chain is more than its descriptors one by one. Coefficients of a task with several
// patches stay in the 64 KiB of kernel memory of each engine, so that those of the next
// task come early only as far as there is room; a source comes early when the scratchpad
// has room and the one before does not write it; results drain beside what follows. The
// pipeline in pipeline.go says what that leaves of each descriptor's time, and each of
// those cycles has one cause. Two descriptors with a ring of rows between them run beside
// each other, tile by tile.
//
// The device has two faces over one walk. The timing face touches no tensor bytes; the
// execution face adds the values. Cycles, bytes and counters come from the same code for
// both. What the silicon would not survive is a Fault in the report, with the unit, the
// descriptor and the cycle; what the model cannot compute, a bit that no program explains
// among it, is a limit of the descriptor, and no outputs are claimed.
package hw
