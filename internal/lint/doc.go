// Package lint finds mistakes in compiled programs that the engine does not report: the programs
// run, but their results are wrong or they are slow.
//
// A descriptor contains only addresses. Which tensor is at an address, and for how long, is known
// only to the compiler; the engine reads the bytes that it finds. Lint therefore walks the chain
// once and records, for every byte of device memory and of L2, which descriptor wrote it:
//
//	td 0   a a a a a a . .      a result of six units
//	td 1   a a a a b b b b      unread units of it are overwritten ...
//	td 2   ^ ^ ^ ^ ^ ^          ... and read as if they were still there: overlap
//
// The rules [Overlap], [Unread] and [Unwritten] follow from these records. [Fold] checks the
// strides of a single surface. [Hint] compares the fields that declare dependencies with the
// addresses. Each rule is based on programs of Apple's compiler, and each finding names its
// evidence.
//
// Lint works with exact bytes. A surface consists of rows at multiples of 64 bytes in memory and of
// 16 bytes in L2. Rows are rounded up to whole units of that size, and two rows overlap if they
// share a unit. Rows without a gap are one run, so a whole tensor is usually one run. Time and
// memory are limited in proportion to the number of descriptors. Surfaces beyond the limit are left
// undecided, and the report counts them.
package lint
