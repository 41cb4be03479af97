package network

import (
	"slices"
	"testing"

	"anesim/loader/network/graph"
)

// TestReadingOrder holds that the order of nodes follows from what they read: it is the same
// for every order in which a file may have them.
func TestReadingOrder(t *testing.T) {
	values := map[string]*graph.Value{}
	value := func(name string) *graph.Value {
		if values[name] == nil {
			values[name] = &graph.Value{Name: name}
		}
		return values[name]
	}
	node := func(name string, in ...string) *graph.Node {
		n := &graph.Node{Name: name, Op: "Op", Out: []*graph.Value{value(name)}}
		for _, x := range in {
			n.In = append(n.In, value(x))
		}
		return n
	}
	a, b, c, d, e := node("a", "x"), node("b", "x"), node("c", "a", "b"), node("d", "c", "a"), node("e", "b")
	branch := node("f", "x")
	branch.Attr = map[string]*graph.Attr{"then_branch": {Graph: &graph.Graph{Nodes: []*graph.Node{node("inside", "e")}}}}
	outputs := []*graph.Value{value("d"), value("f")}
	for _, list := range [][]*graph.Node{{a, b, c, d, e, branch}, {b, e, a, branch, c, d}, {b, a, e, c, branch, d}} {
		var got []string
		for _, n := range inReadingOrder(list, outputs) {
			got = append(got, n.Name)
		}
		if want := []string{"a", "b", "c", "d", "e", "f"}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	}
	// A circle, which the file's reader lets pass, keeps every node once.
	circle := inReadingOrder([]*graph.Node{node("p", "q"), node("q", "p")}, outputs)
	if len(circle) != 2 || circle[0].Name == circle[1].Name {
		t.Errorf("a circle of two nodes becomes %v", circle)
	}
}
