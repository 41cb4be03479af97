// Package rows lowers neighbouring layers over rows of features, as transformers have them, to
// tasks that hand each other tiles in the L2:
//
//	x [row][feature] --transpose--> columns [feature][row] --product--> columns or rows
//	                 \--layer norm, softmax, add on rows as they are
//
// Columns are prepared once for all the products that read them; products hand on columns or
// rows; and the left sides of products of two tensors become coefficients in the scratch buffer.
// [Lower] takes the groups of a run of layers, [Alone] one group by itself: some products are
// such chains of one.
package rows
