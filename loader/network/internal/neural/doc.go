// Package neural reads Core ML models of layers, the form before programs: the messages
// NeuralNetwork, NeuralNetworkClassifier and NeuralNetworkRegressor of an .mlmodel file.
//
//	NeuralNetwork         1  layers, in execution order
//	                      2  preprocessing of images
//	                      5  mapping of arrays:  0  [sequence, batch, channel, height, width]   1  as declared
//	                      6  mapping of images:  0  [1, 1, C, H, W]                             1  [1, C, H, W]
//	NeuralNetworkLayer    1  name    2  input    3  output    10  isUpdatable
//	                      N  the parameters, a message whose number is the type of the layer
//
// [Read] converts each layer to nodes with ONNX's operators, as package translate does for programs,
// so that one package holds the shapes of operators and one the layers that the engine runs them
// as.
//
// A layer is converted only if each of its parameters is. The rule of a type asks for the fields
// that it knows; a field that no rule asked for, and that is not 0, becomes the reason for which the
// layer cannot run. So does a parameter whose meaning is not certain.
//
// With the first mapping, tensors have five axes. The batch is always 1 then, and such tensors are
// kept as [sequence, channel, height, width], which are the engine's axes. A layer whose axes are
// numbers gets all five.
package neural
