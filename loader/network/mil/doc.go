// Package mil reads programs of Core ML's model intermediate language: typed operations
// in order, each of named arguments.
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
// Weights stand in a file of their own, which a value names with the place in it.
package mil
