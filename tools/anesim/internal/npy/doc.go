// Package npy reads and writes NumPy's .npy files of fp16 values, the form in which tensors enter
// and leave the model.
//
//	+--------------+---------+--------+-----------------------------+-----------------+
//	| \x93 N U M P Y | version | length | {'descr': '<f2', ...}   \n | fp16, C order   |
//	+--------------+---------+--------+-----------------------------+-----------------+
//	0              6         8        10 (12 from version 2.0 on)   multiple of 64
//
// It reads versions 1.0, 2.0 and 3.0 and writes version 1.0, byte for byte as numpy.save does.
// Read accepts only element type '<f2': a silent conversion would hide that the engine rounds.
// ReadRounded also accepts other types. Arrays in Fortran order are read into C order.
package npy
