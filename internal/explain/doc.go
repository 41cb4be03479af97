// Package explain shows the bottlenecks of a model and changes that make it faster.
//
// [Explain] runs a model and ranks its layers or descriptors by cycles with the cause that
// limits each of them. It then tries changes that a user can make: other shapes of a layer,
// layers merged or split, registers of a compiled program, tensors kept in L2, gated tiles,
// and other machines. It runs each change and keeps the ones that take less time, with the
// commands that repeat them.
//
// [ReshapeLayers] and [RegroupLayers] apply two of these changes to a network on request.
package explain
