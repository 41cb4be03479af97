// Package layer says what a layer is before anything is lowered: an operation on tensors of a
// shape, with a window, axes and constants, and the weights that belong to it.
//
// A [Layer] is what a network's reader writes down and what lowering makes descriptors of. It
// checks itself here ([Layer.Validate]), against itself and against the limits of the engine's
// registers; how many tasks it becomes, and where its tensors stand, it does not know. A layer
// that the engine cannot run is refused with a [*LimitError] that names the limit and the
// nearest layer that fits, one whose registers no program shows with an [*UnsupportedError],
// one that contradicts itself with a [*LayerError].
//
// Op.Evidence and Layer.Rests say what the lowering of an operation rests on.
package layer
