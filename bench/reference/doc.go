// Package reference computes ONNX graphs in float64, one node after the other, as the
// operator specification says. It is the yardstick for the values of networks that the
// engine runs: it has no layouts, fuses no layers and keeps every tensor row-major.
//
//	onnx.Read(file) --> *onnx.Model --+
//	inputs by name -------------------+--> Run --> results by name
//	Options.Round: fp16 between nodes-+
//	Options.Function: tables ---------+
//	Options.Reduce: an adder ---------+
//
// Each operator is one short function. The tables from operator names to functions are in
// the file of the operator's family:
//
//	elementwise.go    Add, Relu, Where, Cast, ...
//	reduce.go         ReduceSum, ArgMax, Softmax, CumSum, ...
//	shape.go          Reshape, Transpose, Slice, Pad, ...
//	generate.go       Constant, Range, EyeLike, ...
//	products.go       MatMul, Gemm, Einsum, ...
//	convolution.go    Conv, ConvTranspose
//	pooling.go        MaxPool, AveragePool, RoiAlign, ...
//	resample.go       Resize, Upsample, GridSample
//	normalisation.go  BatchNormalization, LayerNormalization, ...
//	places.go         Gather, ScatterND, TopK, NonZero, ...
//	boxes.go          NonMaxSuppression
//	recurrent.go      RNN, GRU, LSTM
//	quantised.go      QuantizeLinear, QLinearConv, MatMulInteger, ...
//	contributed.go    SkipLayerNormalization, FastGelu and others of com.microsoft
//	attention.go      Attention, MultiHeadAttention, RotaryEmbedding, ...
//	spectra.go        DFT, STFT, HannWindow, ...
//	control.go        If, Loop, Scan
//
// Numbers of every type are float64, so integers beyond 2^53 are not exact. The ends of a
// Slice are still right there: they are clamped to the axis. Results of integer types wrap
// around as integers of their width do, up to 32 bits.
//
// The package is one, though long: every family of operators works on Tensor and call, and
// any cut between families has 42 to 76 names crossing it.
//
// Operators with random results, strings, sequences and training are not supported.
package reference
