package agreement

import (
	"math"
	"math/rand/v2"
	"strings"

	"anesim/loader/network/onnx"
)

// tableErrors are the largest errors of the engine's activation tables: those of sigmoid, tanh
// and gelu as measured on silicon, those of erf, softplus and silu of the vendor's tables
// (Table.Deviation of package mac), the others assumed. They are shares of results above 1.
var tableErrors = map[string]float64{
	"Sigmoid": 0.0034, "Tanh": 0.0017, "Gelu": 0.0062, "Erf": 0.0062, "FastGelu": 0.0062, "BiasGelu": 0.0062, "QuickGelu": 0.0152,
	"Exp": 0.004, "Log": 0.004, "Sqrt": 0.004, "Reciprocal": 0.004, "Div": 0.004, "Pow": 0.008, "Softmax": 0.004, "LogSoftmax": 0.008,
	"Softplus": 0.004, "Softsign": 0.02, "Elu": 0.006, "Selu": 0.006, "Celu": 0.006, "Mish": 0.016, "HardSwish": 0.004, "HardSigmoid": 0.004,
	"Swish": 0.0152, "Sin": 0.006, "Cos": 0.006, "Tan": 0.02, "Atan": 0.02, "LSTM": 0.006, "GRU": 0.006, "RNN": 0.006,
	"InstanceNormalization": 0.004, "LayerNormalization": 0.004, "BatchNormalization": 0.001, "GroupNormalization": 0.004, "LRN": 0.004,
	"LpNormalization": 0.004, "MeanVarianceNormalization": 0.004, "ReduceL2": 0.004, "LpPool": 0.004, "GlobalLpPool": 0.004,
	"ReduceLogSumExp": 0.008, "ReduceLogSum": 0.004, "Attention": 0.006, "SkipLayerNormalization": 0.004, "Einsum": 0.001,
}

// tableNoise returns a function that shifts each result of an operator which the engine looks
// up in a table by the table's error: always up, always down, or by chance. It returns nil for a
// model without such operators.
func tableNoise(m *onnx.Model, direction int) func(op string, v float64) float64 {
	gated := false // a product with x of a function of x may be one table
	any := false
	for i := range m.Nodes {
		op := m.Nodes[i].Op
		any = any || tableErrors[op] > 0
		gated = gated || op == "Sigmoid" || op == "Erf" || op == "Tanh"
	}
	if !any {
		return nil
	}
	signs := rand.New(rand.NewPCG(1, 7))
	return func(op string, v float64) float64 {
		e := tableErrors[op]
		if op == "Mul" && gated {
			e = tableErrors["Swish"]
		}
		if direction < 0 || direction == 0 && signs.Uint32()&1 == 0 {
			e = -e
		}
		return v + e*max(1, math.Abs(v))
	}
}

// tolerance returns how far the elements of an output may be from the definition: ten times
// what fp16 between the nodes changes there, three times what errors of tables and the adder of
// twelve bits do, and a share of the largest element of any tensor, as the adder's rounding
// follows the terms of a sum and not the sum. Quantized operators may take the other of two steps.
func (n *Network) tolerance(output string) float64 {
	exact := n.Exact[output]
	apart := func(data []float64) (most float64) {
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
	adder := n.Largest * 0x1p-11
	for i := range n.Model.Nodes {
		if x := &n.Model.Nodes[i]; strings.HasPrefix(x.Op, "QLinear") || strings.HasPrefix(x.Op, "DynamicQuantize") || x.Op == "QGemm" {
			share, step = 0.1, 1.01*n.largestStep()
		}
	}
	t := 10*apart(n.Half[output].Data) + max(share*largest, step) + adder + 0x1p-14
	t = max(t, 3*apart(n.Added[output].Data))
	for _, noisy := range n.Tabled {
		t = max(t, 3*apart(noisy[output].Data))
	}
	return t
}

// largestStep returns the largest scale that a DequantizeLinear of the model multiplies by.
func (n *Network) largestStep() (step float64) {
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
