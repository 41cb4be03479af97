package graph

import (
	"errors"
	"strings"
	"testing"
)

// TestApply holds that a node is refused, with the name of what was left, unless its rules asked
// for every input and attribute that it has, and that asking what kind of tensor an input is does
// not count as reading it.
func TestApply(t *testing.T) {
	newNode := func() *Node {
		return &Node{
			Op: "Odd", Domain: "com.other", Opset: 13,
			In:   []*Value{{Name: "x", Dims: []int{2}}, {}, {Name: "z", Const: &Const{Dims: []int{1}, Type: Int64, Numbers: []float64{3}}}},
			Attr: map[string]*Attr{"mode": {Int: 1}, "list": {Ints: []int64{1}}, "__note": {Int: 1}},
		}
	}
	readAll := func(n *Node) {
		n.Int("mode", 0)
		n.List("list", -1)
		n.AllInputs()
	}
	for _, c := range []struct {
		name string
		rule func(n *Node)
		want string // "" for no error
	}{
		{"everything", readAll, ""},
		{"nothing", func(n *Node) {}, `attribute "list" of operator com.other.Odd is not modelled`},
		{"no mode", func(n *Node) { n.List("list", -1); n.AllInputs() }, `attribute "mode"`},
		{"a default", func(n *Node) { n.Accept("mode", 1); n.List("list", -1); n.AllInputs() }, ""},
		{"another default", func(n *Node) { n.Accept("mode", 0); n.List("list", -1); n.AllInputs() }, `attribute "mode"`},
		{"a shape", func(n *Node) { n.AllAttributes(); n.Dims(0); n.Type(0); n.Given(0); n.Const(2) }, `input 0 ("x")`},
		{"a computed constant", func(n *Node) { n.AllAttributes(); n.Const(0); n.Const(2) }, `input 0 ("x")`},
		{"all but the last", func(n *Node) { n.AllAttributes(); n.Input(0); n.Input(1) }, `input 2 ("z")`},
		{"a list from an input", func(n *Node) { n.Ignore("mode", "list"); n.Input(0); n.List("axes", 2) }, ""},
		{"a number as a text", func(n *Node) { n.Text("mode", ""); n.List("list", -1); n.AllInputs() }, `attribute "mode"`},
		{"a list as a number", func(n *Node) { n.Int("mode", 0); n.Float("list", 0); n.AllInputs() }, `attribute "list"`},
		{"shapes", func(n *Node) { n.InferShapes(func() { readAll(n) }) }, ""},
	} {
		n := newNode()
		err := n.Apply(func() error { c.rule(n); return nil })
		var e *UnreadError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("a rule that reads %s: %v, want %q", c.name, err, c.want)
		}
	}
	n := newNode()
	readAll(n)
	if err := n.Apply(func() error { return nil }); err == nil {
		t.Error("what an earlier rule read counts")
	}
	failed := errors.New("a rule's own reason")
	if err := n.Apply(func() error { return failed }); err != failed {
		t.Errorf("a rule that fails: %v", err)
	}
}

// TestManyInputs holds that inputs beyond the number of bits of a set are read or not together.
func TestManyInputs(t *testing.T) {
	n := &Node{Op: "Concat"}
	for range 100 {
		n.In = append(n.In, &Value{Name: "x", Dims: []int{}})
	}
	if err := n.Apply(func() error { n.AllInputs(); return nil }); err != nil {
		t.Error(err)
	}
	if err := n.Apply(func() error { n.Input(0); return nil }); err == nil {
		t.Error("99 inputs that no rule read are modelled")
	}
}
