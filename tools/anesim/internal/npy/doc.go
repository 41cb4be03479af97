// Package npy reads and writes NumPy's .npy files of half-precision numbers, the form a
// port's tensor has outside the model.
//
//	+--------------+---------+--------+-----------------------------+-----------------+
//	| \x93 N U M P Y | version | length | {'descr': '<f2', ...}   \n | halves, C order |
//	+--------------+---------+--------+-----------------------------+-----------------+
//	0              6         8        10 (12 from version 2.0 on)   multiple of 64
//
// Versions 1.0, 2.0 and 3.0 are read, 1.0 is written, byte for byte as numpy.save writes
// it. The element type is '<f2' and nothing else: a silent conversion would hide that the
// engine rounds. An array in Fortran order is read into C order.
package npy
