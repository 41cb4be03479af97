// Package golden keeps what tests expect in files that a person reads: layers and networks
// in words, and behind each the program or the list of layers that is made of it.
//
// A file is a list of cases. A case is an input, a line of dashes and the output, which ends
// at the next empty line:
//
//	# Why this case is here.
//	matmul m=4 k=64 n=64
//	----
//	output y b4 1x1x4x64, strides 512 512 128 2
//	input x b5 1x1x4x64, strides 512 512 128 2
//	constants 8192 bytes, checksum 5b2c0a1e
//	td 0: copy, the result transposed
//	  reads   4 channels of 1x64, input x (b5)
//	  writes  64 channels of 1x4, the L2 at 0
//	  Common: InDim{Win=64 Hin=1} Cin=4 Cout=4 Cfg{ShPref=3 ShMin=1 ShMax=3 ActiveNE=4 Transpose=1}
//
// A test reads the files with [Test] and makes each output anew. Where it differs, the test
// names what changed: [Changes] reads both texts as descriptors and their registers,
//
//	testdata/layers/matmul.txt:12: matmul m=4 k=64 n=64: td 0 Common.Cfg.ShPref 3 -> 2
//
// and -rewrite writes the files with the outputs of today:
//
//	go test ./loader/lower ./loader/network -rewrite
//
// [Explained] is Test for programs in which every register has its reason behind it.
//
// The files stand in the testdata of the package whose code makes their outputs, so that its own
// tests notice what it changes: loader/lower has layers, networks and explained programs,
// loader/network what files are read as. They are not in package vectors, which is data that
// judges the model and knows nothing of it.
//
// [Program] is the text of a program. A descriptor is a line of what it computes, a line each
// of what it reads and writes, and its registers by group. One that is much like a descriptor
// before it names that and what differs. Fields that have the value of blank.txt, which every
// descriptor has, are left out. blank.txt is what a descriptor that
// computes nothing is made of, as descriptor text.
package golden
