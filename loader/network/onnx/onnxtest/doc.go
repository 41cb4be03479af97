// Package onnxtest writes small ONNX files for tests: what a test says in a few lines is
// a file that a reader reads.
package onnxtest
