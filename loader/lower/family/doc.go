// Package family lowers a layer by itself: a file for each family of operations says what every
// descriptor of it computes, which surface goes where, and how a tensor is shared out that does
// not fit the L2 whole.
//
//	Layer + Weights
//	   |  Lower: Validate, then the table from operation to family
//	   v
//	Output: tasks, constants, ports, scratch
//
// A family is a function of an output and a job: the layer, its weights and where its surfaces
// are. An operation that no program shows is made of pieces, layers joined by scratch memory
// within one output. They go through the table again, so it is here:
//
//	pool, long strides     maxima or rows by DMA strides, rows and columns transposed
//	transposed convolution a convolution for each phase, columns turned by the cheaper of two ways
//	prelu, sin, min ...    what programs show, one after the other
//
// How many rows of a source of the MAC engines stand in the L2 at a time, and how many rows of
// the result they make, is [TileHeight].
//
// Where the compiler's choice is not known, such as for tensors larger than the L2 in operations
// whose examples are small, the chain here is one that computes the layer, and its comment says
// so.
package family
