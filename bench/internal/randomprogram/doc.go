// Package randomprogram generates random MIL programs together with the values that the definition
// of Core ML's operations gives for them.
//
//	seed --> Program: statements with text and a function in float64
//	             |                        |
//	             Text                    Run
//	             v                        v
//	        MIL, for the reader      values of the outputs
//
// The definition is written here a second time, without ONNX, because the reader of Core ML's
// programs translates them to ONNX's operators. An error of that translation would otherwise be in
// both results.
package randomprogram
