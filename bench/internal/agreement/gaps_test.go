package agreement

import (
	"strings"
	"testing"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// A gap is a known defect of networks on the engine that random graphs show.
type gap struct {
	name string
	has  func(g *onnxgraph.Graph) bool // reports whether the gap can change the results of g
	// example is a graph with the gap, and difference is part of what diffDefinition returns for it.
	example    *onnxgraph.Graph
	difference string
}

// knownGaps are skipped by TestRandomGraphs and TestInvariants.
var knownGaps = []gap{}

// Two nodes that leave out their first outputs have inner tensors of different names. They once
// shared them, and the second node read the tensors of the first.
func TestNodesWithoutFirstOutputs(t *testing.T) {
	if what := diffDefinition(recurrentPair()); what != "" {
		t.Error(what)
	}
}

// recurrentPair returns a graph in which an LSTM reads the last state of an RNN, and both leave out
// their other outputs.
func recurrentPair() *onnxgraph.Graph {
	g := graphOf(&onnxgraph.Node{
		Op: "RNN", Inputs: []string{"x", "w1", "r1"}, Outputs: []string{"", "t"},
		Attributes: []onnxgraph.Attribute{{Name: "hidden_size", Kind: onnxgraph.IntKind, Int: 1}},
	})
	g.Nodes = append(g.Nodes, &onnxgraph.Node{
		Op: "LSTM", Inputs: []string{"t", "w2", "r2", "", "", "h"}, Outputs: []string{"", "y"},
		Attributes: []onnxgraph.Attribute{{Name: "hidden_size", Kind: onnxgraph.IntKind, Int: 1}},
	})
	constant := func(name string, dims []int, values ...float64) {
		g.Constants = append(g.Constants, &onnxgraph.Tensor{Name: name, Type: onnx.Float, Dims: dims, Values: values})
		g.Values[name] = onnxgraph.Value{Type: onnx.Float, Dims: dims}
	}
	constant("w1", []int{1, 1, 6}, 0.5, -0.25, 0.125, 0.5, -0.5, 0.25)
	constant("r1", []int{1, 1, 1}, 0.5)
	constant("w2", []int{1, 4, 1}, 0.5, -1, 1, 1.5)
	constant("r2", []int{1, 4, 1}, 1, 0.5, -1, -1.5)
	constant("h", []int{1, 1, 1}, 0.75)
	g.Values["y"] = onnxgraph.Value{Type: onnx.Float, Dims: []int{1, 1, 1}}
	return g
}

// graphOf returns a graph whose only node is n. It computes the output y from the input x of shape
// [1,1,6].
func graphOf(n *onnxgraph.Node) *onnxgraph.Graph {
	x := &onnxgraph.Tensor{Name: "x", Type: onnx.Float, Dims: []int{1, 1, 6}, Values: []float64{1, 2, 3, 4, 5, 6}}
	return &onnxgraph.Graph{
		Opset: 17, Inputs: []*onnxgraph.Tensor{x}, Nodes: []*onnxgraph.Node{n}, Outputs: []string{"y"},
		Values: map[string]onnxgraph.Value{"x": {Type: x.Type, Dims: x.Dims}, "y": {Type: x.Type, Dims: x.Dims}},
	}
}

// findGap returns the name of a known difference between engine and ONNX that can affect the
// results of g, or "" if there is none.
func findGap(g *onnxgraph.Graph) string {
	for _, known := range knownGaps {
		if known.has(g) {
			return known.name
		}
	}
	return ""
}

// TestKnownGaps fails once a gap is closed, so that its graphs are compared again.
func TestKnownGaps(t *testing.T) {
	for _, known := range knownGaps {
		if what := checkDefinition(known.example); what != "" {
			t.Errorf("%s: wrong example: %s", known.name, what)
		}
		if !known.has(known.example) {
			t.Errorf("%s: the example does not have the gap", known.name)
		}
		if what := diffDefinition(known.example); !strings.Contains(what, known.difference) {
			t.Errorf("%s: the difference is %q; want %q, or remove the gap from knownGaps if it is closed", known.name, what, known.difference)
		}
	}
}
