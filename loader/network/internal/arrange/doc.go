// Package arrange converts tensors to the axis order and the rows in which layers read them.
//
// A tensor is stored in rows that are padded to multiples of 64 bytes. A view in rows of
// another length needs no task if rows have no gaps, and several transposes otherwise. One
// transpose can put channels, rows and columns in any order if the data fit in L2. [Rearrange]
// treats all transposes and views between a layer and its reader as one change of order, and
// finds the tasks that move the fewest bytes. [ShareColumns] transposes a tensor once for all
// matmuls that read its columns. [SkewSlices] shifts the rows of scores by their positions.
package arrange
