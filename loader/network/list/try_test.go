package list

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/loader/layer"
)

// TestTry holds that a builder that goes on from another sees all of it, and adds nothing to
// it before it is kept.
func TestTry(t *testing.T) {
	s := layer.Shape{N: 1, C: 1, H: 1, W: 8}
	b := NewBuilder()
	b.Input("x", s)
	b.Add(Layer{Name: "a", Inputs: []string{"x"}, Output: "a", Out: s})
	b.Net.Nodes = append(b.Net.Nodes, Node{Name: "a"})
	add := func(b *Builder) {
		b.SetTensor("view", "a")
		b.SetShape("view", s)
		b.Add(Layer{Name: "b", Inputs: []string{"view"}, Output: "b", Out: s})
		b.Constant("c", nil, s)
		b.SetCut("b", &Cut{})
		b.Net.Nodes = append(b.Net.Nodes, Node{Name: "b", First: 0})
	}

	dropped := b.Try()
	add(dropped)
	if got := dropped.Net.Layers[0].Inputs[0]; got != "a" {
		t.Errorf("a view of an outer tensor is read as %q", got)
	}
	if _, ok := dropped.Shape("x"); !ok || dropped.Len() != 2 || len(dropped.Inputs()) != 1 {
		t.Errorf("what goes on from a builder does not see it")
	}
	dropped.Note("a note stays")
	if _, ok := b.Shape("b"); ok || b.Len() != 1 || b.TensorOf("view") != "view" || b.HasConstant("c") || b.CutOf("b") != nil {
		t.Errorf("what was not kept left something behind")
	}
	if len(b.Net.Notes) != 1 {
		t.Errorf("notes %q, want one", b.Net.Notes)
	}

	outer := b.Try()
	inner := outer.Try()
	add(inner)
	inner.Keep()
	if _, ok := b.Shape("b"); ok {
		t.Errorf("what was kept by what was not is there")
	}
	outer.Keep()
	if _, ok := b.Shape("b"); !ok || b.TensorOf("view") != "a" || !b.HasConstant("c") || b.CutOf("b") == nil {
		t.Errorf("what was kept is not there")
	}
	want := []Node{{Name: "a"}, {Name: "b", First: 1}}
	if diff := cmp.Diff(want, b.Net.Nodes); diff != "" {
		t.Errorf("nodes: %s", diff)
	}
	if l := b.Net.Layers[1]; l.Node != 1 {
		t.Errorf("the layer that was kept is of node %d, want 1", l.Node)
	}
}
