package graph

import (
	"slices"
	"testing"
)

// TestReadingOrder holds that the order of nodes follows from what they read: it is the same
// for every order in which a file may have them.
func TestReadingOrder(t *testing.T) {
	values := map[string]*Value{}
	value := func(name string) *Value {
		if values[name] == nil {
			values[name] = &Value{Name: name}
		}
		return values[name]
	}
	node := func(name string, in ...string) *Node {
		n := &Node{Name: name, Op: "Op", Out: []*Value{value(name)}}
		for _, x := range in {
			n.In = append(n.In, value(x))
		}
		return n
	}
	a, b, c, d, e := node("a", "x"), node("b", "x"), node("c", "a", "b"), node("d", "c", "a"), node("e", "b")
	branch := node("f", "x")
	branch.Attr = map[string]*Attr{"then_branch": {Graph: &Graph{Nodes: []*Node{node("inside", "e")}}}}
	outputs := []*Value{value("d"), value("f")}
	for _, list := range [][]*Node{{a, b, c, d, e, branch}, {b, e, a, branch, c, d}, {b, a, e, c, branch, d}} {
		var got []string
		for _, n := range InReadingOrder(list, outputs) {
			got = append(got, n.Name)
		}
		if want := []string{"a", "b", "c", "d", "e", "f"}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	}
	// A circle, which the file's reader lets pass, keeps every node once.
	circle := InReadingOrder([]*Node{node("p", "q"), node("q", "p")}, outputs)
	if len(circle) != 2 || circle[0].Name == circle[1].Name {
		t.Errorf("a circle of two nodes becomes %v", circle)
	}
}
