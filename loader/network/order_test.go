package network

import (
	"slices"
	"testing"

	"anesim/loader/network/onnx"
)

// TestReadingOrder holds that the order of nodes follows from what they read: it is the same
// for every order in which a file may have them.
func TestReadingOrder(t *testing.T) {
	node := func(name string, in ...string) onnx.Node {
		return onnx.Node{Name: name, Op: "Op", Inputs: in, Outputs: []string{name}}
	}
	a, b, c, d, e := node("a", "x"), node("b", "x"), node("c", "a", "b"), node("d", "c", "a"), node("e", "b")
	branch := node("f", "x")
	branch.Attributes = map[string]*onnx.Attribute{"then_branch": {Graph: &onnx.Graph{Nodes: []onnx.Node{node("inside", "e")}}}}
	outputs := []onnx.Value{{Name: "d"}, {Name: "f"}}
	for _, list := range [][]onnx.Node{{a, b, c, d, e, branch}, {b, e, a, branch, c, d}, {b, a, e, c, branch, d}} {
		var got []string
		for _, n := range inReadingOrder(list, outputs) {
			got = append(got, n.Name)
		}
		if want := []string{"a", "b", "c", "d", "e", "f"}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	}
	// A circle, which the file's reader lets pass, keeps every node once.
	circle := inReadingOrder([]onnx.Node{node("p", "q"), node("q", "p")}, outputs)
	if len(circle) != 2 || circle[0].Name == circle[1].Name {
		t.Errorf("a circle of two nodes becomes %v", circle)
	}
}
