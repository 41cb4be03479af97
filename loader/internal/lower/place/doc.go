// Package place describes where tensors are placed: in memory, in L2 and in the scratch
// buffer. It knows no descriptors and sets no registers.
//
//	Memory    a surface in a buffer: its base, and the strides of rows, planes, depths and groups
//	View      a surface with its axes in the order of an operation
//	Layout    a tile in L2, with rows skewed so that a [Fetch] has no bank conflicts
//	Extent    bytes that are in use during some steps; [Allocate] assigns addresses
//	Scratch   allocates the scratch buffer while steps are still being lowered
//
// L2 is the memory on the chip. The scratch buffer is in main memory: it holds tensors that
// do not stay in L2, and rows that become weights of a matmul.
//
// The layouts are those of Apple's programs. Comments give the number of descriptors that
// follow a rule out of those it applies to, as in "seen in 81 of 84 tasks", or say that a rule is assumed.
package place
