// Package coreml reads and writes the files that store a Core ML model:
//
//	net.mlpackage/
//	  Manifest.json                   which item is the model
//	  Data/com.apple.CoreML/
//	    model.mlmodel                 message Model: description (field 2), program (502) or network (500)
//	    weights/weight.bin            blobs that values of the program name by offset
//
//	weight.bin   0  count, version 2, reserved          64 bytes
//	             o  0xdeadbeef, type, size, data offset, padding in bits   64 bytes, at a multiple of 64
//	                data, at a multiple of 64
//
// An .mlmodel file holds the same message. Programs are read and written; a neural network of layers is
// found, and package neural reads it. The error for another kind of model, such as trees, names that kind.
package coreml
