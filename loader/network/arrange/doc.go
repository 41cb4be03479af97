// Package arrange puts tensors into the order and the rows that layers read them in.
//
// A tensor stands in memory in rows of whole 64 bytes, so that a view in rows of another length
// is no task where rows have no gaps and else several transposes. One transpose puts channels,
// rows and columns in any order, within what fits the L2. [Rearrange] takes all transposes and
// views between a layer and its reader as one change of order and finds the tasks that move the
// least; [ShareColumns] prepares the columns of a tensor once for all products that read them.
package arrange
