// Package mac models the arithmetic of the engine's multiply-accumulate units: fp16 rounding, the
// reduction, post-processing of accumulators, activation tables and packed weights. It does not
// model time, addresses or registers.
//
// The hardware computes one output value as follows:
//
//	halves    x0 w0  x1 w1  x2 w2  x3 w3     four consecutive taps, an adder tile
//	           \ /    \ /    \ /    \ /
//	Widen       *      *      *      *       exact products
//	            |      |      |      |
//	Reduce      +->12->+->12->+->12->+       each sum keeps 12 bits, counted from
//	                                 |       the leading one of the larger operand
//	                +----------------+
//	                v
//	             [ fp32 accumulator ]        sums of the adder tiles in order;
//	                |                        |acc| >= 32768 stays at infinity
//	Post       * scale, + bias
//	                |
//	           ReLU or table
//	                |
//	Port       round once, half to even      |h| >= 32768 becomes infinity again
//	                v
//	              half
//
// [Reduce] computes the middle part for a row of outputs at once. Its panel holds the operands in
// the order of an engine, one row per tap and one column per output. The code is therefore
// vectorised across outputs and never along the reduction, and AVX2, AVX-512 and NEON give the same
// bits as the portable code. The build tag purego selects only the portable code.
//
// Panels without negative values, taps with many zeros, and overlapping rows ([ReduceRows]) have
// their own assembly kernels where those are faster.
//
// A [Table] holds an activation function of the engine. [TableOf] makes the tables of functions
// that networks name, and of the parts of functions that need several tasks. [LeakyReLU], [Clip],
// [Maximum] and similar functions take parameters. The modes of real tables are defined in mode.go.
//
// Comments at each choice say whether it was measured on silicon, inferred from measurements or
// only assumed: products and the tile adder in reduce.go, operands in widen.go, post-processing in
// port.go and post.go, tables in mode.go, table.go and eval.go.
package mac
