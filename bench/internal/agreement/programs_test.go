package agreement

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/randomprogram"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
)

var programs = flag.Int("programs", 300, "random MIL programs to compare")

// programTableErrors maps operations of MIL to those of ONNX in tableErrors.
var programTableErrors = map[string]string{
	"sigmoid": "Sigmoid", "tanh": "Tanh", "scaled_tanh": "Tanh", "gelu": "QuickGelu", "silu": "Swish", "erf": "Erf", "exp": "Exp", "exp2": "Exp", "sinh": "Tan", "cosh": "Tan",
	"log": "Log", "sqrt": "Sqrt", "rsqrt": "Sqrt", "inverse": "Reciprocal", "real_div": "Div", "pow": "Pow", "softmax": "Softmax", "softplus": "Softplus",
	"softsign": "Softsign", "elu": "Elu", "sigmoid_hard": "HardSigmoid", "sin": "Sin", "cos": "Cos", "tan": "Tan", "atan": "Atan", "asin": "Tan", "acos": "Tan", "atanh": "Tan",
	"batch_norm": "BatchNormalization", "instance_norm": "InstanceNormalization", "layer_norm": "LayerNormalization", "l2_norm": "LpNormalization", "local_response_norm": "LRN",
	"reduce_l2_norm": "ReduceL2", "reduce_log_sum": "ReduceLogSum", "reduce_log_sum_exp": "ReduceLogSumExp", "scaled_dot_product_attention": "Attention", "einsum": "Einsum",
	"reduce_prod": "Pow",
}

// diffProgram returns how the engine's results for p differ from the definition, or "" if they
// agree.
func diffProgram(p *randomprogram.Program) (what string) {
	m := &onnx.Model{}
	for _, op := range p.Operations() {
		m.Nodes = append(m.Nodes, onnx.Node{Op: programTableErrors[op]})
	}
	n := &Network{Model: m, Exact: p.Run(nil)}
	n.Half = p.Run(func(_ string, v float64) float64 { return roundToHalf("x", v) })
	n.Added = n.Half
	p.Run(func(_ string, v float64) float64 {
		n.Largest = max(n.Largest, 4*v, -4*v) // a product may be larger than a sum of products
		return v
	})
	for _, direction := range []int{-1, 0, 1} {
		if noise := newTableErrorNoise(m, direction); noise != nil {
			n.Tabled = append(n.Tabled, p.Run(func(op string, v float64) float64 { return noise(programTableErrors[op], v) }))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Exact)) {
		m.Outputs = append(m.Outputs, onnx.Value{Name: name})
	}
	defer func() {
		if r := recover(); r != nil {
			what = fmt.Sprintf("panic: %v", r)
		}
	}()
	net, err := network.ReadMIL([]byte(p.Text()), network.Options{})
	if err != nil {
		return "not run: " + err.Error()
	}
	var results map[string]*Result
	if results, _, err = runNetwork(net, p.Tensors()); err != nil {
		return "not run: " + err.Error()
	}
	if what = n.compare(results); what != "" {
		for i := range net.Layers {
			if r := net.Layers[i].Reason; r != "" {
				what += "\n" + net.Layers[i].Name + ": " + r
			}
		}
	}
	return what
}

// TestRandomPrograms compares random MIL programs with the definition of their operations.
func TestRandomPrograms(t *testing.T) {
	operations := map[string]int{}
	for i := range uint64(*programs) {
		p := randomprogram.New(*seed+i, cmp.Or(*nodes, 6))
		for _, op := range p.Operations() {
			operations[op]++
		}
		what := diffProgram(p)
		if what == "" {
			continue
		}
		kind, _, _ := strings.Cut(what, ";")
		small := p.Minimize(func(p *randomprogram.Program) bool { return isSameKind(diffProgram(p), kind) })
		t.Errorf("seed %d: %s\n%s", *seed+i, diffProgram(small), small.Text())
	}
	t.Logf("%d programs of %d operations: %v", *programs, len(operations), operations)
}
