// Package agreement compares the values that the engine computes of a network with those of
// the definition of its operators.
//
//	ONNX file --+-- network, lower, device ------------------> values of the engine
//	            +-- reference, float64 ----------------------> what the file means
//	            +-- reference, fp16 between the nodes -------> what rounding costs
//
// An output agrees if it has the type and the shape that the file states and if every element
// is as near to the definition as fp16 explains: [Tolerance] says how near that is.
package agreement
