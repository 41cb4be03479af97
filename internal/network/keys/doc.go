// Package keys builds layers from words: an operation with keys and values, as the command line
// takes them for a single layer and a YAML file for each of its layers.
//
// An [Operation] is a kind of layer with a name. Its keys determine the chip's registers:
// extents, a window, an axis, an activation. [Operation.Single] builds a stand-alone layer, and
// [Operation.After] builds a layer whose input shapes are given by the layers before it. If the
// engine refuses a layer, [Operation.Nearest] finds the smallest change of its keys that works.
//
// # Layers in YAML
//
// A file names the network, its inputs and its layers. A layer reads the result of the layer
// before it, unless "from" names other tensors. Its other keys are the same as on the command
// line (see [Operations]):
//
//	name: example
//	inputs:
//	  image: {c: 3, h: 224, w: 224}
//	layers:
//	  - {name: stem, op: conv, cout: 64, k: 7, stride: 2, pad: 3, bias: true, act: relu}
//	  - {name: left, op: conv, cout: 64, k: 1}
//	  - {name: sum, op: add, from: [stem, left]}
//	  - {op: reshape, c: 1, h: 64, w: 12544}
//
// reshape gives a tensor other extents. It needs no task if the width stays the same, or if
// rows are multiples of 64 bytes before and after. It needs one task to turn the channels of a
// pixel into a row or a row into channels, and two transposes otherwise.
package keys
