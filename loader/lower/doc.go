// Package lower makes a layer the descriptor chain that the vendor's compiler writes for
// it on the M1: geometry, tiles, strides, splits, routes, events and estimates, and the
// coefficients in the order the engines read them.
//
//	layer + weights --family--> tasks, constants, ports, scratch --chain.Finish--> descriptors
//	                                                             --loader.Builder--> a program
//
// [Lower], [Compile] and [Sized] are the ways in for a layer by itself; package join is the one
// for a network. The work is done below, each package on those before it:
//
//	coeff    coefficients: which weight stands where in the lanes of the engines
//	place    where tensors are in memory and in the L2; no registers
//	task     descriptors of tasks by themselves: what they compute, their operands
//	chain    what follows from the tasks around each; no other package sets a register
//	pass     what one descriptor computes, without places
//	rows     layers over rows of features that hand each other tiles
//	family   a layer by itself, by its operation
//	join     networks: fusion, what stays in the L2, placement
//
// testdata/chains.md says how chains of layers stand beside the compiler's. All of its
// chains are of matrix products, norms, softmax and elementwise operations: that
// convolutions follow the same rules is inferred, no program shows two of them.
//
// Weights that a file has packed are coefficients of one of the engine's forms, each lane's
// planes behind what unpacks them; the smallest of those that give the same fp16 values is
// taken for each share of the channels, and dense fp16 where none does ([layer.Form]; which form
// the compiler takes, and where its parts stand, is assumed):
//
//	dense     [bias row][taps, fp16]                  per plane
//	palette   codebook | [bias row][indices of 4 or 8 bits]
//	masked    [bias row][mask][values that are not zero]
//	int8      [scales][bias row][signed bytes]
//
// The rules are read from some 300 programs of the compiler; beside each stands how many
// of the descriptors it applies to it explains, as (holds/applies), or that it is assumed.
// testdata/identity.md is the table of the programs whose text and constants
// come out the same byte for byte, and of the words that do not; a test keeps it.
//
// testdata/layers and testdata/networks have what layers and networks are lowered to, register
// by register, and testdata/explained has small programs with the reason of each register behind
// it. Tests report a register that changes by name (package golden).
//
// A layer that the engine cannot run is refused with a [*layer.LimitError] that names the
// limit and the nearest layer that fits, one whose registers no program shows with an
// [*layer.UnsupportedError].
package lower
