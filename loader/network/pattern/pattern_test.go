package pattern

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim/loader/network/graph"
)

// A file is a graph in lines like "y = Mul a b"; a number stands for a constant.
type file struct {
	nodes  []*graph.Node
	values map[string]*graph.Value
}

func (f *file) value(name string) *graph.Value {
	v := f.values[name]
	if v == nil {
		v = &graph.Value{Name: name}
		var number float64
		if _, err := fmt.Sscan(name, &number); err == nil {
			v.Set(&graph.Const{Type: graph.Float, Numbers: []float64{number}})
		}
		f.values[name] = v
	}
	return v
}

func read(text string) *file {
	f := &file{values: map[string]*graph.Value{}}
	for line := range strings.SplitSeq(text, "; ") {
		w := strings.Fields(line)
		n := &graph.Node{Op: w[2], Opset: 20, Out: []*graph.Value{f.value(w[0])}, Attr: map[string]*graph.Attr{}}
		for _, x := range w[3:] {
			if perm, ok := strings.CutPrefix(x, "perm="); ok {
				var axes []int
				for _, c := range perm {
					axes = append(axes, int(c-'0'))
				}
				n.Attr["perm"] = graph.ListOf(axes...)
				continue
			}
			n.In = append(n.In, f.value(x))
		}
		f.nodes = append(f.nodes, n)
	}
	return f
}

// TestFind holds what is taken as an operator, and that nothing is that is none: with another
// constant, with a piece that something else reads, or of another tensor.
func TestFind(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"d = Div x 1.4142; e = Erf d; a = Add e 1; h = Mul x 0.5; y = Mul h a", "4: Gelu x for 0 1 2 3"},
		{"d = Div x 1.5; e = Erf d; a = Add e 1; h = Mul x 0.5; y = Mul h a", ""},
		{"d = Div x 1.4142; e = Erf d; a = Add e 1; h = Mul z 0.5; y = Mul h a", ""},
		{"s = Sigmoid x; y = Mul s x", "1: Swish x for 0"},
		{"b = Mul x 1.7; s = Sigmoid b; y = Mul x s", "2: QuickGelu x for 0 1"},
		{"s = Sigmoid x; y = Mul s x; z = Neg s", ""},
		// What it is the Swish of would be one of its pieces.
		{"s = Sigmoid x; t = Sigmoid s; y = Mul t s", ""},
		{"e = Exp x; a = Add e 1; y = Log a", "2: Softplus x for 0 1"},
		{"e = Exp x; a = Add e 2; y = Log a", ""},
	} {
		f := read(c.text)
		found, inside := Find(f.nodes, []*graph.Value{f.value("y"), f.value("z")})
		var got []string
		for i, m := range found {
			got = append(got, strings.Trim(fmt.Sprintf("%d: %s %s for %v", i, m.Node.Op, m.Node.In[0].Name, fmt.Sprint(m.Inside)), "]"))
			for _, k := range m.Inside {
				if !inside[k] {
					t.Errorf("%s: piece %d stands by itself too", c.text, k)
				}
			}
		}
		if text := strings.ReplaceAll(strings.Join(got, ", "), "[", ""); text != c.want {
			t.Errorf("%s: %q, want %q", c.text, text, c.want)
		}
	}
}

// TestStraighten holds which transposes become one, or none, and which stay.
func TestStraighten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a = Transpose x perm=0231; y = Transpose a perm=0312", "y = Identity x"},
		{"a = Transpose x perm=0231; y = Transpose a perm=0231", "y = Transpose x [0 3 1 2]"},
		// What works element by element lets a transpose pass.
		{"a = Transpose x perm=0231; r = Relu a; y = Transpose r perm=0312", "y = Identity r, r = Relu x"},
		{"a = Transpose x perm=0231; r = Softmax a; y = Transpose r perm=0312", "y = Transpose r [0 3 1 2], r = Softmax a"},
		// An output in the order of the first transpose keeps it.
		{"a = Transpose x perm=0231; z = Relu a; y = Transpose z perm=0312", "y = Transpose z [0 3 1 2], z = Relu a"},
	} {
		f := read(c.text)
		Straighten(f.nodes, []*graph.Value{f.value("y"), f.value("z")})
		var got []string
		for _, n := range slices.Backward(f.nodes[1:]) {
			text := fmt.Sprintf("%s = %s %s", n.Out[0].Name, n.Op, n.In[0].Name)
			if a := n.Attr["perm"]; a != nil {
				text += fmt.Sprintf(" %v", a.Ints)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", c.text, text, c.want)
		}
	}
}
