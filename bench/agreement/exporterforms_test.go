package agreement

import (
	"testing"

	ox "anesim/loader/network/onnx/onnxtest"
)

// exporterForms are forms in which exporters write networks, by what is special about each. Every
// graph has a result y.
var exporterForms = []struct {
	name  string
	parts []ox.Message
}{
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
}

// TestExporterForms compares forms of exporters with the definition of their operators.
func TestExporterForms(t *testing.T) {
	for _, tc := range exporterForms {
		t.Run(tc.name, func(t *testing.T) {
			compareFile(t, ox.Model(append([]ox.Message{ox.Output("y")}, tc.parts...)...))
		})
	}
}
