// Package wire walks protocol-buffer messages field by field, with no generated code
// between, so that every error names the byte of the file that it is at.
//
// A network's file is one such message, of ONNX or of Core ML: fields that say nothing
// about the computation are skipped, and bytes stay those of the file.
package wire
