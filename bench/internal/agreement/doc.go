// Package agreement compares the values that the engine computes for a network with the values
// that the definition of its operators gives.
//
//	ONNX file --+-- network, lower, device ------------------> values of the engine
//	            +-- reference, float64 ----------------------> exact values
//	            +-- reference, fp16 between the nodes -------> values with rounding
//
// An output agrees if it has the type and shape that the file declares and if every element is
// within a tolerance that rounding to fp16, the engine's tables and its sums explain.
package agreement
