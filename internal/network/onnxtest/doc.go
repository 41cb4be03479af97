// Package onnxtest writes small ONNX files for tests.
package onnxtest
