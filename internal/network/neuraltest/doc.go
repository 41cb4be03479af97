// Package neuraltest writes small Core ML models of layers for tests.
package neuraltest
