package agreement

import (
	"maps"
	"math"
	"math/rand/v2"
	"strings"

	"anesim/internal/network/onnx"
)

// tableErrors are the largest errors of the engine's activation tables, as shares of results
// above 1. The errors of sigmoid, tanh and gelu were measured on silicon, and those of erf,
// softplus and silu are the errors of the vendor's tables (Table.Deviation of package mac).
// The others are assumed.
var tableErrors = map[string]float64{
	"Sigmoid": 0.0034, "Tanh": 0.0017, "Gelu": 0.0062, "Erf": 0.0062, "FastGelu": 0.0062, "BiasGelu": 0.0062, "QuickGelu": 0.0152,
	"Exp": 0.004, "Log": 0.004, "Sqrt": 0.004, "Reciprocal": 0.004, "Div": 0.004, "Pow": 0.008, "Softmax": 0.004, "LogSoftmax": 0.008,
	"Softplus": 0.004, "Softsign": 0.02, "Elu": 0.006, "Selu": 0.006, "Celu": 0.006, "Mish": 0.016, "HardSwish": 0.004, "HardSigmoid": 0.004,
	"Swish": 0.0152, "Sin": 0.006, "Cos": 0.006, "Tan": 0.02, "Atan": 0.02, "LSTM": 0.006, "GRU": 0.006, "RNN": 0.006,
	"InstanceNormalization": 0.004, "LayerNormalization": 0.004, "BatchNormalization": 0.001, "GroupNormalization": 0.004, "LRN": 0.004,
	"LpNormalization": 0.004, "MeanVarianceNormalization": 0.004, "ReduceL2": 0.004, "LpPool": 0.004, "GlobalLpPool": 0.004,
	"ReduceLogSumExp": 0.008, "ReduceLogSum": 0.004, "Attention": 0.006, "MultiHeadAttention": 0.006, "GroupNorm": 0.004, "SkipLayerNormalization": 0.004, "Einsum": 0.001,
}

// functionError returns the largest error of the tables that the engine computes node x with, or 0 if it
// uses none. An operator that ends in a function, such as FusedGemm, names it in its attribute activation,
// and GroupNorm has 1 there for a swish.
func functionError(x *onnx.Node) float64 {
	if a := x.Attributes["activation"]; a != nil {
		if a.Int == 1 {
			return max(tableErrors[x.Op], tableErrors["Swish"])
		}
		return max(tableErrors[x.Op], tableErrors[a.Text])
	}
	return tableErrors[x.Op]
}

// newTableErrorNoise returns a function that adds the error of the engine's tables to the results
// of operators that the engine looks up in a table. The error makes results larger if direction is
// 1, smaller if it is -1, and either at random if it is 0. If the model has no such operator,
// newTableErrorNoise returns nil.
func newTableErrorNoise(m *onnx.Model, direction int) func(op string, v float64) float64 {
	errors := maps.Clone(tableErrors) // also of the operators within branches and loops
	any := false
	for i := range m.Nodes {
		x := &m.Nodes[i]
		e := functionError(x)
		any = any || e > 0
		errors[x.Op] = max(errors[x.Op], e)
		if x.Op == "Sigmoid" || x.Op == "Erf" || x.Op == "Tanh" {
			errors["Mul"] = tableErrors["Swish"] // the engine may merge x times a function of x into one table
		}
	}
	if !any {
		return nil
	}
	signs := rand.New(rand.NewPCG(1, 7))
	return func(op string, v float64) float64 {
		if math.IsInf(v, 0) {
			return v // a mask, where a share of the result, even none, is not a number
		}
		e := errors[op]
		if direction < 0 || direction == 0 && signs.Uint32()&1 == 0 {
			e = -e
		}
		return v + e*max(1, math.Abs(v))
	}
}

// outputTolerance returns how far the elements of the named output may differ from the exact ones.
// It is the larger of two sums: ten times the change by fp16 between the nodes plus a share of the
// largest elements, and three times the change by the errors of tables and of sums. A share of
// the largest element of any tensor is included because the planar engine's rounding depends on the
// terms of a sum, not on the sum. The result of a quantized operator may differ by one step.
func (n *Network) outputTolerance(output string) float64 {
	exact := n.Exact[output]
	distance := func(data []float64) (most float64) {
		for i, w := range exact.Data {
			if d := math.Abs(data[i] - w); d < math.Inf(1) {
				most = max(most, d)
			}
		}
		return most
	}
	largest := 0.0
	for _, w := range exact.Data {
		if a := math.Abs(w); a < math.Inf(1) {
			largest = max(largest, a)
		}
	}
	share, step := 0.002, 0.0
	terms := n.Largest * 0x1p-11
	for i := range n.Model.Nodes {
		if x := &n.Model.Nodes[i]; strings.HasPrefix(x.Op, "QLinear") || strings.HasPrefix(x.Op, "DynamicQuantize") || x.Op == "QGemm" {
			share, step = 0.1, 1.01*n.largestQuantizationStep()
		}
	}
	t := 10*distance(n.Half[output].Data) + max(share*largest, step) + terms + 0x1p-14
	t = max(t, 3*distance(n.Added[output].Data))
	for _, noisy := range n.Tabled {
		t = max(t, 3*distance(noisy[output].Data))
	}
	return t
}

// largestQuantizationStep returns the largest constant scale of a DequantizeLinear node in the
// model, or 0 if the model has none.
func (n *Network) largestQuantizationStep() (step float64) {
	for i := range n.Model.Nodes {
		x := &n.Model.Nodes[i]
		if x.Op != "DequantizeLinear" || len(x.Inputs) < 2 || n.Model.Constants[x.Inputs[1]] == nil {
			continue
		}
		scales, err := n.Model.Constants[x.Inputs[1]].Numbers()
		if err != nil {
			continue
		}
		for _, s := range scales {
			step = max(step, math.Abs(s))
		}
	}
	return step
}
