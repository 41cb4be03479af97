// Package list represents a network as a list of layers, whatever file it comes from.
//
// The engine runs chains of descriptors, so a network is a [Network] of layers in an order in
// which they can run. A [Layer] is an operation of the engine, with the tensors it reads and
// the tensor it produces, or the reason why the engine cannot run it. A [Stage] is work that
// the host does instead. Tensor names connect the layers: a layer reads inputs, constants and
// results of earlier layers.
//
// Readers of files add layers to a [Builder], which tracks the shapes of tensors, and which
// tensor holds the values of a name. Passes over the finished list are in the packages above.
package list
