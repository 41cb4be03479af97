package onnx_test

import (
	"testing"

	"anesim/loader/network/graph"
	"anesim/loader/network/onnx"
	ox "anesim/loader/network/onnx/onnxtest"
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
