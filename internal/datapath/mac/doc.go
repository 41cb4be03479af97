// Package mac models the arithmetic of the engine's multiply-accumulate units: fp16 rounding, the
// reduction, post-processing of its sums, activation tables and packed weights. It does not model
// time, addresses or registers.
//
// The hardware computes one output value as follows:
//
//	halves   x0 w0   x1 w1   x2 w2  ...   one pair for each tap
//	          \ /     \ /     \ /
//	Widen      *       *       *          exact products; 0 if the exponents of x and w
//	           |       |       |          add up to less than -16
//	         round   round   round        to multiples of 2^-16, ties away from zero
//	           |       |       |
//	Reduce  >--+-------+-------+--> acc   fixed-point sum, which starts at the bias;
//	                                 |    |acc| >= 32768 becomes infinity and stays it
//	Post                        * scale, + bias, where a task scales
//	                                 |
//	                           ReLU or table
//	                                 |
//	                               round  to fp16, ties away from zero
//	                                 v
//	                                half
//
// Public checksums, of which one wrong bit would change a digit, show the products and both roundings on
// M1 to M6. Single sums of M4 and M6 show the limit and the bias. The place of the scale is assumed. So
// products lose bits, and sums do not. The error of a product, up to 2^-17 or all of one that is dropped,
// does not depend on the size of the sum, and layers with many small products suffer most.
//
// Generations differ in two properties, which an [Arithmetic] holds. The M1 reads infinities, and adds
// terms in groups of four, with the precision of fp16 where a term or a group reaches 4096. M4 and M6
// read ordinary numbers in place of infinities and NaNs, and add all terms exactly.
//
// Sums of fixed-point numbers are the same in any order unless one reaches the limit or a term
// is as large as that. [Arithmetic.Reduce] uses this: it computes a row of outputs at once, in the
// fastest form that the ranges of its operands permit, and follows the definition term by term only
// where the order can matter. Its panel has one row per tap and one column per output, so the code is
// vectorised across outputs and never along the reduction. AVX2, AVX-512 and NEON give the same bits
// as the portable code, and the build tag purego selects that alone. Taps with many zeros and
// overlapping rows ([Arithmetic.ReduceRows]) have their own kernels.
//
// A [Table] holds an activation function of the engine. [TableOf] makes the tables of functions
// that networks name, and of the parts of functions that need several tasks. [LeakyReLU], [Clip],
// [Maximum] and similar functions take parameters. The modes of real tables are defined in mode.go.
//
// Comments at each choice say whether it was measured on silicon, follows from checksums, was inferred
// from measurements or is only assumed. The definition of the sums is in rule.go and that of operands
// in widen.go, the ways to compute sums are in reduce.go, taps.go and blocks.go, post-processing is in
// post.go, and tables are in mode.go, table.go and eval.go.
package mac
