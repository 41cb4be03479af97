// Package wire reads protocol-buffer messages field by field, without generated code, so that
// every error names its byte offset in the file. [Encoding] writes them in the same way.
//
// The file of a network, in ONNX or Core ML, is one such message. Fields that do not affect the
// computation are skipped, and byte fields share memory with the file.
package wire
