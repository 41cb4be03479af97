// Package join makes one program of the layers of a network: one chain of descriptors, one
// dispatch.
//
//	Network: parts, tensors between them
//	   |  fuse: layers that one descriptor does
//	   |  fold: runs of layers over rows of features
//	   v  wire: tensors by name, shapes seen anew
//	steps
//	   |  reside: what stays in the L2, from its first step to its last
//	   v  place: buffers, scratch, constants
//	chain of all tasks --Finish--> one Builder
//
// Two things are done across layers here, as the compiler does them, beside the chains of
// package rows:
//
//   - Fusion. Factor, bias, rectifier and one table ride on the product or convolution
//     before them; a rectifier rides on an addition. Nothing rides behind a second table,
//     a layer norm or a softmax, and a residual addition stands by itself. Each rule is a row
//     of one table (rules.go) and works on layers before they are lowered ([Fusion]): on
//     those of a file, whose tensors nobody has arranged yet, and on those of a program.
//   - Residency. A tensor between layers stays in the L2 where it fits beside what its
//     steps need, at the lowest address free for as long as it lives; an input that
//     several layers read is kept by the first. Other tensors go through the scratch
//     buffer, placed by the same rule. [Network.InMemory] sends all of them there, with the
//     same values. The hints and the order of what the tile DMA moves follow from the
//     addresses.
//
// Descriptors, constants and the values of every layer are those of the layer by itself;
// addresses, header words and waits are those of the whole chain.
package join
