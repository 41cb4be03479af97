// Package list has the list of layers that a network becomes, whatever file it is from.
//
// The engine runs chains of descriptors, so that a network is a [Network] of layers in an order
// in which they can run. A [Layer] is an operation of the engine with the tensors that it reads
// and the one that it makes, or the reason why the engine has no form for it. What the host
// does instead is a [Stage]. Names of tensors hold the list together: a layer reads inputs,
// constants and what layers before it make.
//
// Readers of files put layers into a [Builder], which knows the shapes of tensors and which
// tensor holds the values of a name. Passes over the finished list stand in packages above.
package list
