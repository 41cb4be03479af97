package agreement

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/bench/reference"
	"anesim/loader/network"
	"anesim/loader/network/onnx"
)

// A Network is an ONNX file with its inputs, and what the definition makes of them.
type Network struct {
	Model  *onnx.Model
	File   []byte
	Inputs map[string]*reference.Tensor
	Exact  map[string]*reference.Tensor // the outputs in float64
	Half   map[string]*reference.Tensor // the outputs with fp16 between the nodes
}

// Read reads a file and computes its outputs by definition. Errors are those of packages onnx
// and reference.
func Read(file []byte, inputs map[string]*reference.Tensor) (*Network, error) {
	m, err := onnx.Read(file)
	if err != nil {
		return nil, err
	}
	n := &Network{Model: m, File: file, Inputs: inputs}
	if n.Exact, err = reference.Run(m, inputs, reference.Options{}); err != nil {
		return nil, err
	}
	n.Half, err = reference.Run(m, inputs, reference.Options{Round: reference.RoundHalf})
	return n, err
}

// A Result is what the engine makes of an output.
type Result struct {
	Name  string
	Type  string
	Dims  []int
	Data  []float64 // nil if the output was not computed
	Notes []string  // what the run says of the network
}

// Run computes the outputs of a file on the engine, with every tensor between layers in memory
// if inMemory is set. The error is that of a file that cannot be read or run. A panic is an
// error too.
func Run(file []byte, inputs map[string]*reference.Tensor, inMemory bool) (results map[string]*Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	n, err := network.ReadONNX(file, network.Options{})
	if err != nil {
		return nil, err
	}
	n.InMemory = inMemory
	o := anesim.Options{Values: true, Seed: 1, Inputs: map[string][]float16.Float16{}, Numbers: map[string][]float64{}}
	for _, in := range n.Inputs {
		t := inputs[in.Name]
		if t == nil {
			return nil, fmt.Errorf("input %q is not given", in.Name)
		}
		o.Numbers[in.Name] = t.Data
		o.Inputs[in.Name] = halves(t.Data)
	}
	res, err := anesim.FromNetwork(n).Run(context.Background(), o)
	if err != nil {
		return nil, err
	}
	notes := slices.Concat(n.Notes, res.PrecisionNotes())
	results = map[string]*Result{}
	for _, out := range n.Results {
		results[out.Name] = &Result{Name: out.Name, Type: out.Type, Notes: notes}
	}
	for i := range res.Outputs {
		out := &res.Outputs[i]
		r := results[out.Port.Name]
		r.Type, r.Dims, r.Data = out.Type, out.Shape(), out.Numbers
		if r.Data == nil {
			r.Data = make([]float64, len(out.Data))
			for k, h := range out.Data {
				r.Data[k] = float64(h.Float32())
			}
		}
	}
	return results, nil
}

func halves(v []float64) []float16.Float16 {
	h := make([]float16.Float16, len(v))
	for i, x := range v {
		h[i] = float16.Fromfloat32(float32(x))
	}
	return h
}

// Compare returns what is wrong with the results of the engine, a line for each output, or ""
// if all agree with the definition.
func (n *Network) Compare(results map[string]*Result) string {
	var lines []string
	for _, out := range n.Model.Outputs {
		if what := n.compare(out.Name, results[out.Name]); what != "" {
			lines = append(lines, out.Name+": "+what)
		}
	}
	return strings.Join(lines, "\n")
}

func (n *Network) compare(name string, got *Result) string {
	want, half := n.Exact[name], n.Half[name]
	switch {
	case got == nil || got.Data == nil:
		return "not computed"
	case got.Type != want.Type.String():
		return fmt.Sprintf("type %s, want %v", got.Type, want.Type)
	case !slices.Equal(got.Dims, want.Dims):
		return fmt.Sprintf("shape %v, want %v", got.Dims, want.Dims)
	}
	tolerance := n.Tolerance(want, half)
	worst, at := 0.0, -1
	for i, w := range want.Data {
		g := got.Data[i]
		d := math.Abs(g - w)
		switch {
		case g == w, half.Data[i] == g, w != w, math.IsInf(half.Data[i], 0), half.Data[i] != half.Data[i]:
			d = 0 // fp16 between the nodes makes no number of it either
		case d != d:
			d = math.Inf(1)
		}
		if d > worst {
			worst, at = d, i
		}
	}
	if worst > tolerance {
		return fmt.Sprintf("element %d of %v is %g, want %g; %g apart, tolerance %g", at, want.Dims, got.Data[at], want.Data[at], worst, tolerance)
	}
	return ""
}

// tableError is three times the largest error of the engine's activation tables relative to
// the range of their results (gelu: 0.0059, the README's table of accuracy).
const tableError = 0.02

// byTable are the operators that the engine computes, or may compute, with tables.
var byTable = []string{
	"Sigmoid", "Tanh", "Gelu", "Erf", "Exp", "Log", "Sqrt", "Reciprocal", "Div", "Pow", "Softmax", "LogSoftmax", "Softplus",
	"Softsign", "Elu", "Selu", "Celu", "Mish", "HardSwish", "HardSigmoid", "Swish", "Sin", "Cos", "Atan", "LSTM", "GRU", "RNN",
	"InstanceNormalization", "LayerNormalization", "LRN", "LpNormalization", "MeanVarianceNormalization", "ReduceL2", "ReduceLogSumExp", "ReduceLogSum",
	"FastGelu", "QuickGelu", "BiasGelu", "Attention", "SkipLayerNormalization", "GroupNormalization",
}

// Tolerance returns how far elements of an output may be from the definition, given the
// output in float64 and with fp16 between the nodes: ten times what rounding costs there, and
// the errors of tables and of the adder of twelve bits as shares of the largest element.
func (n *Network) Tolerance(exact, half *reference.Tensor) float64 {
	cost, largest := 0.0, 0.0
	for i, w := range exact.Data {
		if d := math.Abs(half.Data[i] - w); d < math.Inf(1) {
			cost = max(cost, d)
		}
		if a := math.Abs(w); a < math.Inf(1) {
			largest = max(largest, a)
		}
	}
	share := 0.002
	for i := range n.Model.Nodes {
		if slices.Contains(byTable, n.Model.Nodes[i].Op) {
			share = tableError
		}
	}
	return 10*cost + share*largest + 0x1p-14
}
