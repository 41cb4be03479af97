package settle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"anesim/internal/network/graph"
)

// A file is a graph under construction, of a recent version of the operators.
type file struct{ graph.Model }

func newFile() *file { return &file{graph.Model{Values: map[string]*graph.Value{}}} }

func (f *file) valueOf(name string) *graph.Value {
	if name == "" {
		return &graph.Value{}
	}
	if f.Values[name] == nil {
		f.Values[name] = &graph.Value{Name: name}
	}
	return f.Values[name]
}

// addInput adds an input to the file.
func (f *file) addInput(name string, t graph.Type, dims ...int) {
	v := f.valueOf(name)
	v.Type = t
	v.Shape(dims)
	f.Inputs = append(f.Inputs, graph.Port{Name: name, Type: t})
}

// addConstant adds a constant to the file.
func (f *file) addConstant(name string, t graph.Type, dims []int, numbers ...float64) {
	for len(numbers) < graph.Elements(dims) {
		numbers = append(numbers, numbers...)
	}
	f.valueOf(name).Set(&graph.Const{Dims: dims, Type: t, Numbers: numbers[:graph.Elements(dims)]})
}

// addNode adds a node described in words, such as "y, z = domain.Op x - w". A dash is an omitted
// input.
func (f *file) addNode(text string, a attributes) *graph.Node {
	n := parseNode(text, a, f.valueOf)
	f.Nodes = append(f.Nodes, n)
	return n
}

func parseNode(text string, a attributes, value func(string) *graph.Value) *graph.Node {
	out, rest, _ := strings.Cut(text, " = ")
	w := strings.Fields(rest)
	n := &graph.Node{Op: w[0], Attr: a, Opset: 20}
	if op, ok := strings.CutPrefix(w[0], "com.microsoft."); ok {
		n.Op, n.Domain = op, "com.microsoft"
	}
	for name := range strings.SplitSeq(out, ", ") {
		n.Out = append(n.Out, value(strings.Trim(name, "-")))
	}
	for _, name := range w[1:] {
		n.In = append(n.In, value(strings.Trim(name, "-")))
	}
	return n
}

// settle settles the file. It fails the test if a pass has a fault.
func (f *file) settle(t *testing.T) []*Node {
	t.Helper()
	for _, n := range f.Nodes {
		f.Outputs = append(f.Outputs, n.Out...)
	}
	list, err := Model(&f.Model, &graph.Budget{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// describeValue returns the shape and type of a tensor in words, and its elements if they are
// known.
func describeValue(v *graph.Value) string {
	if v.Dims == nil {
		return "?"
	}
	s := fmt.Sprintf("%v %v", v.Dims, v.Type)
	if v.Const != nil {
		numbers, _ := v.Const.Values()
		s += fmt.Sprintf(" of %v", numbers)
	}
	return s
}

// describeBody returns the operators of a body.
func describeBody(list []*Node) string {
	var s []string
	for _, n := range list {
		switch {
		case n.Kind == Same:
			s = append(s, "same")
		case n.Kind == Constant:
			s = append(s, "("+n.Op+")")
		case n.Body != nil:
			s = append(s, n.Op+"["+describeBody(n.Body)+"]")
		default:
			s = append(s, n.Op)
		}
	}
	return strings.Join(s, " ")
}

// TestConstants holds that nodes of constants are constants, that a shape is one whatever has it,
// and that a node of which too much would have to be worked out stays what it is, with a shape.
func TestConstants(t *testing.T) {
	f := newFile()
	f.addInput("x", graph.Float, 2, 3)
	f.addConstant("c", graph.Float, []int{2}, 1, 2)
	f.addConstant("wide", graph.Int64, []int{1}, 1<<20)
	f.addNode("k = Constant", attributes{"value_int": {Int: 5}})
	f.addNode("s = Shape x", nil)
	f.addNode("d = Add c c", nil)
	f.addNode("g = Greater p m", nil)
	f.addNode("large = Expand d0 wide", nil)
	f.addConstant("d0", graph.Float, []int{1}, 1)
	f.addNode("r = Sigmoid x", nil)
	f.addConstant("m", graph.Float, []int{}, -1)
	f.addNode("p = Add r r", nil)
	list := map[string]*Node{}
	for _, n := range f.settle(t) {
		list[n.Out[0].Name] = n
	}
	for name, want := range map[string]string{
		"k": "[] int64 of [5]", "s": "[2] int64 of [2 3]", "d": "[2] float32 of [2 4]",
		"large": "[1048576] float32", "r": "[2 3] float32", "g": "[2 3] bool",
	} {
		if got := describeValue(f.valueOf(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if n := list["large"]; n.Kind != Open || n.Err != nil {
		t.Errorf("what is too large is of kind %d: %v", n.Kind, n.Err)
	}
	if list["k"].Kind != Constant || list["d"].Kind != Constant || list["r"].Kind != Open {
		t.Error("what is constant is another kind")
	}
}

// TestShapes holds that a missing rule does not hide what is behind it: a node has the shape that
// the file states, and where there is none those behind it say which node has none.
func TestShapes(t *testing.T) {
	f := newFile()
	f.addInput("x", graph.Float, 2, 3)
	f.addNode("a = Nonesuch x", nil)
	f.addNode("b = Relu a", nil)
	f.addNode("c = Nonesuch x", nil)
	f.addNode("d = Relu c", nil)
	f.addNode("e = mil.odd x", attributes{"why": {Text: "it is odd"}})
	f.addNode("h = Relu nowhere", nil)
	f.valueOf("a").Stated = &graph.Result{Dims: []int{7}, Type: graph.Float16}
	f.valueOf("h").Stated = &graph.Result{Dims: []int{0}, Type: graph.Float16}
	errs := map[string]error{}
	for _, n := range f.settle(t) {
		errs[n.Out[0].Name] = n.Err
	}
	for name, want := range map[string]string{"a": "[7] float16", "b": "[7] float16", "c": "?", "d": "?", "e": "?", "h": "?"} {
		if got := describeValue(f.valueOf(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"a": "operator Nonesuch is not modelled", "c": "operator Nonesuch is not modelled", "d": `shape of "c", a result of Nonesuch2, is unknown`,
		"e": "it is odd", "h": `no earlier node produces tensor "nowhere"`,
	} {
		if err := errs[name]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if errs["b"] != nil {
		t.Errorf("b, whose input has a shape: %v", errs["b"])
	}
}

// TestTwice holds that a name is one tensor's, in a graph and in its branches.
func TestTwice(t *testing.T) {
	f := newFile()
	f.addInput("x", graph.Float, 2)
	f.addNode("y = Relu x", nil)
	f.addNode("x = Neg y", nil)
	var e *DuplicateError
	if _, err := Model(&f.Model, &graph.Budget{}); !errors.As(err, &e) || e.Tensor != "x" {
		t.Errorf("a node that makes an input: %v", err)
	}
}

// TestPieces holds that an operator in pieces has both forms, of which one is taken later, that its
// pieces make its result, and that those of a constant are the constant.
func TestPieces(t *testing.T) {
	write := func() *file {
		f := newFile()
		f.addNode("s = Sigmoid x", nil)
		f.addNode("y = Mul x s", nil)
		f.Outputs = []*graph.Value{f.valueOf("y")}
		return f
	}
	f := write()
	f.addInput("x", graph.Float, 2, 3)
	list, err := Model(&f.Model, &graph.Budget{Bytes: 1 << 10})
	if err != nil || len(list) != 1 || list[0].Op != "Swish" || describeBody(list[0].Pieces) != "Sigmoid Mul" || list[0].Out[0] != f.valueOf("y") {
		t.Errorf("a Swish in pieces is %s: %v", describeBody(list), err)
	}
	if got := describeValue(f.valueOf("y")); got != "[2 3] float32" {
		t.Errorf("its result is %s", got)
	}
	f = write()
	f.addConstant("x", graph.Float, []int{1}, 0)
	list, err = Model(&f.Model, &graph.Budget{Bytes: 1 << 10})
	if err != nil || describeBody(list) != "(Sigmoid) (Mul)" || describeValue(f.valueOf("y")) != "[1] float32 of [0]" {
		t.Errorf("a Swish of a constant is %s, %s: %v", describeBody(list), describeValue(f.valueOf("y")), err)
	}
}

// addBranches adds an If with condition c whose branches are a Relu and a Neg of x, each in its own
// shape.
func addBranches(f *file, second string) {
	f.addInput("x", graph.Float, 2, 3)
	side := func(text string) *graph.Attr {
		var a attributes
		if strings.Contains(text, "Transpose") {
			a = attributes{"perm": graph.ListOf(1, 0)}
		}
		g := &graph.Graph{Nodes: []*graph.Node{parseNode(text, a, f.valueOf)}}
		g.Outputs = g.Nodes[0].Out
		return &graph.Attr{Graph: g}
	}
	f.addNode("y = If c", attributes{"then_branch": side("a = Relu x"), "else_branch": side(second)})
}

// TestBranch holds that a constant condition leaves one side, and a computed one both, of which the
// results have one shape.
func TestBranch(t *testing.T) {
	for _, c := range []struct{ condition, second, kind, y string }{
		{"1", "b = Neg x", "Relu same", "[2 3] float32"},
		{"0", "b = Transpose x", "Transpose same", "[3 2] float32"},
		{"0", "x = Neg x", "branch redefines tensor \"x\"; want a unique name", "?"},
		{"", "b = Neg x", "Relu | Neg", "[2 3] float32"},
		{"", "b = Transpose x", "branch results have shapes [2 3] and [3 2]; want equal shapes", "?"},
		{"", "b = Shape x", "branch result \"b\" is a constant; want a computed tensor", "?"},
		{"", "a = Neg x", "branch redefines tensor \"a\"; want a unique name", "?"},
	} {
		f := newFile()
		if c.condition == "" {
			f.addInput("c", graph.Bool, 1)
		} else {
			f.addConstant("c", graph.Bool, []int{1}, float64(c.condition[0]-'0'))
		}
		addBranches(f, c.second)
		n := f.settle(t)[0]
		var kind string
		switch {
		case n.Err != nil:
			kind = n.Err.Error()
		case n.Unstated != nil:
			kind = n.Unstated.Error()
		case n.Unsized != nil:
			kind = n.Unsized.Error()
		case n.Kind == Branch:
			kind = describeBody(n.Body)
		default:
			kind = describeBody(n.Sides[0].Nodes) + " | " + describeBody(n.Sides[1].Nodes)
		}
		if kind != c.kind || describeValue(f.valueOf("y")) != c.y {
			t.Errorf("If %s, else %s: %s and y %s; want %s and %s", c.condition, c.second, kind, describeValue(f.valueOf("y")), c.kind, c.y)
		}
	}
}

// TestScale holds that a tensor that is a power of two too small, since fp16 has no room for its
// whole numbers, is made up for: by a product that follows, and else in front of what reads it.
func TestScale(t *testing.T) {
	f := newFile()
	f.addInput("x", graph.Uint8, 2, 64)
	f.addConstant("w", graph.Int8, []int{64, 3}, 1)
	f.addConstant("c", graph.Float, []int{}, 0.5)
	f.addNode("i = MatMulInteger x w", nil)
	f.addNode("v = Reshape i shape", nil)
	f.addConstant("shape", graph.Int64, []int{1}, -1)
	f.addNode("f = Cast v", attributes{"to": {Int: int64(graph.Float)}})
	f.addNode("m = Mul f c", nil)
	f.addNode("a = Relu f", nil)
	list := map[string]*Node{}
	for _, n := range f.settle(t) {
		list[n.Out[0].Name] = n
	}
	for name, want := range map[string]struct {
		scale float64
		body  string
	}{
		"i": {64, "same same (Mul) MatMul"}, "v": {64, ""}, "f": {64, ""}, // 64 products of 255 and 128
		"m": {0, "(Mul) Mul"}, "a": {0, "Mul Relu"},
	} {
		n := list[name]
		if n.Out[0].Scale != want.scale || describeBody(n.Body) != want.body || n.Only != (name == "m" || name == "a") {
			t.Errorf("%s is %g times too small, stated as %s, only so: %t", name, n.Out[0].Scale, describeBody(n.Body), n.Only)
		}
	}
}

// TestBranchMissing holds that an If without a side is refused.
func TestBranchMissing(t *testing.T) {
	for _, constant := range []bool{true, false} {
		f := newFile()
		f.addInput("x", graph.Bool, 1)
		if constant {
			f.addConstant("x", graph.Bool, []int{1}, 1)
		}
		f.addNode("y = If x", nil)
		n := f.settle(t)[0]
		if err := errors.Join(n.Err, n.Unstated); err == nil || err.Error() != `branch is missing; want graphs in "then_branch" and "else_branch"` {
			t.Errorf("an If without sides: %v", err)
		}
	}
}

// TestSizes holds what becomes of tensors whose size depends on values: their largest shape and
// the least, who computes them, and what is constant after all.
func TestSizes(t *testing.T) {
	f := newFile()
	f.addInput("x", graph.Float, 4, 5)
	f.addConstant("w", graph.Float, []int{2, 3}, 1)
	f.addNode("p = NonZero x", nil) // [2 0..20]
	f.addNode("q = Transpose p", attributes{"perm": graph.ListOf(1, 0)})
	f.addNode("f = Cast q", attributes{"to": {Int: int64(graph.Float)}})
	f.addNode("r = Relu f", nil)
	f.addNode("m = MatMul r w", nil)
	f.addNode("n = LayerNormalization m o", attributes{"axis": {Int: 0}})
	f.addConstant("o", graph.Float, []int{20, 3}, 1)
	f.addNode("s = Shape p", nil)
	f.addNode("k = Gather s zero", nil)
	f.addConstant("zero", graph.Int64, []int{}, 0)
	list := map[string]*Node{}
	for _, n := range f.settle(t) {
		list[n.Out[0].Name] = n
	}
	for name, want := range map[string]string{
		"p": "[2 20] int64 [2 0] host", "q": "[20 2] int64 [0 2] host", "f": "[20 2] float32 [0 2] host",
		// The engine may go on with rows that are its own.
		"r": "[20 2] float32 [0 2] host largest",
		// The host has no function for products. Rows stay apart in one, and are mixed by a norm
		// over them.
		"m": "[20 3] float32 [0 3] largest", "n": "[20 3] float32 largest",
		"s": "[2] int64 span host", "k": "[] int64 of [2]",
	} {
		n := list[name]
		got := describeValue(n.Out[0])
		if v := n.Out[0]; v.Least != nil {
			got += fmt.Sprintf(" %v", v.Least)
		}
		if n.Out[0].Span != nil {
			got += " span"
		}
		if n.Host != nil {
			got += " host"
		}
		if n.Largest != nil {
			got += " largest"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if notes := list["p"].Notes; len(notes) != 1 || !strings.Contains(notes[0], `size of "p" depends on values`) {
		t.Errorf("notes of p are %q", notes)
	}
	if v := list["m"].Largest.In[0]; v.Least != nil || !v.Filled || v.Name != "r" {
		t.Errorf("a product reads %+v", v)
	}
}

// TestHosts holds what the host has a function for.
func TestHosts(t *testing.T) {
	one := []graph.Result{{Dims: []int{3}, Type: graph.Float}}
	for _, c := range []struct {
		op      string
		host    error
		results []graph.Result
		want    bool
	}{
		{"Neg", nil, one, true},
		{"Neg", nil, nil, false}, // its shape is not known
		{"Neg", nil, []graph.Result{{Dims: []int{0}, Type: graph.Float}}, false},
		{"Neg", nil, []graph.Result{{Dims: []int{maxStaged + 1}, Type: graph.Float}}, false},
		{"Neg", nil, []graph.Result{{Dims: []int{3}, Type: graph.String}}, false},
		{"Softmax", nil, one, false}, // the engine's rounds otherwise
		{"Softmax", errors.New("sizes"), one, true},
		{"Tan", nil, one, false},
		{"Dropout", nil, one, false},
		{"MatMul", errors.New("sizes"), one, false},
	} {
		if got := CanHost(&Node{Node: &graph.Node{Op: c.op}, Host: c.host, Results: c.results}); got != c.want {
			t.Errorf("%s of %v by the host: %t", c.op, c.results, got)
		}
	}
}

// TestCheck holds that a node that reads what one behind it makes is found, in a body too.
func TestCheck(t *testing.T) {
	x, a, b, y := &graph.Value{Name: "x", Dims: []int{1}}, &graph.Value{Name: "a", Dims: []int{1}}, &graph.Value{Name: "b", Dims: []int{1}}, &graph.Value{Name: "y", Dims: []int{1}}
	node := func(out *graph.Value, in ...*graph.Value) *Node {
		return &Node{Label: out.Name, Node: &graph.Node{In: in, Out: []*graph.Value{out}}}
	}
	whole := node(y, a)
	whole.Body = []*Node{node(b, a), node(y, b)}
	if err := checkNodeOrder([]*Node{node(a, x), whole}); err != nil {
		t.Errorf("nodes in order: %v", err)
	}
	whole.Body = []*Node{node(y, b), node(b, a)}
	var e *graph.OrderError
	if err := checkNodeOrder([]*Node{node(a, x), whole}); !errors.As(err, &e) || e.Tensor != "b" {
		t.Errorf("a body out of order: %v", err)
	}
	if err := checkNodeOrder([]*Node{node(y, a), node(a, x)}); !errors.As(err, &e) || e.Node != "y" {
		t.Errorf("nodes out of order: %v", err)
	}
}
