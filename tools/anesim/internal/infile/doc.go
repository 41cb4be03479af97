// Package infile reads input files through a mapping of memory, and survives files that
// shrink while they are read.
//
// A mapped file is read without a copy of its own in the program's memory. What stands
// behind the mapping is the file as it is at that moment: one that is truncated, or
// sparse on a full disk, has no page to give, and the kernel answers the read with a
// fault, SIGBUS, that ends a program. Here the fault is an error of the read instead.
package infile
