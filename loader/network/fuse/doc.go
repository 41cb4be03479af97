// Package fuse gives layers what the engine does on their results before these leave it.
//
// Behind the multipliers stand an addend for each output channel, a scale and a table or a
// rectifier. A product with constants, a sum with constants and an activation that follow a
// layer are therefore no tasks of their own where nothing else reads what is between: factors
// go into the weights, addends into the bias, and the activation into the descriptor.
package fuse
