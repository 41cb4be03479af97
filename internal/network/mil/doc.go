// Package mil reads programs in Core ML's model intermediate language (MIL): typed operations
// in order, each with named arguments.
//
//	model.mlmodel  field 502, a message  -- Decode --+
//	                                                 +--> Program: functions of operations
//	model.mil      text                  -- Parse  --+
//
//	program(1.3)
//	{
//	    func main<ios18>(tensor<fp16, [1, 64]> x) {
//	            tensor<fp16, [1, 64]> y = relu(x = x)[name = string("r")];
//	        } -> (y);
//	}
//
// Weights are stored in a separate file. A value names that file and an offset.
package mil
