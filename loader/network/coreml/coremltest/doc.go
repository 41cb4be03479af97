// Package coremltest writes small Core ML models for tests: a program as a protocol-buffer
// message, weights as a file of blobs, and both as a package.
package coremltest
