// Package lower makes a layer the descriptor chain that the vendor's compiler writes for
// it on the M1: geometry, tiles, strides, splits, routes, events and estimates, and the
// coefficients in the order the engines read them.
//
//	Layer + Weights
//	   |  Validate: shapes, and the limits of the registers
//	   v
//	plan: tasks, constants, ports, scratch
//	   |  one file a family: conv, pairs, matmul, runtime, elementwise, unary,
//	   |  reduce, softmax, layernorm, move
//	   v
//	chain.finish: what a task takes from its neighbours
//	   v
//	loader.Builder --> loader.Program, which runs
//
// A network is the plans of its layers, as parts, joined before the chain is finished:
//
//	Network: parts, tensors between them
//	   |  fold: layers that one descriptor does, runs of layers over rows of features
//	   v  wire: tensors by name, shapes seen anew
//	steps
//	   |  reside: what stays in the L2, from its first step to its last
//	   v  place: buffers, scratch, constants
//	chain of all tasks --finish--> one Builder: one program, one dispatch
//
// Three things are done across layers, as the compiler does them:
//
//   - Fusion. Bias, factor, rectifier and one table ride on the product or convolution
//     before them; a rectifier rides on an addition. Nothing rides behind a second table,
//     a layer norm or a softmax, and a residual addition stands by itself.
//   - Residency. A tensor between layers stays in the L2 where it fits beside what its
//     steps need, at the lowest address free for as long as it lives; an input that
//     several layers read is kept by the first. Other tensors go through the scratch
//     buffer, placed by the same rule. [Network.InMemory] sends all of them there, with the
//     same values. The hints and the order of what the tile DMA moves follow from the
//     addresses (chain.reuse).
//   - Rows of features, as transformers have them, have a form of their own (package rows):
//     columns prepared once for all the products that read them, products that hand on
//     columns or rows, and left sides of products of two tensors as coefficients in the
//     scratch buffer.
//
// testdata/chains.md says how chains of layers stand beside the compiler's. All of its
// chains are of matrix products, norms, softmax and elementwise operations: that
// convolutions follow the same rules is inferred, no program shows two of them.
//
// Descriptors, constants and the values of every layer are those of the layer by itself;
// addresses, header words and waits are those of the whole chain. An operation that no
// program shows is made of pieces, layers joined by scratch memory within one plan:
//
//	pool, long strides     maxima or rows by DMA strides, rows and columns transposed
//	transposed convolution a convolution for each phase
//	prelu, sin, min ...    what programs show, one after the other
//
// A task is built from its operands: [surface] and [matrix] place a tensor in memory,
// [packed] and its relatives place a tile in the L2, and a task reads, joins, leaves or
// writes them:
//
//	memory   x [c][h][w]                                  y
//	            | source1                                  ^ writes
//	L2       | result of an earlier task | source tile | result ... |
//	            ^ leaves      | reads, joins
//	engines    MAC engines: coefficients by lane        planar engine
//
// Weights that a file has packed are coefficients of one of the engine's forms, each lane's
// planes behind what unpacks them; the smallest of those that give the same fp16 values is
// taken for each share of the channels, and dense fp16 where none does ([layer.Form]; which form the
// compiler takes, and where its parts stand, is assumed):
//
//	dense     [bias row][taps, fp16]                  per plane
//	palette   codebook | [bias row][indices of 4 or 8 bits]
//	masked    [bias row][mask][values that are not zero]
//	int8      [scales][bias row][signed bytes]
//
// The rules are read from some 300 programs of the compiler; beside each stands how many
// of the descriptors it applies to it explains, as (holds/applies), or that it is assumed. testdata/identity.md is the table of the programs whose text and constants
// come out the same byte for byte, and of the words that do not; a test keeps it.
//
// testdata/layers and testdata/networks have what layers and networks are lowered to, register
// by register, and testdata/explained has small programs with the reason of each register behind
// it. Tests report a register that changes by name (package golden).
//
// A layer that the engine cannot run is refused with a [*layer.LimitError] that names the
// limit and the nearest layer that fits, one whose registers no program shows with an
// [*layer.UnsupportedError]. Where the compiler's choice is not known, such as for tensors
// larger than the L2 in operations whose examples are small, the chain here is one that
// computes the layer, and its comment says so.
package lower
