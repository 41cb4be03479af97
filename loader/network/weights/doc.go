// Package weights gives layers the values that the engine needs of them.
//
// A descriptor of a convolution or a product reads its kernel from the program, and one that
// looks its results up has a table beside it. A file may leave weights out, and none has tables:
// [Complete] makes the missing ones, the same on every machine, and the tables of the operation
// and of the activation behind it. [Streamed] and [Sizes] do so without holding all of them.
package weights
