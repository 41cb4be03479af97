// Package compression stores the weights of a network in fewer bits, to time it so: the what-if of
// anesim model --weights. A real network is compressed by other tools, which choose the values with care.
//
//	list of layers --> Compress, with a Form --> list of layers with weights as bytes or palettes
package compression
