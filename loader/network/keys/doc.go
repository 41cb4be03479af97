// Package keys makes layers of words: an operation with keys and values, as the command takes
// for a single layer and a YAML file for each of its layers.
//
// An [Operation] is a kind of layer by its name. Its keys are what a chip's registers are set
// from: extents, a window, an axis, an activation. [Operation.Single] makes a layer that stands
// by itself, [Operation.Behind] one behind others, whose shape they give. Where the engine
// refuses a layer, [Operation.Nearest] finds the keys that have to change least.
//
// # Layers in YAML
//
// A file names the network, its inputs and its layers. A layer takes the result of the
// one before it, or what "from" names; its other keys are those of the command line (see
// [Operations]):
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
// reshape gives a tensor other extents. It is no work where the width stays, or where rows
// fill units of 64 bytes before and after it, a task where a pixel's channels become a row or
// a row channels, and else two transposes.
package keys
