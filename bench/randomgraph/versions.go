package randomgraph

// introduced has the version of the operator set in which an operator, or the form in which this
// package writes it, first exists. It leaves out operators that version 9 already has.
var introduced = map[string]int{
	"BitShift": 11, "BlackmanWindow": 17, "Celu": 12, "CenterCropPad": 18, "Col2Im": 18, "CumSum": 11, "DequantizeLinear": 10, "DynamicQuantizeLinear": 11, "Einsum": 12, "Equal": 11,
	"GatherElements": 11, "GroupNormalization": 18, "GatherND": 11, "GreaterOrEqual": 12, "GridSample": 16, "HammingWindow": 17, "HannWindow": 17, "HardSwish": 14, "LayerNormalization": 17,
	"LessOrEqual": 12, "MatMulInteger": 10, "Mish": 18, "Mod": 10, "OneHot": 11, "QLinearConv": 10, "QLinearMatMul": 10,
	"QuantizeLinear": 10, "Resize": 11, "Round": 11, "ScatterElements": 11, "ScatterND": 11, "ThresholdedRelu": 10, "Trilu": 14,
}
