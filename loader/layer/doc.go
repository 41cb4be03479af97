// Package layer describes a layer before it is lowered: an operation on tensors of given shapes,
// with its window, axes and constants, and the weights that belong to it.
//
// A network's reader builds a [Layer], and lowering turns it into descriptors. [Layer.Validate]
// checks a layer against itself and against the limits of the engine's registers. A layer does
// not know how many tasks it becomes or where its tensors are placed. The errors are
//
//   - [*LimitError]: the engine cannot run the layer; it names the limit and the nearest layer that fits
//   - [*UnsupportedError]: no compiled program shows the registers of the layer
//   - [*LayerError]: the layer contradicts itself
//
// [Op.Evidence] and [Layer.Caveat] return the evidence behind the lowering of an operation.
package layer
