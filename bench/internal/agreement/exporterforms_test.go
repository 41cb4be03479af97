package agreement

import (
	"slices"
	"testing"

	ox "anesim/internal/network/onnxtest"
)

// exporterForms are forms in which exporters write networks, by a description of each. Every graph
// has a result y.
var exporterForms = []struct {
	name  string
	parts []ox.Message
}{
	{"sound that is longer than a row of a task", []ox.Message{
		ox.Input("x", 1, 2, 20000), ox.Constant("w", []int{3, 2, 5}, slices.Repeat([]float32{0.5, -0.25, 0.125}, 10)...), ox.Constant("b", []int{3}, 0.5, 0, -1),
		ox.Node("Conv", "c", inputNames("x", "w", "b"), ox.List("pads", 4, 3), ox.List("dilations", 2)), ox.Constant("v", []int{3, 2, 4}, slices.Repeat([]float32{0.25, -0.5, 0.125, 1}, 6)...),
		ox.Node("MaxPool", "p", inputNames("c"), ox.List("kernel_shape", 3), ox.List("strides", 2), ox.List("pads", 1, 1)), ox.Node("ConvTranspose", "y", inputNames("p", "v"), ox.List("strides", 2), ox.List("pads", 1, 1)),
	}},
	{"image that is higher than a task, with strides", []ox.Message{
		ox.Input("x", 1, 2, 16421, 3), ox.Constant("w", []int{2, 2, 3, 2}, slices.Repeat([]float32{0.5, -0.25, 0.125}, 8)...),
		ox.Node("Conv", "c", inputNames("x", "w"), ox.List("pads", 1, 0, 1, 1), ox.List("strides", 3, 1)), ox.Node("AveragePool", "y", inputNames("c"), ox.List("kernel_shape", 2, 1)),
	}},
	{"taps of a row that are far apart", []ox.Message{
		ox.Input("x", 1, 2, 90), ox.Constant("w", []int{3, 2, 7}, slices.Repeat([]float32{0.5, -0.25, 0.125}, 14)...), ox.Node("Conv", "y", inputNames("x", "w"), ox.List("pads", 27, 27), ox.List("dilations", 9)),
	}},
	{"window of a row that is longer than the engine's, in groups", []ox.Message{
		ox.Input("x", 1, 4, 90), ox.Constant("w", []int{4, 2, 64}, slices.Repeat([]float32{0.125, -0.0625, 0.03125, 0.25}, 128)...), ox.Constant("b", []int{4}, 0.5, 0, -1, 2),
		ox.Node("Conv", "y", inputNames("x", "w", "b"), ox.List("pads", 32, 31), ox.Int("group", 2)),
	}},
	{"nearest elements halfway between two, by factors that are not binary fractions", []ox.Message{
		ox.Input("x", 1, 2, 9, 7), ox.Constant("s", []int{4}, 1, 1, 1.7, 0.6), ox.Node("Resize", "a", inputNames("x", "", "s"), ox.Text("mode", "nearest"), ox.Text("nearest_mode", "round_prefer_ceil")),
		ox.Node("Resize", "b", inputNames("x", "", "s"), ox.Text("mode", "nearest"), ox.Text("nearest_mode", "floor")), ox.Node("Sub", "y", inputNames("a", "b")),
	}},
	{"int4 weights with a scale for each row", []ox.Message{
		ox.Input("x", 2, 3), ox.Nibbles("w", 22, []int{3, 5}, -8, 7, 1, -1, 0, 2, 3, -4, 5, -6, 7, 0, 1, 1, -8), ox.Constant("s", []int{3}, 0.5, 0.25, 2),
		ox.Node("DequantizeLinear", "d", inputNames("w", "s"), ox.Int("axis", 0)), ox.Node("MatMul", "y", inputNames("x", "d")),
	}},
	{"uint4 weights with one zero point for all scales", []ox.Message{
		ox.Input("x", 2, 3), ox.Nibbles("w", 21, []int{3, 2}, 15, 0, 8, 7, 3, 12), ox.Constant("s", []int{2}, 0.5, 0.25), ox.Nibbles("z", 21, []int{}, 8),
		ox.Node("DequantizeLinear", "d", inputNames("w", "s", "z")), ox.Node("MatMul", "y", inputNames("x", "d")),
	}},
	{"int4 weights in blocks", []ox.Message{
		ox.Input("x", 2, 5), ox.Nibbles("w", 22, []int{5, 2}, -8, 7, 1, -1, 0, 2, 3, -4, 5, -6), ox.Constant("s", []int{3, 2}, 0.5, 0.25, 2, 1, 0.125, 4), ox.Nibbles("z", 22, []int{3, 2}, 1, 0, -1, 2, 3, -4),
		ox.Node("DequantizeLinear", "d", inputNames("w", "s", "z"), ox.Int("axis", 0), ox.Int("block_size", 2)), ox.Node("MatMul", "y", inputNames("x", "d")),
	}},
	{"activations of 4 bits", []ox.Message{
		ox.Input("x", 2, 3), scalar("s", 0.25), ox.Nibbles("z", 22, []int{}, 3), ox.Node("QuantizeLinear", "q", inputNames("x", "s", "z")), ox.Node("DequantizeLinear", "y", inputNames("q", "s", "z")),
	}},
	{"quantized convolution with one zero point for all scales of its weights", []ox.Message{
		ox.Input("x", 1, 2, 4, 4), scalar("s", 1./32), ox.Whole("z", 2, 1, []int{}, 100), ox.Node("QuantizeLinear", "q", inputNames("x", "s", "z")),
		ox.Whole("w", 3, 1, []int{3, 2, 1, 1}, 100, -90, 110, -95, 120, -80), ox.Constant("ws", []int{3}, 0.01, 0.02, 0.005), ox.Whole("wz", 3, 1, []int{}, 5), scalar("t", 0.05),
		ox.Node("QLinearConv", "c", inputNames("q", "s", "z", "w", "ws", "wz", "t", "z")), ox.Node("DequantizeLinear", "y", inputNames("c", "t", "z")),
	}},
	{"loop whose body chooses a branch by the iteration", []ox.Message{
		ox.Input("x", 2, 4), weightConstant("w", 4, 4), ox.Whole("n", 7, 8, []int{}, 3),
		ox.Several("Loop", inputNames("y", "all"), inputNames("n", "", "x"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 4), ox.Whole("one", 7, 8, []int{}, 1),
			ox.Node("MatMul", "p", inputNames("h", "w")), ox.Node("Equal", "second", inputNames("i", "one")),
			ox.Node("If", "q", inputNames("second"), ox.Graph("then_branch", ox.Node("Tanh", "a", inputNames("p")), ox.Output("a")), ox.Graph("else_branch", ox.Node("Relu", "b", inputNames("p")), ox.Output("b"))),
			ox.Node("Neg", "r", inputNames("q")), ox.Node("Identity", "on", inputNames("go")), ox.OutputOf(9, "on"), ox.Output("q"), ox.Output("r"))),
		ox.Output("all"),
	}},
	{"loop that a counter ends", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("zero", 7, 8, []int{}, 0), ox.Whole("t", 9, 1, []int{}, 1),
		ox.Several("Loop", inputNames("last", "y"), inputNames("", "t", "zero", "x"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.InputOf(7, "k"), ox.Input("h", 2, 4), ox.Whole("two", 7, 8, []int{}, 2), ox.Whole("five", 7, 8, []int{}, 5),
			ox.Node("Add", "k2", inputNames("k", "two")), ox.Node("Less", "on", inputNames("k2", "five")), ox.Node("Cast", "f", inputNames("k2"), ox.Int("to", 1)), ox.Node("Add", "h2", inputNames("h", "f")),
			ox.OutputOf(9, "on"), ox.OutputOf(7, "k2"), ox.Output("h2"))),
		ox.Output("last"),
	}},
	{"loop without iterations", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("n", 7, 8, []int{}, 0), ox.Node("Loop", "a", inputNames("n", "", "x"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 4), ox.Node("Neg", "m", inputNames("h")), ox.OutputOf(9, "go"), ox.Output("m"))), ox.Node("Relu", "y", inputNames("a")),
	}},
	{"loop in a loop", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("n", 7, 8, []int{}, 2), ox.Node("Loop", "y", inputNames("n", "", "x"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 4), ox.Node("Loop", "inner", inputNames("n", "go", "h"), ox.Graph("body",
				ox.InputOf(7, "j"), ox.InputOf(9, "on"), ox.Input("g", 2, 4), scalar("c", 0.5), ox.Node("Mul", "m", inputNames("g", "c")), ox.Node("Add", "s", inputNames("m", "x")), ox.OutputOf(9, "on"), ox.Output("s"))),
			ox.Node("Tanh", "next", inputNames("inner")), ox.OutputOf(9, "go"), ox.Output("next"))),
	}},
	{"scan of two inputs, one backwards", []ox.Message{
		ox.Input("x", 4, 3, 2), ox.Input("z", 3, 4), ox.Input("s", 4),
		ox.Several("Scan", inputNames("y", "all", "back"), inputNames("s", "x", "z"), ox.Int("num_scan_inputs", 2), ox.List("scan_input_axes", 1, 0), ox.List("scan_input_directions", 0, 1),
			ox.List("scan_output_axes", 1, -1), ox.List("scan_output_directions", 1, 0), ox.Graph("body",
				ox.Input("h", 4), ox.Input("u", 4, 2), ox.Input("v", 4), ox.Ints("axes", 1), ox.Node("ReduceSum", "r", inputNames("u", "axes"), ox.Int("keepdims", 0)), ox.Node("Mul", "m", inputNames("r", "v")), ox.Node("Add", "n", inputNames("h", "m")), ox.Node("Neg", "k", inputNames("n")),
				ox.Output("n"), ox.Output("m"), ox.Output("k"))),
		ox.Output("all"), ox.Output("back"),
	}},
	{"loop that fills a sequence", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("n", 7, 8, []int{}, 3), ox.Node("SequenceEmpty", "e", nil),
		ox.Several("Loop", inputNames("h3", "q"), inputNames("n", "", "x", "e"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 4), ox.Input("list"), ox.Node("Tanh", "t", inputNames("h")), ox.Node("SequenceInsert", "more", inputNames("list", "t")), ox.OutputOf(9, "go"), ox.Output("t"), ox.Output("more"))),
		ox.Node("ConcatFromSequence", "y", inputNames("q"), ox.Int("axis", 1), ox.Int("new_axis", 1)),
	}},
	{"sequence that is split, changed and concatenated", []ox.Message{
		ox.Input("x", 2, 5), ox.Input("z", 2, 3), ox.Whole("two", 7, 8, []int{}, 2), ox.Whole("one", 7, 8, []int{}, 1), ox.Whole("last", 7, 8, []int{}, -1),
		ox.Node("SplitToSequence", "s", inputNames("x", "two"), ox.Int("axis", 1)), ox.Node("SequenceInsert", "t", inputNames("s", "z", "one")), ox.Node("SequenceErase", "u", inputNames("t", "last")),
		ox.Node("ConcatFromSequence", "a", inputNames("u"), ox.Int("axis", 1)), ox.Node("SequenceAt", "b", inputNames("t", "last")), ox.Node("SequenceLength", "n", inputNames("t")), ox.Node("Cast", "f", inputNames("n"), ox.Int("to", 1)),
		ox.Node("Mul", "c", inputNames("a", "f")), ox.Node("Concat", "y", inputNames("c", "b"), ox.Int("axis", 1)),
	}},
	{"sequence of slices without their axis", []ox.Message{
		ox.Input("x", 3, 4), ox.Node("SplitToSequence", "s", inputNames("x"), ox.Int("keepdims", 0)), ox.Whole("one", 7, 8, []int{}, 1), ox.Node("SequenceAt", "a", inputNames("s", "one")), ox.Node("Neg", "y", inputNames("a")),
	}},
	{"body for each tensor of a sequence", []ox.Message{
		ox.Input("x", 2, 4), ox.Input("z", 3, 4), ox.Input("w", 4), ox.Node("SequenceConstruct", "s", inputNames("x", "z")),
		ox.Node("SequenceMap", "m", inputNames("s", "w"), ox.Graph("body", ox.Input("a", 2, 4), ox.Input("b", 4), ox.Node("Mul", "c", inputNames("a", "b")), ox.Output("c"))),
		ox.Node("ConcatFromSequence", "y", inputNames("m"), ox.Int("axis", 0)),
	}},
	{"weights of 8-bit floats, with a scale for each column", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("w", 17, 1, []int{4, 3}, 0x38, 0xb8, 0x7e, 0x01, 0x08, 0x45, 0xc2, 0x30, 0x00, 0x80, 0x4f, 0xfe), ox.Constant("s", []int{3}, 0.5, 2, 0.0625), ox.Whole("z", 17, 1, []int{3}, 0, 0, 0),
		ox.Node("DequantizeLinear", "d", inputNames("w", "s", "z"), ox.Int("axis", 1)), ox.Node("MatMul", "y", inputNames("x", "d")),
	}},
	{"weights of 8-bit floats with a wider exponent, cast", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("w", 19, 1, []int{4, 2}, 0x3c, 0xbc, 0x50, 0x04, 0x45, 0xc2, 0x30, 0x01), ox.Node("Cast", "d", inputNames("w"), ox.Int("to", 1)), ox.Node("MatMul", "y", inputNames("x", "d")),
	}},
	{"weights of 8-bit floats without a negative zero", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("w", 18, 1, []int{4, 2}, 0x38, 0xb8, 0x4e, 0x01, 0x08, 0x45, 0xc2, 0x30), ox.Constant("s", []int{}, 0.5), ox.Node("DequantizeLinear", "d", inputNames("w", "s")), ox.Node("MatMul", "y", inputNames("x", "d")),
	}},
	{"weights of 4-bit floats", []ox.Message{
		ox.Input("x", 2, 4), ox.Nibbles("w", 23, []int{4, 2}, 0, 1, 2, 3, 5, 7, 9, 15), ox.Constant("s", []int{}, 0.25), ox.Node("DequantizeLinear", "d", inputNames("w", "s")), ox.Node("MatMul", "y", inputNames("x", "d")),
	}},
	{"numbers rounded to 8-bit floats", []ox.Message{ox.Input("x", 3, 4), ox.Node("Cast", "c", inputNames("x"), ox.Int("to", 17)), ox.Node("Cast", "d", inputNames("c"), ox.Int("to", 1)), ox.Node("Add", "y", inputNames("d", "d"))}},
	{"center of a larger and a smaller axis", []ox.Message{ox.Input("x", 1, 3, 6, 3), ox.Ints("s", 3, 6), ox.Node("CenterCropPad", "y", inputNames("x", "s"), ox.List("axes", 2, -1))}},
	{"center of all axes", []ox.Message{ox.Input("x", 5, 4), ox.Ints("s", 2, 5), ox.Node("CenterCropPad", "y", inputNames("x", "s"))}},
	{"blocks of an image with padding and a rest", []ox.Message{
		ox.Input("x", 2, 12, 9), ox.Ints("image", 5, 6), ox.Ints("block", 2, 3), ox.Node("Col2Im", "y", inputNames("x", "image", "block"), ox.List("strides", 2, 2), ox.List("pads", 1, 0, 0, 1)),
	}},
	{"blocks with gaps", []ox.Message{ox.Input("x", 1, 8, 9), ox.Ints("image", 4, 5), ox.Ints("block", 2, 2), ox.Node("Col2Im", "y", inputNames("x", "image", "block"), ox.List("dilations", 1, 2))}},
	{"blocks of a row", []ox.Message{ox.Input("x", 1, 6, 4), ox.Ints("image", 9), ox.Ints("block", 3), ox.Node("Col2Im", "y", inputNames("x", "image", "block"), ox.List("strides", 2))}},
	{"spectrum in mel bands", []ox.Message{
		ox.Input("x", 3, 9), ox.Whole("n", 7, 8, []int{}, 4), ox.Whole("size", 7, 8, []int{}, 16), ox.Whole("rate", 7, 8, []int{}, 8192), scalar("low", 0), scalar("high", 4096),
		ox.Node("MelWeightMatrix", "m", inputNames("n", "size", "rate", "low", "high")), ox.Node("MatMul", "y", inputNames("x", "m")),
	}},
	{"samples times windows", []ox.Message{
		ox.Input("x", 3, 8), ox.Whole("n", 7, 8, []int{}, 8), ox.Node("HannWindow", "a", inputNames("n")), ox.Node("HammingWindow", "b", inputNames("n"), ox.Int("periodic", 0)), ox.Node("BlackmanWindow", "c", inputNames("n")),
		ox.Node("Mul", "d", inputNames("x", "a")), ox.Node("Mul", "e", inputNames("d", "b")), ox.Node("Add", "y", inputNames("e", "c")),
	}},
	{"positions of an affine map", []ox.Message{ox.Input("x", 2, 2, 3), ox.Ints("s", 2, 1, 3, 4), ox.Node("AffineGrid", "y", inputNames("x", "s"))}},
	{"positions of an affine map of a volume", []ox.Message{ox.Input("x", 1, 3, 4), ox.Ints("s", 1, 1, 2, 3, 4), ox.Node("AffineGrid", "y", inputNames("x", "s"), ox.Int("align_corners", 1))}},
	{"determinants", []ox.Message{ox.Input("x", 2, 3, 3), ox.Node("Det", "y", inputNames("x"))}},
	{"products so far", []ox.Message{ox.Input("x", 2, 3, 3), ox.Ints("axis", 1), ox.Node("CumProd", "y", inputNames("x", "axis"), ox.Int("exclusive", 1), ox.Int("reverse", 1))}},
	{"weights and activations of QONNX", []ox.Message{
		ox.Input("x", 2, 3), scalar("s", 0.25), scalar("z", 0), scalar("bits", 4), ox.NodeOf("qonnx.custom_op.general", "Quant", "q", inputNames("x", "s", "z", "bits"), ox.Int("signed", 1), ox.Int("narrow", 1)),
		weightConstant("w", 3, 4), ox.Constant("t", []int{1, 4}, 0.25, 0.5, 0.125, 1), ox.NodeOf("onnx.brevitas", "Quant", "v", inputNames("w", "t", "z", "bits"), ox.Text("rounding_mode", "ROUND")), ox.Node("MatMul", "y", inputNames("q", "v")),
	}},
	{"unsigned and bipolar tensors of QONNX", []ox.Message{
		ox.Input("x", 2, 3), scalar("s", 0.125), scalar("z", 3), scalar("bits", 3), ox.NodeOf("qonnx.custom_op.general", "Quant", "q", inputNames("x", "s", "z", "bits"), ox.Int("signed", 0)),
		ox.NodeOf("qonnx.custom_op.general", "BipolarQuant", "b", inputNames("x", "s")), ox.Node("Add", "y", inputNames("q", "b")),
	}},
	{"choice of quantized tensors", []ox.Message{
		ox.Input("x", 2, 4), ox.Input("z", 2, 4), scalar("c", 0), ox.Node("Greater", "g", inputNames("x", "c")), scalar("s", 1./32), ox.Whole("p", 2, 1, []int{}, 100), scalar("t", 1./64), ox.Whole("q", 2, 1, []int{}, 128), scalar("u", 0.05),
		ox.Node("QuantizeLinear", "a", inputNames("x", "s", "p")), ox.Node("QuantizeLinear", "b", inputNames("z", "t", "q")),
		ox.NodeOf("com.microsoft", "QLinearWhere", "w", inputNames("g", "a", "s", "p", "b", "t", "q", "u", "q")), ox.Node("DequantizeLinear", "y", inputNames("w", "u", "q")),
	}},
	{"quantized attention", []ox.Message{
		ox.Input("x", 1, 3, 4), scalar("s", 1./32), ox.Whole("z", 2, 1, []int{}, 120), ox.Node("QuantizeLinear", "q", inputNames("x", "s", "z")),
		ox.Whole("w", 3, 1, []int{4, 12}, 5, -90, 11, -95, 20, -80, 15, -85, 30, 2, 3, 4, 7, 8, -9, 10, 11, -12, 13, 14, 15, -16, 17, 18, 19, 20, -21, 22, 23, 24, -25, 26, 27, 28, 29, -30, 31, 32, 33, -34, 35, 36, 37, -38, 39, 40, 41, 42),
		scalar("t", 0.02), weightConstant("b", 12), ox.Whole("v", 3, 1, []int{}, 0), ox.NodeOf("com.microsoft", "QAttention", "y", inputNames("q", "w", "b", "s", "t", "", "z", "v"), ox.Int("num_heads", 2)),
	}},
	{"rows of a table of 4 bits in blocks", []ox.Message{
		ox.Input("x", 2, 32), ox.Nibbles("w", 21, []int{3, 32}, slices.Repeat([]int{1, 15, 8, 0, 7, 3, 12, 9}, 12)...), ox.Constant("s", []int{3, 2}, 0.5, 0.25, 1, 2, 0.125, 0.75), ox.Whole("i", 7, 8, []int{2}, 2, 0),
		ox.NodeOf("com.microsoft", "GatherBlockQuantized", "g", inputNames("w", "i", "s"), ox.Int("block_size", 16)), ox.Node("Mul", "y", inputNames("x", "g")),
	}},
	{"rows of a table of pairs of 4 bits", []ox.Message{
		ox.Input("x", 2, 32), ox.Whole("w", 2, 1, []int{3, 16}, slices.Repeat([]int{0x1f, 0x80, 0x73, 0xc9}, 12)...), ox.Constant("s", []int{3, 2}, 0.5, 0.25, 1, 2, 0.125, 0.75), ox.Whole("i", 7, 8, []int{2}, 1, 2),
		ox.NodeOf("com.microsoft", "GatherBlockQuantized", "g", inputNames("w", "i", "s"), ox.Int("block_size", 16)), ox.Node("Mul", "y", inputNames("x", "g")),
	}},
	{"gate of the second half", []ox.Message{ox.Input("x", 1, 2, 6), weightConstant("b", 6), ox.NodeOf("com.microsoft", "BiasSplitGelu", "y", inputNames("x", "b"))}},
	{"product, bias and gate", []ox.Message{
		ox.Input("x", 2, 3), weightConstant("w", 3, 4), weightConstant("b", 4), ox.NodeOf("com.microsoft", "GemmFastGelu", "g", inputNames("x", "w", "b")), ox.Whole("a", 6, 4, []int{}, 1), ox.NodeOf("com.microsoft", "ExpandDims", "y", inputNames("g", "a")),
	}},
	{"cache written at one position", []ox.Message{ox.Input("x", 2, 5, 3), ox.Input("z", 2, 2, 3), ox.Ints("i", 1, 1), ox.Node("TensorScatter", "y", inputNames("x", "z", "i"))}},
	{"cache written in a circle", []ox.Message{ox.Input("x", 2, 2, 5, 3), ox.Input("z", 2, 2, 3, 3), ox.Ints("i", 4, 1), ox.Node("TensorScatter", "y", inputNames("x", "z", "i"), ox.Text("mode", "circular"))}},
	{"optional tensor", []ox.Message{
		ox.Input("x", 2, 3), ox.Node("Optional", "o", inputNames("x")), ox.Node("OptionalHasElement", "h", inputNames("o")), ox.Node("OptionalGetElement", "g", inputNames("o")),
		ox.Node("If", "y", inputNames("h"), ox.Graph("then_branch", ox.Node("Neg", "a", inputNames("g")), ox.Output("a")), ox.Graph("else_branch", ox.Node("Relu", "b", inputNames("x")), ox.Output("b"))),
	}},
	{"loop over the rows of a tensor", []ox.Message{
		ox.Input("x", 3, 4), ox.Input("s", 4), ox.Whole("zero", 7, 8, []int{1}, 0), ox.Node("Shape", "d", inputNames("x")), ox.Node("Gather", "n", inputNames("d", "zero")), ox.Whole("t", 9, 1, []int{}, 1),
		ox.Several("Loop", inputNames("y", "all"), inputNames("n", "t", "s"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 4), ox.Node("Gather", "r", inputNames("x", "i"), ox.Int("axis", 0)), ox.Node("Mul", "m", inputNames("h", "r")), ox.Node("Tanh", "k", inputNames("m")), ox.Node("Identity", "on", inputNames("go")), ox.OutputOf(9, "on"), ox.Output("k"), ox.Output("m"))),
		ox.Output("all"),
	}},
	{"loop whose tensor grows", []ox.Message{
		ox.Input("x", 1, 4), ox.Whole("n", 7, 8, []int{}, 3), ox.Node("Loop", "y", inputNames("n", "", "x"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h"), scalar("c", 0.5), ox.Node("Mul", "m", inputNames("x", "c")), ox.Node("Concat", "more", inputNames("h", "m"), ox.Int("axis", 0)), ox.OutputOf(9, "go"), ox.Output("more"))),
	}},
	{"loop over a sequence", []ox.Message{
		ox.Input("x", 3, 4), ox.Input("s", 1, 4), ox.Ints("sizes", 1, 1, 1), ox.Node("SplitToSequence", "q", inputNames("x", "sizes")), ox.Node("SequenceLength", "n", inputNames("q")),
		ox.Node("Loop", "y", inputNames("n", "", "s"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 1, 4), ox.Node("SequenceAt", "r", inputNames("q", "i")), ox.Node("Add", "m", inputNames("h", "r")), ox.OutputOf(9, "go"), ox.Output("m"))),
	}},
	{"int4 weights that a cast makes numbers", []ox.Message{
		ox.Input("x", 2, 3), ox.Nibbles("w", 22, []int{2, 3}, -8, 7, 1, -1, 0, 2), ox.Node("Cast", "f", inputNames("w"), ox.Int("to", 1)), scalar("c", 0.25), ox.Node("Mul", "g", inputNames("f", "c")), ox.Node("Transpose", "t", inputNames("g")), ox.Node("MatMul", "y", inputNames("x", "t")),
	}},
	{"recurrent layer with the batch first and sequences of different lengths", []ox.Message{
		ox.Input("x", 2, 3, 4), weightConstant("w", 1, 20, 4), weightConstant("r", 1, 20, 5), ox.Whole("n", 6, 4, []int{2}, 2, 3),
		ox.Several("LSTM", inputNames("a", "y", "c"), inputNames("x", "w", "r", "", "n"), ox.Int("hidden_size", 5), ox.Int("layout", 1)), ox.Output("a"), ox.Output("c"),
	}},
	{"cache of fixed size whose filled part only the total length says", []ox.Message{
		ox.Input("x", 1, 2, 8), ox.Input("k", 1, 2, 4), ox.Input("v", 1, 2, 4), ox.Input("pk", 1, 1, 7, 4), ox.Input("pv", 1, 1, 7, 4), ox.Whole("t", 6, 4, []int{1}, 5),
		ox.Input("u", 1, 5), scalar("c", -100), ox.Node("Greater", "g", inputNames("u", "c")), ox.Node("Cast", "m", inputNames("g"), ox.Int("to", 6)), ox.Ints("axis", 1), ox.Node("ReduceSum", "d", inputNames("m", "axis"), ox.Int("keepdims", 0)),
		ox.Whole("one", 6, 4, []int{1}, 1), ox.Node("Sub", "l", inputNames("d", "one")),
		ox.NodeOf("com.microsoft", "GroupQueryAttention", "y", inputNames("x", "k", "v", "pk", "pv", "l", "t"), ox.Int("num_heads", 2), ox.Int("kv_num_heads", 1)),
	}},
	{"scan that only maps", []ox.Message{
		ox.Input("x", 2, 3, 4), ox.Node("Scan", "y", inputNames("x"), ox.Int("num_scan_inputs", 1), ox.List("scan_input_axes", -2), ox.List("scan_output_axes", 1), ox.Graph("body", ox.Input("u", 2, 4), ox.Node("Neg", "v", inputNames("u")), ox.Output("v"))),
	}},
}

// TestExporterForms compares forms of exporters with the definition of their operators.
func TestExporterForms(t *testing.T) {
	for _, tc := range exporterForms {
		t.Run(tc.name, func(t *testing.T) {
			compareFile(t, ox.Model(append([]ox.Message{ox.Output("y")}, tc.parts...)...))
		})
	}
}
