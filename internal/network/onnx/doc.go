// Package onnx reads the computation of a network from an ONNX file: its nodes with their
// attributes, its constants, and the shapes of its inputs and outputs.
//
// An ONNX file is one protocol-buffer message. The package reads it field by field, without
// generated code, so that every error names its byte offset:
//
//	ModelProto
//	  +- opset_import (8)   domain and version of the operators
//	  +- graph (7)          GraphProto
//	       +- node (1)         operator, inputs, outputs, attributes
//	       +- initializer (5)  TensorProto: shape and values
//	       +- input (11), output (12), value_info (13)   name, type, shape
//	  +- functions (25)     FunctionProto: an operator as a list of nodes
//
// A node that calls a function of the file is replaced by the nodes of the function.
//
// Fields that do not affect the computation are skipped. The values of a tensor stay encoded
// until [Tensor.Floats] or [Tensor.Ints] asks for them.
package onnx
