// Package randomgraph makes random ONNX graphs, whose values tests compare between the model and an
// interpreter of ONNX.
//
//	seed --New--> onnxgraph.Graph --Encode--> ONNX file
//
// A graph grows from one input by random choices. Each choice is a function that reads one
// tensor, picks its other operands among the tensors that exist, and adds one node or a
// pattern of several nodes as exporters write it. Choices favor operators that a compiler
// could fuse or reorder: products followed by scales, activations and views.
//
// The builder keeps the shape and the range of every tensor. An operator with a limited
// domain, such as Div or Log, gets an operand that is far from its limit, and an operator
// that jumps, such as Round or a comparison, gets an operand that fp16 holds without
// rounding. A difference between two implementations is therefore a defect rather than
// rounding. One graph in forty drops the bound on magnitudes.
//
// A seed gives the same bytes on every machine: constants and inputs are whole multiples of
// powers of two.
package randomgraph
