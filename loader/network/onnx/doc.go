// Package onnx reads the part of an ONNX file that says what a network computes: its
// nodes with their attributes, its constants, and the shapes of its inputs and outputs.
//
// An ONNX file is one protocol-buffer message. It is walked field by field, with no
// generated code between, so that every error names the byte it is at:
//
//	ModelProto
//	  +- opset_import (8)   domain and version of the operators
//	  +- graph (7)          GraphProto
//	       +- node (1)         operator, inputs, outputs, attributes
//	       +- initializer (5)  TensorProto: shape and values
//	       +- input (11), output (12), value_info (13)   name, type, shape
//
// Fields that say nothing about the computation are skipped. Values of a tensor stay the
// bytes of the file until [Tensor.Floats] or [Tensor.Ints] asks for them.
package onnx
