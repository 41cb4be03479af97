// Package exporters makes small random ONNX graphs in the forms that frameworks' exporters write, such
// as PyTorch's and tf2onnx.
//
//	seed --New--> onnxgraph.Graph --Encode--> ONNX file
//
// A graph has one to three forms, each of which reads the result of the one before. A form is a group
// of nodes that an exporter writes for one layer of a framework or one line of a program: the five
// nodes of PyTorch's GELU, the transposes that tf2onnx writes around a convolution, the
// fusions of onnxruntime, the pairs of QuantizeLinear and DequantizeLinear of a quantized file.
// Package [anesim/bench/randomgraph] combines single operators instead.
//
// Forms draw their sizes, attributes, operator set and spelling. Each node is computed when it is
// added, by package [anesim/bench/internal/reference], so that a form knows the shapes of its tensors.
//
// The files hold the forms of an exporter each:
//
//	torch_images.go     PyTorch, over images
//	torch_sequences.go  PyTorch, over sequences and rows
//	tensorflow.go       tf2onnx and Keras
//	converters.go       Paddle and scikit-learn
//	runtime.go          operators of onnxruntime's optimizer
//	quantized.go        quantized files of both kinds
//	spellings.go        functions in the many ways in which converters spell them
package exporters
