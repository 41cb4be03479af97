// Package fp32 computes networks in float32 and compares the engine's fp16 values with the results.
//
//	network --> engine, with the results of its layers as outputs --> fp16 --+
//	        --> layer by layer in float32 ---------------------------> fp32 --+--> errors by layer
//
// Both use the same layers with the same weights, which are fp16 in a list of layers. Activations
// are the functions themselves, not the tables of the engine.
package fp32
