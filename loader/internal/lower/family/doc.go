// Package family lowers single layers. One file for each family of operations defines what
// every descriptor computes, where each surface is placed, and how a tensor is split if it does not
// fit L2.
//
//	Layer + Weights
//	   |  Lower: Validate, then the table from operation to family
//	   v
//	Output: tasks, constants, ports, scratch
//
// A family is a function that takes an Output and a job: a layer, its weights and the places of its
// surfaces. An operation that no program shows is lowered to sublayers, which pass tensors
// through scratch memory within one Output. Pieces are lowered by the same table:
//
//	pool, long strides     maxima or rows by DMA strides, with rows and columns transposed
//	transposed convolution a convolution for each phase, columns transposed the cheaper way
//	prelu, sin, min ...    operations that programs show, one after the other
//
// [TileHeight] returns how many source rows a task of the MAC engines has in L2 at a time, and how
// many result rows it computes from them.
//
// If the compiler's choice is not known, such as for tensors larger than L2 in operations that
// programs show only on small ones, the chain computes the layer in some other way, and its
// comment says so.
package family
