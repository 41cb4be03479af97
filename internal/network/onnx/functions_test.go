package onnx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

// describeNodes returns a line for each node of g, with those of its branches behind it.
func describeNodes(g *onnx.Graph) (lines []string) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		line := fmt.Sprintf("%s(%s) -> %s", n.Op, strings.Join(n.Inputs, ","), strings.Join(n.Outputs, ","))
		for _, name := range []string{"axis", "alpha"} {
			if a := n.Attributes[name]; a != nil {
				line += fmt.Sprintf(" %s=%d", name, a.Int)
			}
		}
		lines = append(lines, line)
		for _, name := range []string{"then_branch", "else_branch"} {
			if a := n.Attributes[name]; a != nil {
				lines = append(lines, name+" -> "+a.Graph.Outputs[0].Name)
				lines = append(lines, describeNodes(a.Graph)...)
			}
		}
	}
	return lines
}

// TestFunctions reads calls of functions: twice, nested, with attributes of the call, without an
// optional input, with a branch that has a tensor of the caller's name, and with an output that is
// an input.
func TestFunctions(t *testing.T) {
	names := func(list ...string) []string { return list }
	branch := func(name, out string) ox.Message {
		return ox.Graph(name, ox.Constant("x", []int{1}, 2), ox.Node("Mul", out, names("a", "x")), ox.Output(out))
	}
	file := ox.Model(
		ox.Input("x", 2, 3), ox.Input("c", 1), ox.Output("y"),
		ox.NodeOf("f", "Twice", "p", names("x"), ox.Int("dim", 1)),
		ox.NodeOf("f", "Twice", "q", names("p")),
		ox.NodeOf("f", "Choose", "r", names("c", "q")),
		ox.NodeOf("f", "Bound", "s", names("r")),
		ox.NodeOf("f", "Same", "y", names("s")),
	)
	file = append(file, ox.Function("f", "Twice", names("v"), names("w"), names("dim"),
		ox.NodeOf("f", "Once", "t", names("v"), ox.Refer("dim", "dim", 2)), ox.NodeOf("f", "Once", "w", names("t")))...)
	file = append(file, ox.Function("f", "Once", names("x"), names("y"), names("dim"),
		ox.Node("Softmax", "p", names("x"), ox.Refer("axis", "dim", 2)), ox.Node("Neg", "y", names("p")))...)
	file = append(file, ox.Function("f", "Choose", names("c", "a"), names("y"), nil,
		ox.Node("If", "y", names("c"), branch("then_branch", "u"), branch("else_branch", "u")))...)
	file = append(file, ox.Function("f", "Bound", names("a", "low", "high"), names("y"), nil, ox.Node("Clip", "y", names("a", "low", "high")))...)
	file = append(file, ox.Function("f", "Same", names("a"), names("a"), nil)...)
	m, err := onnx.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	got := describeNodes(&m.Graph)
	want := []string{
		"Softmax(x) -> p/2 axis=1", "Neg(p/2) -> t", "Softmax(t) -> p/3", "Neg(p/3) -> p",
		"Softmax(p) -> p/4", "Neg(p/4) -> t/2", "Softmax(t/2) -> p/5", "Neg(p/5) -> q",
		"If(c) -> r", "then_branch -> u/2", "Mul(q,x/3) -> u/2", "else_branch -> u", "Mul(q,x/2) -> u",
		"Clip(r,,) -> s", "Identity(s) -> y",
	}
	if !slices.Equal(got, want) {
		t.Errorf("nodes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFunctionLimits reads functions that call each other, and functions whose nodes are many
// where they are called.
func TestFunctionLimits(t *testing.T) {
	x := []string{"x"}
	y := []string{"y"}
	model := func(functions ...ox.Message) []byte {
		b := ox.Model(ox.Input("x", 4), ox.Output("y"), ox.NodeOf("f", "F0", "y", x))
		for _, f := range functions {
			b = append(b, f...)
		}
		return b
	}
	var many []ox.Message // each calls the next one twenty times
	for i := range 6 {
		var nodes []ox.Message
		for k := range 20 {
			nodes = append(nodes, ox.NodeOf("f", fmt.Sprintf("F%d", i+1), []string{"y", "z"}[min(k, 1)], x))
		}
		many = append(many, ox.Function("f", fmt.Sprintf("F%d", i), x, y, nil, nodes...))
	}
	long := strings.Repeat("n", 1<<20)
	var calls []ox.Message
	for range 100 {
		calls = append(calls, ox.NodeOf("f", "F1", "y", x))
	}
	for _, c := range []struct {
		what string
		file []byte
		want string // "" if the call stays
	}{
		{"long names of tensors", model(ox.Function("f", "F0", x, y, nil, calls...), ox.Function("f", "F1", x, y, nil, ox.Node("Neg", long, x), ox.Node("Neg", "y", []string{long}))),
			"calls of functions expand to more than 16777216 bytes"},
		{"itself", model(ox.Function("f", "F0", x, y, nil, ox.NodeOf("f", "F0", "y", x))), "calls of functions exceed the limit of 16 levels"},
		{"many", model(many...), "calls of functions expand to more than 65536 nodes"},
		{"another version", append(model(ox.Function("f", "F0", x, y, nil, ox.Node("Neg", "y", x))), ox.Message{}.Bytes(8, ox.Message{}.Int(2, 18))...), ""},
		{"another domain", model(ox.Function("g", "F0", x, y, nil, ox.Node("Neg", "y", x))), ""},
	} {
		m, err := onnx.Read(c.file)
		if c.want == "" {
			if err != nil || m.Nodes[0].Op != "F0" {
				t.Errorf("%s: %v, %v", c.what, m, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.what, err, c.want)
		}
	}
}
