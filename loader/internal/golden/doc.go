// Package golden keeps what tests expect in files that a person reads: layers and networks
// in words, and behind each the program or the list of layers that is made of it.
//
// A file is a list of cases. A case is an input, a line of dashes and the output, which ends
// at the next empty line:
//
//	# Why this case is here.
//	matmul m=4 k=64 n=64
//	----
//	in x b5 1x1x4x64, rows of 128 bytes
//	out y b4 1x1x4x64, rows of 128 bytes
//	td 0: copy, the result transposed
//	  Common  Cfg{ActiveNE=2 ShPref=3 ShMin=3 ShMax=3} InDim{Win=64 Hin=4}
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
// [Program] is the text of a program. A descriptor is a line of what it computes, a line each
// of what it reads and writes, and its registers by group. Fields that have the value of
// blank.txt, which every descriptor has, are left out. blank.txt is what a descriptor that
// computes nothing is made of, as descriptor text.
package golden
