// Package reference computes ONNX graphs in float64, one node after the other, as the operator
// specification says. Tests compare its results with the values that the engine computes for the
// same networks. It has no layouts, fuses no layers and keeps every tensor row-major.
//
//	onnx.Read(file) --> *onnx.Model --+
//	inputs by name -------------------+--> Run --> results by name
//	Options.Round: fp16 between nodes-+
//	Options.Function: tables ---------+
//	Options.Reduce: arithmetic -------+
//
// Each operator is one short function. The tables from operator names to functions are in
// the file of the operator's family:
//
//	elementwise.go    Add, Relu, Where, Cast, ...
//	reduce.go         ReduceSum, ArgMax, Softmax, CumSum, ...
//	shape.go          Reshape, Transpose, Slice, Pad, ...
//	generate.go       Constant, Range, EyeLike, ...
//	matmul.go         MatMul, Gemm, Einsum, ...
//	convolution.go    Conv, ConvTranspose
//	pooling.go        MaxPool, AveragePool, RoiAlign, ...
//	resample.go       Resize, Upsample, GridSample
//	normalization.go  BatchNormalization, LayerNormalization, ...
//	indexing.go       Gather, ScatterND, TopK, NonZero, ...
//	boxes.go          NonMaxSuppression
//	recurrent.go      RNN, GRU, LSTM
//	quantized.go      QuantizeLinear, QLinearConv, MatMulInteger, ...
//	microsoft.go      SkipLayerNormalization, FastGelu and others
//	attention.go      Attention, MultiHeadAttention, RotaryEmbedding, ...
//	spectra.go        DFT, STFT, HannWindow, ...
//	control.go        If, Loop, Scan
//	sequences.go      SequenceConstruct, SequenceAt, Optional, ...
//	composed.go       CenterCropPad, Col2Im, Det, Quant, ... (DeformConv: deform.go)
//	contributed.go    QAttention, GatherBlockQuantized, ... of onnxruntime's tools
//	training.go       losses, Adam, Momentum, ...
//
// Package summation has sums of products as an engine computes them, for Options.Reduce.
//
// Numbers of every type are float64, so integers beyond 2^53 are not exact. The ends of a
// Slice are still right: they are clamped to the axis. Results of integer types of up to 32
// bits wrap around.
//
// Package tensor has what the operators share and does not depend on nodes. The families are in one
// package because they share call, and compute with each other's operators: any division between
// families would need between 42 and 76 exported names.
//
// Operators with random results, strings, sequences and training are not supported.
package reference
