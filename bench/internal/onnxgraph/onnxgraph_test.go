package onnxgraph

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"anesim/internal/network/onnx"
)

// newGraph returns a graph with one input x of the given dims, and no nodes.
func newGraph(dims ...int) *Graph {
	x := &Tensor{Name: "x", Type: onnx.Float, Dims: dims, Values: make([]float64, onnx.Elements(dims))}
	for i := range x.Values {
		x.Values[i] = float64(i%9-4) / 4
	}
	return &Graph{Seed: "by hand", Opset: 17, Inputs: []*Tensor{x}, Values: map[string]Value{"x": {Type: onnx.Float, Dims: dims, Low: -1, High: 1}}}
}

// addNode appends a node whose result y has the given dims, and makes y the only output of g.
func (g *Graph) addNode(op, y string, dims []int, inputs []string, attributes ...Attribute) {
	g.Nodes = append(g.Nodes, &Node{Op: op, Inputs: inputs, Outputs: []string{y}, Attributes: attributes})
	g.Values[y] = Value{Type: onnx.Float, Dims: dims, Low: -4, High: 4}
	g.Outputs = []string{y}
}

// addConstant adds a constant of zeros.
func (g *Graph) addConstant(name string, t onnx.DataType, dims ...int) {
	g.Constants = append(g.Constants, &Tensor{Name: name, Type: t, Dims: dims, Values: make([]float64, onnx.Elements(dims))})
	g.Values[name] = Value{Type: t, Dims: dims}
}

// attentionGraph returns a graph that computes self-attention of x, 5 tokens of 8 channels, with
// one head.
func attentionGraph() *Graph {
	g := newGraph(1, 5, 8)
	for _, name := range []string{"q", "k", "v"} {
		g.addConstant("w"+name, onnx.Float, 8, 8)
		g.addNode("MatMul", name, []int{1, 5, 8}, []string{"x", "w" + name})
	}
	g.addConstant("scale", onnx.Float)
	g.addNode("Transpose", "kt", []int{1, 8, 5}, []string{"k"}, Attribute{Name: "perm", Kind: IntsKind, Ints: []int{0, 2, 1}})
	g.addNode("MatMul", "scores", []int{1, 5, 5}, []string{"q", "kt"})
	g.addNode("Mul", "scaled", []int{1, 5, 5}, []string{"scores", "scale"})
	g.addNode("Softmax", "shares", []int{1, 5, 5}, []string{"scaled"}, Attribute{Name: "axis", Kind: IntKind, Int: -1})
	g.addNode("MatMul", "y", []int{1, 5, 8}, []string{"shares", "v"})
	return g
}

func TestRearrangementsDiffer(t *testing.T) {
	g := attentionGraph()
	rng := rand.New(rand.NewPCG(1, 1))
	orders := map[string]bool{}
	for range 20 {
		p := g.Permute(rng)
		var ops string
		for _, n := range p.Nodes {
			ops += n.Op + n.Outputs[0] + " "
		}
		orders[ops] = true
		if !slices.Equal(p.Outputs, g.Outputs) {
			t.Errorf("Permute changed the outputs from %v to %v", g.Outputs, p.Outputs)
		}
	}
	if len(orders) < 3 {
		t.Errorf("20 permutations of self-attention have %d orders, want at least 3", len(orders))
	}
	r := g.Rename(rng)
	for _, n := range r.Nodes {
		for _, out := range n.Outputs {
			if _, ok := g.Values[out]; ok && !slices.Contains(g.Outputs, out) {
				t.Errorf("Rename left the inner tensor %q its name", out)
			}
		}
	}
}

func TestMinimize(t *testing.T) {
	// The defect of this test is a Softmax in a graph that has a MatMul too.
	fails := func(g *Graph) bool {
		has := func(op string) bool {
			return slices.ContainsFunc(g.Nodes, func(n *Node) bool { return n.Op == op })
		}
		return has("Softmax") && has("MatMul")
	}
	g := attentionGraph()
	if !fails(g) {
		t.Fatalf("want a graph with MatMul and Softmax, found\n%s", g)
	}
	small := g.Minimize(fails)
	if _, err := onnx.Read(small.Encode()); err != nil {
		t.Errorf("the smallest graph cannot be read: %v\n%s", err, small)
	}
	if !fails(small) || len(small.Nodes) != 2 {
		t.Errorf("Minimize leaves %d nodes, want MatMul and Softmax:\n%s", len(small.Nodes), small)
	}
}

func TestChains(t *testing.T) {
	g := newGraph(2, 3)
	g.addNode("Relu", "y", []int{2, 3}, []string{"x"})
	g.addNode("Mul", "z", []int{2, 3}, []string{"y", "y"})
	g.addNode("Add", "sum", []int{2, 3}, []string{"z", "y"})
	if got, want := g.chains(2), []string{"Relu>Mul", "Mul>Add", "Relu>Add"}; !slices.Equal(got, want) {
		t.Errorf("pairs are %v, want %v", got, want)
	}
	if got, want := g.chains(3), []string{"Relu>Mul>Add"}; !slices.Equal(got, want) {
		t.Errorf("triples are %v, want %v", got, want)
	}
}

func TestRebatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	g := attentionGraph()
	two, second, ok := g.Rebatch(rng)
	if !ok {
		t.Fatalf("Rebatch refuses\n%s", g)
	}
	if got, want := two.Inputs[0].Dims, []int{2, 5, 8}; !slices.Equal(got, want) {
		t.Errorf("the input of two has dims %v, want %v", got, want)
	}
	if got, want := two.Values[two.Outputs[0]].Dims, []int{2, 5, 8}; !slices.Equal(got, want) {
		t.Errorf("the output of two has dims %v, want %v", got, want)
	}
	both := slices.Concat(g.Inputs[0].Values, second.Inputs[0].Values)
	if !slices.Equal(two.Inputs[0].Values, both) {
		t.Error("the input of two is not that of the graph followed by that of the second item")
	}
	if slices.Equal(g.Inputs[0].Values, second.Inputs[0].Values) {
		t.Error("both items of the batch have the same input")
	}

	// A transpose that moves the batch, and a mean over it, depend on the other items. The sizes of
	// a Resize contain the number of items.
	for _, op := range []string{"Transpose", "ReduceMean", "Resize"} {
		g := newGraph(1, 3)
		switch op {
		case "Transpose":
			g.addNode(op, "y", []int{3, 1}, []string{"x"}, Attribute{Name: "perm", Kind: IntsKind, Ints: []int{1, 0}})
		case "ReduceMean":
			g.addNode(op, "y", []int{1, 3}, []string{"x"}, Attribute{Name: "axes", Kind: IntsKind, Ints: []int{0}}, Attribute{Name: "keepdims", Kind: IntKind, Int: 1})
		case "Resize":
			g.addConstant("sizes", onnx.Int64, 2)
			g.addNode(op, "y", []int{1, 6}, []string{"x", "", "", "sizes"})
		}
		if _, _, ok := g.Rebatch(rng); ok {
			t.Errorf("Rebatch accepts %s over the batch", op)
		}
	}
}

func TestNPY(t *testing.T) {
	x := &Tensor{Type: onnx.Float, Dims: []int{3}, Values: []float64{1, -0.5, 2}}
	want := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
	want += strings.Repeat(" ", 127-len(want)) + "\n" + "\x00\x00\x80\x3f\x00\x00\x00\xbf\x00\x00\x00\x40"
	if got := string(x.NPY()); got != want {
		t.Errorf("NPY gives %q, want %q", got, want)
	}
}
