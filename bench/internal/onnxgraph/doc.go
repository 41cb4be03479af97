// Package onnxgraph holds small ONNX graphs that tests change and write to files.
//
//	Graph --Encode, Save--> ONNX file, and its inputs as .npy files
//	  |  Permute, Rename, AddOutput, Rebatch: the same values in another form
//	  |  Minimize: a smaller graph that still fails
//	  v
//	Coverage: the pairs and triples of operators that were seen
//
// A graph keeps the values of its inputs, and the shape and range of every tensor. The package
// randomgraph makes such graphs. The package internal/network/onnx reads the files.
package onnxgraph
