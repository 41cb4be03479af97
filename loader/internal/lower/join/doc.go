// Package join compiles the layers of a network to one program, a chain of descriptors that the engine
// runs in one dispatch.
//
//	Network: parts, tensors between them
//	   |  fuse: layers that one descriptor can compute together
//	   |  find chains: runs of layers that work on rows (package rows)
//	   v  wire: tensors by name, transposed where a layer reads another shape
//	steps
//	   |  place residents: tensors that stay in L2 from their first step to their last
//	   v  place: buffers, scratch, constants
//	chain of all tasks --Finish--> one Builder
//
// Three optimizations reach across layers, in addition to the chains of package rows. The first two are the
// compiler's, the third is inferred (inplace.go):
//
//   - Fusion. A factor, a bias, a ReLU and one table are merged into the matmul or convolution
//     before them, and a ReLU is merged into an addition. Nothing is merged after a second table,
//     a layer norm or a softmax, and a residual addition keeps its own task. The rules are
//     the rows of one table (rules.go) and work on layers before they are lowered ([Fusion]):
//     first on the layers of a file, whose tensors are not laid out yet, and again on the
//     layers of a program.
//   - Residency. A tensor between layers stays in L2 if it fits next to everything that its steps
//     need, at the lowest address that is free for its whole lifetime. An input that several
//     layers read stays in L2 after the first one has loaded it. Other tensors go through the
//     scratch buffer, which is allocated by the same rule. [Network.InMemory] sends all tensors
//     there, with the same values. The hints and the order of tile DMA transfers follow from the
//     addresses.
//   - Concatenations in place. A producer writes its result where the concatenation has it, so that nothing is
//     copied.
//
// Each layer keeps the descriptors, constants and values that it has when it is lowered on its own.
// Addresses, header words and waits are computed for the whole chain.
package join
