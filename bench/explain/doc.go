// Package explain says what bounds a model and which changes make it faster.
//
// [Explain] runs a model, ranks its layers or descriptors by cycles with the cause that bounds
// each, and then tries changes that a user can make: other shapes of a layer, layers merged or
// split, registers of a compiled program, tensors kept in L2, gated tiles, other machines. It
// runs each change and keeps those that take less time, with the command that repeats them.
//
// [ReshapeLayers] and [RegroupLayers] make two of those changes to a network on request.
package explain
