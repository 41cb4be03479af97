// Package network reads networks and says what each of their layers is to the engine.
//
//	YAML list of layers (keys) ------------------------------+
//	Core ML package, model, text (translate) --+             |
//	ONNX model (onnx) -------------------------+--> graph    |
//	                                                  |      |
//	      transposes and operators in pieces: pattern |      |
//	      shapes, constants and bounds: ops           |      |
//	      what each tensor is: settle                 |      |
//	      layers that the engine has: choose          v      v
//	                                           list: layers in order
//	                                                  |
//	      what the engine does on the way             |
//	      out of a layer: fuse; rows: arrange         v
//	                                           join.Part a layer, joined by join.Network
//	                                                  |
//	                                                  v
//	      partition                            Program: one for the network, or one on
//	                                           each side of a gap
//
// The names in the picture are packages below.
//
// A compiled network is one program: biases, batch normalisation and rectifiers ride on
// the layer before them, since the engines add and clamp a result before it leaves. The
// same is done with the list, and [partition.Lower] makes one chain of the layers. Around a
// layer that the engine has no form for the network is cut, as the vendor's framework
// hands such a layer to another device. Where a tensor is read in rows of another length
// than it was made in, transposes lay it out anew. A tensor between layers stays in the L2
// where it fits beside what its layers need, and layers that one descriptor does together are
// one in the list of descriptors (see package lower); a [list.Network] that is InMemory keeps
// all of them in memory, with the same values.
//
// Nothing is dropped. A layer that the engine has no form for stays in the list with the
// reason in Reason; layers whose shape cannot be told behind it say so too.
//
// # Graphs
//
// Package settle goes over a graph first. A node whose inputs are constants becomes a
// constant (shapes that a file computes, weights that it keeps as integers with a scale);
// the shape of every other result follows from a rule of its operator, whether the engine
// does the operator or not, so that one missing layer does not hide those behind it. Then
// each node is read as layers, once: one where the engine has the operation, several where it
// is composed of them. A way that may fail, such as reading a pattern whole, or an operator as
// others, is an attempt with a builder of its own, which is kept or dropped. Some rules of
// composition:
//
//	transposes     between a layer and its reader all count as one change of order and of
//	               rows; what is left are the tasks that move the least (heads of attention)
//	Resize, Gather products with constant matrices along an axis, whatever the interpolation
//	ConvTranspose  a layer; in groups a convolution to as many channels a result as a step has
//	               places
//	Conv           taps apart are zeros between; long steps take blocks of the picture as channels;
//	               three axes are the sum of the pictures that each tap of depth meets
//	LSTM, GRU, RNN unrolled, the input's products of all steps in one task
//	comparisons    the sign of a difference, as ones and zeros
//	Where, If      sums of products with ones and zeros; If by a constant is one of its sides
//	attention      in the four forms that runtimes have of it: products, a softmax, products
//	quantised      numbers of eight bits, which fp16 has exactly, rounded and clamped as asked
//	STFT, DFT      products with waves
//
// What the engine has no form for and the reader can work out on constants, the host works
// out on values (see [list.Stage]): rows of a table by computed places, sorting, choosing boxes,
// whole numbers. It has a time by the rates that package placement assumes of a CPU, on the
// wall clock alone, and is placed ahead of the engine's layers or behind them where it can.
//
// How many boxes are chosen, and so the shape of what reads them, depends on values. The
// engine's programs have fixed shapes, so the host does what reads such a tensor, too, in the
// shapes of the run. Reading a graph finds the largest shapes, which times are for. Where the
// host has no function for an operator the engine reads the tensor at its largest, with zeros
// beyond the actual rows; a note says which layer and tensor that is. Of operators that mix no
// rows, and of those of the engine behind them, what is beyond is left out again (see [list.Cut]).
//
// Dimensions without a size have names; [Options] gives them sizes, and a [DimError] lists
// those that are needed. [partition.CoverageOf] says which outputs are not computed and why.
// Core ML's programs are stated in ONNX's operators first (see packages mil and coreml).
// Weights that they have as palettes, masks or bytes with scales, and those that an ONNX graph
// dequantises, are expanded to fp16 here and say to package lower what they were, which gives
// them a form of the engine's where that holds the same values.
//
// # JSON of anesim model
//
// Names are those of run's report, of the same schema number:
//
//	{"schema":1,"network":"..","file":"..","chip":"m1","host":"none",
//	 "programs":[{"first":"..","last":"..","layers":..,"descriptors":..,
//	   "scratch_bytes":..,"why":"..","file":".."}],
//	 "layers":[{"name":"..","op":"conv","in":[1,3,224,224],"out":[1,64,112,112],
//	   "kernel":"7x7/2","folded":["relu1"],"program":1,"modelled":true,
//	   "descriptors":1,
//	   "bound":"compute","tflops":..,"crc32":"..","note":"..",
//	   "total":{"cycles":..,"time_ns":..,"wall_ns":..,"energy_nj":..,
//	            "dispatch_energy_nj":0,"macs":..,"dma_bytes":..}}],
//	 "total":{"cycles":..,...,"idle_ns":..,"idle_energy_nj":..,"wake_ns":..,
//	   "wake_energy_nj":..,"host_energy_nj":..,"wall_energy_nj":..,"peak_w":..},
//	 "power":[{"at_ns":..,"for_ns":..,"watts":..,"energy_nj":..,"what":".."}],
//	 "not_modelled":[{"name":"..","op":"..","reason":".."}],
//	 "outputs":[{"name":"..","shape":[..],"crc32":".."}],
//	 "synthetic_inputs":[".."],"notes":[".."]}
//
// A program's first and last name layers, why what ended the program before it where that
// was no layer that is not modelled, file where it was written. kernel is taps, /stride
// and :groups, or "-"; program counts from 1 and is 0 for none. Descriptors that turn a
// tensor's channels to a row are their reader's. A layer that is not modelled has zeros
// for numbers, and is in no total. The dispatches' energy, one a program, is in the
// network's total and in no layer's. Its energy_nj is the engine's; wall_energy_nj has
// idling, waking and waiting for the host too, and is what the spans of power sum to: all
// programs in order, then all of them again where they are repeated. With values, outputs are there, and crc32 of a layer
// whose result leaves its program; note where a modelled layer's values could not be
// computed. What nothing computed is pseudo-random to its readers and among
// synthetic_inputs; outputs that rest on it are among coverage's lost_outputs alone.
package network
