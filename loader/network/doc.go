// Package network reads networks and converts them to layers of the engine.
//
//	YAML list of layers (keys) ------------------------------+
//	Core ML package, model, text (translate) --+             |
//	ONNX model (onnx) -------------------------+--> graph    |
//	                                                  |      |
//	      transposes and operator patterns: pattern   |      |
//	      shapes, constants and bounds: ops           |      |
//	      facts about tensors: settle                 |      |
//	      layers of the engine: choose                v      v
//	                                           list: layers in order
//	                                                  |
//	      merging layers: join; rows: arrange         |
//	                                                  v
//	                                           join.Part a layer, joined by join.Network
//	                                                  |
//	                                                  v
//	      partition                            Program: one for the network, or one on
//	                                           each side of a gap
//
// The names in the picture are packages below this one or in its internal directory, except join,
// which is in loader/internal/lower.
//
// A compiled network is one program. Biases, batch normalization and ReLUs are fused into the
// layer before them, because the cores add to a result and clamp it before they write it. The
// same is done with the list, and [partition.Lower] makes one chain of the layers. The network
// is cut around a layer that the engine cannot run, as Apple's framework hands such a
// layer to another device. If a tensor is read in rows of another length than it was written
// in, transposes rearrange it. A tensor between layers stays in L2 if it fits there next to the
// data of its layers, and layers that one descriptor computes are merged (see package lower).
// A [list.Network] with InMemory set keeps all tensors in memory, with the same values.
//
// Nothing is dropped. A layer that the engine cannot run stays in the list with a Reason, and
// so does a layer after it whose shape cannot be inferred.
//
// # Graphs
//
// Package settle processes a graph first. A node whose inputs are constants becomes a constant,
// such as a shape that a file computes, or weights that it stores as integers with a scale. The
// shape of every other result follows from a rule of its operator, whether or not the engine
// can run the operator, so that one unsupported layer does not hide the layers after it. Each
// node is then read once and becomes one layer, or several if the engine has no single
// operation for it. An attempt that may fail, such as reading a pattern as one operator, uses a
// builder of its own, which is kept or dropped. Some rules of composition:
//
//	transposes     between a layer and its reader count as one change of order and of rows,
//	               which becomes the tasks that move the fewest bytes (heads of attention)
//	Resize, Gather matmuls with constant matrices along an axis, for any interpolation
//	ConvTranspose  a layer; in groups, a convolution with one set of channels for each position
//	               within a step
//	Conv           dilated taps have zeros in between; long strides use image blocks as channels;
//	               three axes become a sum over the taps of depth
//	long rows      windows over more than 16,384 elements compute parts of the result from slices
//	long windows   sums of convolutions with up to 31 of the taps each
//	LSTM, GRU, RNN unrolled, with the input's matmuls of all steps in one task
//	Loop, Scan     unrolled, if the number of iterations is known and at most 512
//	sequences      lists of tensors: splits, views and concatenations
//	comparisons    the sign of a difference, as ones and zeros
//	Where, If      sums of products with ones and zeros; an If by a constant is one branch
//	attention      in the four forms that runtimes have: matmuls, a softmax, a matmul
//	quantized      8-bit integers, which fp16 holds exactly, rounded and clamped as stated
//	STFT, DFT      matmuls with sines and cosines
//
// Operators that the engine cannot run, but that the reader can compute on constants, run on
// the host (see [list.Stage]): selecting table rows by computed index, sorting, selecting boxes,
// integer arithmetic. Their time uses the rates that package placement assumes for a CPU, and
// counts only as wall-clock time. They are placed before or after all engine layers if possible.
//
// The number of selected boxes, and so the shape of the tensors that depend on it, depends on
// values. The engine's programs have fixed shapes, so the host also computes the nodes that
// read such a tensor, in the shapes of the run. Reading a graph finds the largest shapes, and
// times are for these. If the host has no function for an operator, the engine reads the tensor
// at its largest, with zeros after the actual rows, and a note names the layer and the tensor.
// If an operator does not mix rows, the excess rows are cut off again (see [list.Cut]).
//
// Dimensions without a size have names. [Options] gives them sizes, and a [DimError] lists the
// names that need one. [partition.CoverageOf] says which outputs are not computed, and why.
// Core ML's programs are converted to ONNX's operators first (see packages mil and coreml).
// Weights stored as palettes, masks or bytes with scales, or dequantized by an ONNX graph, are
// expanded to fp16 here. Package lower is told their original form, and stores them in a packed
// form of the engine if that holds the same values.
//
// # JSON of anesim model
//
// Names and the schema number are those of run's report:
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
// A program's "first" and "last" name layers. "why" says what ended the program before it,
// unless an unsupported layer did, and "file" where it was written. "kernel" is taps, /stride
// and :groups, or "-". "program" counts from 1 and is 0 for none. Descriptors that turn a
// tensor's channels into a row belong to the layer that reads the tensor. A layer that is not
// modelled has zeros for numbers, and is in no total. The energy of dispatches, one for each
// program, is in the network's total but in no layer's. A total's "energy_nj" is the engine's.
// "wall_energy_nj" also has idling, waking and waiting for the host, and is the sum of the spans
// in "power": all programs in order, and again for each repetition. If values are computed,
// "outputs" is present, and "crc32" for each layer whose result leaves its program; "note" says
// why a modelled layer has no values. A tensor that nothing computed is pseudo-random to its
// readers and is listed in "synthetic_inputs". Outputs that depend on it are only listed in the
// coverage's "lost_outputs".
package network
