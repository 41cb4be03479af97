// Package mac holds the numbers of the engine's multiply-accumulate units:
// fp16 rounding, the reduction, what happens to an accumulator on its way out,
// activation tables and the packed forms of weights. It knows nothing of time,
// addresses or registers.
//
// One output value takes this way through the hardware:
//
//	halves    x0 w0  x1 w1  x2 w2  x3 w3     four consecutive taps, a tile
//	           \ /    \ /    \ /    \ /
//	Widen       *      *      *      *       exact products
//	            |      |      |      |
//	Reduce      +->12->+->12->+->12->+       each sum keeps 12 bits below the
//	                                 |       larger operand's leading one
//	                +----------------+
//	                v
//	             [ fp32 accumulator ]        tile sums in tile order;
//	                |                        |acc| >= 32768 sticks at infinity
//	Post       * scale, + bias
//	                |
//	           ReLU or table
//	                |
//	Port       round once, half to even      |h| >= 32768 is infinity again
//	                v
//	              half
//
// [Reduce] does the middle part for a row of outputs at once. Its panel holds
// operands the way an engine sees them, one row per tap and one column per
// output, so the code is vectorised across outputs and never along the
// reduction: AVX2, AVX-512 and NEON give the bits of the portable code.
// Building with the tag purego leaves only the portable code.
//
// A panel without negative values, taps many of which are zero, and rows that
// overlap ([ReduceRows]) have kernels of their own where they are faster.
//
// A [Table] is what an activation is on this engine. [TableOf] makes the tables of
// the functions that a network names, and those of the parts of functions that take
// several tasks; [LeakyReLU], [Clip], [Maximum] and their neighbours take parameters.
// The modes of real tables are read in mode.go.
//
// What is measured on silicon, what follows from measurements and what is only
// assumed is told apart where each choice is made: products and the tile adder
// in reduce.go, operands in widen.go, the way out in port.go and post.go, tables
// in mode.go, table.go and eval.go.
package mac
