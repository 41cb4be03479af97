// Package weights supplies the constants that layers need to run on the engine: weights that a network's
// file lacks, and the lookup tables of activation functions.
//
// The descriptor of a convolution or a matmul reads its weights from the program, and a
// descriptor that looks results up also has a table. A file may leave weights out, and no file
// has tables. [Complete] generates the missing weights, the same on every machine, and adds the
// tables of the operation and its activation. [Streamed] and [Sizes] do so without holding all
// weights in memory.
package weights
