// Package coreml reads and writes the files that store a Core ML model:
//
//	net.mlpackage/
//	  Manifest.json                   which item is the model
//	  Data/com.apple.CoreML/
//	    model.mlmodel                 message Model: description, program (field 502)
//	    weights/weight.bin            blobs that values of the program name by offset
//
//	weight.bin   0  count, version 2, reserved          64 bytes
//	             o  0xdeadbeef, type, size, data offset, padding in bits   64 bytes, at a multiple of 64
//	                data, at a multiple of 64
//
// An .mlmodel file holds the same message. Only programs are read and written. The error for another kind
// of model, such as neural-network layers or trees, names that kind.
package coreml
