// Package coremltest writes small Core ML models for tests: a program of the intermediate
// language as a message, weights as a file of blobs, and both as a package.
package coremltest
