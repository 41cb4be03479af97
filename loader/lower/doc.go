// Package lower compiles layers to the descriptor chains that Apple's compiler would emit
// for the M1: the geometry, tiles, strides, splits, routes, events and estimates, and the weights
// in the order in which the engines read them.
//
//	layer + weights --family--> tasks, constants, ports, scratch --chain.Finish--> descriptors
//	                                                             --loader.Builder--> a program
//
// [Lower], [Compile] and [Sized] compile a single layer; package join compiles a network. Each of
// these packages, in loader/internal/lower, builds on those before it:
//
//	coeff    weights: their order and encoding in the lanes of the engines
//	place    where tensors are placed in memory and in L2; sets no registers
//	task     descriptors of single tasks: what they compute, and their operands
//	chain    the fields that depend on other tasks; apart from task, no other package sets registers
//	pass     what one descriptor computes, without addresses
//	rows     row chains: layers over rows of features that pass tiles to each other
//	family   single layers, by operation
//	join     networks: fusion, tensors that stay in L2, placement
//
// testdata/chains.md compares chains of layers with those of the compiler. All of its chains
// consist of matmuls, norms, softmax and elementwise operations. No program shows two
// convolutions in a row, so that they follow the same rules is inferred.
//
// Weights that a file stores in a packed form use one of the engine's own forms. In each lane,
// the data to unpack them comes before the planes. Each share of the channels uses the smallest
// form that reproduces the same fp16 values, or dense fp16 if no other form does ([layer.Form]).
// Which form the compiler uses, and where its parts are placed, is assumed:
//
//	dense     [bias row][taps, fp16]                  per plane
//	palette   codebook | [bias row][indices of 4 or 8 bits]
//	masked    [bias row][mask][values that are not zero]
//	int8      [scales][bias row][signed bytes]
//
// The rules were derived from some 300 programs of the compiler. Comments give the number of
// descriptors that follow a rule out of those it applies to, as in "seen in 81 of 84 tasks", or say that a rule
// is assumed. testdata/identity.md lists the programs whose text and constants are reproduced
// byte for byte, and the words that differ; a test keeps it up to date.
//
// testdata/layers and testdata/networks contain the registers of lowered layers and networks, and
// testdata/explained contains small programs with the reason for each register. Tests report a
// register that changes by its name (package golden).
//
// A layer that the engine cannot run is refused with a [*layer.LimitError], which names the limit
// and the nearest layer that fits. A layer whose registers no program shows is refused with a
// [*layer.UnsupportedError].
package lower
