// Package place says where tensors are: in memory, in the L2 and in the scratch buffer. It knows
// no descriptor and sets no register.
//
//	Memory    a surface in a buffer: its base and the strides of its rows, planes and elements
//	View      a memory whose axes are in an operation's own order
//	Layout    a tile in the L2, whose rows are skewed so that a [Fetch] meets no bank twice
//	Extent    bytes that are taken from one step to another; Allocate gives each a base
//	Scratch   the same, while the steps are still being made
//
// The scratchpad on the chip is called L2 here. The scratch buffer is memory: where tensors are
// that do not stay in the L2, and rows on their way to being weights.
//
// The layouts are those of the vendor's programs. Beside each rule stands how many of the
// descriptors it applies to it explains, as (holds/applies), or that it is assumed.
package place
