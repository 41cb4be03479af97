// Package golden keeps the expected results of tests in files that people can read. The
// files describe layers and networks in words, each followed by the program or the list of
// layers that is compiled from it.
//
// A file is a list of cases. A case is an input, a line of dashes and the output, which
// ends at the next empty line:
//
//	# Why this case is here.
//	matmul m=4 k=64 n=64
//	----
//	output y b4 1x1x4x64, strides 512 512 128 2
//	input x b5 1x1x4x64, strides 512 512 128 2
//	constants 8192 bytes, checksum 5b2c0a1e
//	td 0: copy, the result transposed
//	  reads   4 channels of 1x64, input x (b5)
//	  writes  64 channels of 1x4, L2 at 0
//	  Common: InDim{Win=64 Hin=1} Cin=4 Cout=4 Cfg{ShPref=3 ShMin=1 ShMax=3 ActiveNE=4 Transpose=1}
//
// A test reads the files with [Test] and computes each output again. If it differs, the test
// reports the changes by name. [Changes] reads both texts as descriptors with registers:
//
//	testdata/layers/matmul.txt:12: matmul m=4 k=64 n=64: td 0 Common.Cfg.ShPref 3 -> 2
//
// With -rewrite the tests store the current outputs in the files:
//
//	go test ./loader/lower ./loader/network -rewrite
//
// [Explained] is like Test for programs in which every register is followed by a reason.
//
// The files are in the testdata of the package whose code computes their outputs, so that its
// own tests notice a change: loader/lower has layers, networks and explained programs, and
// loader/network has the layers that files are read as. They are not in package vectors,
// whose data judges the model independently of it.
//
// [Program] returns the text of a program. A descriptor is a line with its operation, lines
// with its operands, and its registers by group. A descriptor that resembles an earlier one
// names that one and lists only the differences. Fields with the same value as in blank.txt
// are left out. blank.txt is, as descriptor text, the descriptor that computes nothing.
package golden
