// Package rows lowers row chains: neighboring layers over rows of features, as transformers have
// them. Their tasks pass tiles to each other in L2:
//
//	x [row][feature] --transpose--> columns [feature][row] --matmul--> columns or rows
//	                 \--layer norm, softmax, add on rows as they are
//
// Columns are transposed once for all matmuls that read them, and a matmul produces columns or
// rows. The left side of a matmul of two tensors is written to the scratch buffer as weights.
// Pixel chains are the same for tensors with features as channels, [feature][pixel], as the compiler of
// 2026 schedules them ([LowerPixels]).
//
// [Lower] lowers the groups of a row chain, and [LowerGroup] a single group, because some matmuls
// are row chains of one group.
//
//	group.go, lower.go        the groups of a chain, and the order of its tasks
//	rows.go, layout.go        tensors of a chain in L2: rows, columns, blocks of columns
//	operations.go, norm.go, product.go, kernel.go, sharedinputs.go
//	                          the tasks of each kind of group
//	blocks.go                 matmuls over blocks of eight rows
//	pixel*.go                 pixel chains
package rows
