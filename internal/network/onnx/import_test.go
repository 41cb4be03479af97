package onnx_test

import (
	"testing"

	"anesim/internal/network/graph"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

// TestImport holds that the tensors of a graph are one each, and that inputs that are left out
// are not one tensor.
func TestImport(t *testing.T) {
	m, err := onnx.Read(ox.Model(
		ox.Input("x", 2, 3), ox.Constant("c", []int{3}, 1, 2, 3),
		ox.Node("Clip", "a", []string{"x", "", "c"}), ox.Node("Add", "y", []string{"a", "c"}, ox.Int("axis", 1)), ox.Output("y"),
	))
	if err != nil {
		t.Fatal(err)
	}
	m.Opsets[""] = 13
	c := m.Constants["c"]
	g := m.Import(map[*onnx.Tensor]*graph.Packing{c: {Form: graph.Palette}})
	if len(g.Nodes) != 2 || len(g.Inputs) != 1 || len(g.Results) != 1 {
		t.Fatalf("%d nodes, %d inputs, %d results", len(g.Nodes), len(g.Inputs), len(g.Results))
	}
	clip, add := g.Nodes[0], g.Nodes[1]
	if clip.Out[0] != add.In[0] || clip.In[2] != add.In[1] || g.Outputs[0] != add.Out[0] || g.Values["x"] != clip.In[0] {
		t.Error("one tensor is several")
	}
	if clip.Given(1) || !clip.Given(2) || clip.Opset != 13 || add.Int("axis", 0) != 1 {
		t.Errorf("a node is %+v", clip)
	}
	stored := g.Consts["c"]
	v, err := stored.Values()
	if err != nil || len(v) != 3 || v[2] != 3 || stored.Type != graph.Float || stored.Packing == nil {
		t.Errorf("a constant is %+v: %v, %v", stored, v, err)
	}
}

// TestImportBranches reads branches that use the same names for different tensors, and names that
// tensors around them have.
func TestImportBranches(t *testing.T) {
	branch := func(name string, w float32) ox.Message {
		return ox.Graph(name, ox.Constant("w", []int{1}, w), ox.Node("Mul", "a", []string{"x", "w"}), ox.Node("Neg", "y", []string{"a"}), ox.Output("y"))
	}
	m, err := onnx.Read(ox.Model(
		ox.Input("x", 2, 3), ox.Input("c", 1), ox.Output("y"),
		ox.Node("If", "y", []string{"c"}, branch("then_branch", 2), branch("else_branch", 3)),
	))
	if err != nil {
		t.Fatal(err)
	}
	g := m.Import(nil)
	seen := map[*graph.Value]bool{g.Values["y"]: true}
	for name, want := range map[string]float64{"then_branch": 2, "else_branch": 3} {
		side := g.Nodes[0].Attr[name].Graph
		mul, neg := side.Nodes[0], side.Nodes[1]
		if mul.In[0] != g.Values["x"] || neg.In[0] != mul.Out[0] || side.Outputs[0] != neg.Out[0] {
			t.Errorf("%s: the nodes are not connected", name)
		}
		for _, v := range []*graph.Value{mul.In[1], mul.Out[0], neg.Out[0]} {
			if seen[v] || g.Values[v.Name] != v {
				t.Errorf("%s: %q is a tensor of another graph too", name, v.Name)
			}
			seen[v] = true
		}
		if c := side.Consts[mul.In[1].Name]; c == nil {
			t.Errorf("%s: no constant %q", name, mul.In[1].Name)
		} else if v, err := c.Values(); err != nil || v[0] != want {
			t.Errorf("%s: the constant is %v, %v", name, v, err)
		}
	}
}
