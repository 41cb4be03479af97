package settle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"anesim/loader/network/graph"
)

// A file is a graph under construction, of a recent version of the operators.
type file struct{ graph.Model }

func newFile() *file { return &file{graph.Model{Values: map[string]*graph.Value{}}} }

func (f *file) value(name string) *graph.Value {
	if name == "" {
		return &graph.Value{}
	}
	if f.Values[name] == nil {
		f.Values[name] = &graph.Value{Name: name}
	}
	return f.Values[name]
}

// input adds an input.
func (f *file) input(name string, t graph.Type, dims ...int) {
	v := f.value(name)
	v.Type = t
	v.Shape(dims)
	f.Inputs = append(f.Inputs, graph.Port{Name: name, Type: t})
}

// constant adds a tensor of the file.
func (f *file) constant(name string, t graph.Type, dims []int, numbers ...float64) {
	for len(numbers) < graph.Elements(dims) {
		numbers = append(numbers, numbers...)
	}
	f.value(name).Set(&graph.Const{Dims: dims, Type: t, Numbers: numbers[:graph.Elements(dims)]})
}

// node adds a node in words: "y, z = domain.Op x - w". A dash is an input that is left out.
func (f *file) node(text string, a attributes) *graph.Node {
	n := parse(text, a, f.value)
	f.Nodes = append(f.Nodes, n)
	return n
}

func parse(text string, a attributes, value func(string) *graph.Value) *graph.Node {
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

// settled settles the file, which must have no fault of a pass.
func (f *file) settled(t *testing.T) []*Node {
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

// is is a tensor in words: its shape and type, and its elements where they are known.
func is(v *graph.Value) string {
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

// parts are the operators of a body.
func parts(list []*Node) string {
	var s []string
	for _, n := range list {
		switch {
		case n.Kind == Same:
			s = append(s, "same")
		case n.Kind == Constant:
			s = append(s, "("+n.Op+")")
		case n.Body != nil:
			s = append(s, n.Op+"["+parts(n.Body)+"]")
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
	f.input("x", graph.Float, 2, 3)
	f.constant("c", graph.Float, []int{2}, 1, 2)
	f.constant("wide", graph.Int64, []int{1}, 1<<20)
	f.node("k = Constant", attributes{"value_int": {Int: 5}})
	f.node("s = Shape x", nil)
	f.node("d = Add c c", nil)
	f.node("g = Greater p m", nil)
	f.node("large = Expand d0 wide", nil)
	f.constant("d0", graph.Float, []int{1}, 1)
	f.node("r = Sigmoid x", nil)
	f.constant("m", graph.Float, []int{}, -1)
	f.node("p = Add r r", nil)
	list := map[string]*Node{}
	for _, n := range f.settled(t) {
		list[n.Out[0].Name] = n
	}
	for name, want := range map[string]string{
		"k": "[] int64 of [5]", "s": "[2] int64 of [2 3]", "d": "[2] float32 of [2 4]",
		"large": "[1048576] float32", "r": "[2 3] float32", "g": "[2 3] bool",
	} {
		if got := is(f.value(name)); got != want {
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
	f.input("x", graph.Float, 2, 3)
	f.node("a = Nonesuch x", nil)
	f.node("b = Relu a", nil)
	f.node("c = Nonesuch x", nil)
	f.node("d = Relu c", nil)
	f.node("e = mil.odd x", attributes{"why": {Text: "it is odd"}})
	f.node("h = Relu nowhere", nil)
	f.value("a").Stated = &graph.Result{Dims: []int{7}, Type: graph.Float16}
	f.value("h").Stated = &graph.Result{Dims: []int{0}, Type: graph.Float16}
	errs := map[string]error{}
	for _, n := range f.settled(t) {
		errs[n.Out[0].Name] = n.Err
	}
	for name, want := range map[string]string{"a": "[7] float16", "b": "[7] float16", "c": "?", "d": "?", "e": "?", "h": "?"} {
		if got := is(f.value(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"a": "no shape rule", "c": "no shape rule", "d": `shape of "c" is unknown: Nonesuch2 has none`,
		"e": "it is odd", "h": `no earlier node produces "nowhere"`,
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
	f.input("x", graph.Float, 2)
	f.node("y = Relu x", nil)
	f.node("x = Neg y", nil)
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
		f.node("s = Sigmoid x", nil)
		f.node("y = Mul x s", nil)
		f.Outputs = []*graph.Value{f.value("y")}
		return f
	}
	f := write()
	f.input("x", graph.Float, 2, 3)
	list, err := Model(&f.Model, &graph.Budget{Bytes: 1 << 10})
	if err != nil || len(list) != 1 || list[0].Op != "Swish" || parts(list[0].Pieces) != "Sigmoid Mul" || list[0].Out[0] != f.value("y") {
		t.Errorf("a Swish in pieces is %s: %v", parts(list), err)
	}
	if got := is(f.value("y")); got != "[2 3] float32" {
		t.Errorf("its result is %s", got)
	}
	f = write()
	f.constant("x", graph.Float, []int{1}, 0)
	list, err = Model(&f.Model, &graph.Budget{Bytes: 1 << 10})
	if err != nil || parts(list) != "(Sigmoid) (Mul)" || is(f.value("y")) != "[1] float32 of [0]" {
		t.Errorf("a Swish of a constant is %s, %s: %v", parts(list), is(f.value("y")), err)
	}
}

// branches has an If by c whose sides are Relu and Neg of x, in shapes of their own.
func branches(f *file, second string) {
	f.input("x", graph.Float, 2, 3)
	side := func(text string) *graph.Attr {
		g := &graph.Graph{Nodes: []*graph.Node{parse(text, attributes{"perm": graph.ListOf(1, 0)}, f.value)}}
		g.Outputs = g.Nodes[0].Out
		return &graph.Attr{Graph: g}
	}
	f.node("y = If c", attributes{"then_branch": side("a = Relu x"), "else_branch": side(second)})
}

// TestBranch holds that a constant condition leaves one side, and a computed one both, of which the
// results have one shape.
func TestBranch(t *testing.T) {
	for _, c := range []struct{ condition, second, kind, y string }{
		{"1", "b = Neg x", "Relu same", "[2 3] float32"},
		{"0", "b = Transpose x", "Transpose same", "[3 2] float32"},
		{"0", "x = Neg x", "branch produces tensor \"x\", which another node also produces", "?"},
		{"", "b = Neg x", "Relu | Neg", "[2 3] float32"},
		{"", "b = Transpose x", "branches have shapes [2 3] and [3 2]; want equal shapes", "?"},
		{"", "b = Shape x", "branch result \"b\" is a constant; want a computed tensor", "?"},
		{"", "a = Neg x", "tensor \"a\" of a branch is also produced in the other branch or elsewhere", "?"},
	} {
		f := newFile()
		if c.condition == "" {
			f.input("c", graph.Bool, 1)
		} else {
			f.constant("c", graph.Bool, []int{1}, float64(c.condition[0]-'0'))
		}
		branches(f, c.second)
		n := f.settled(t)[0]
		var kind string
		switch {
		case n.Err != nil:
			kind = n.Err.Error()
		case n.Unstated != nil:
			kind = n.Unstated.Error()
		case n.Unsized != nil:
			kind = n.Unsized.Error()
		case n.Kind == Branch:
			kind = parts(n.Body)
		default:
			kind = parts(n.Sides[0].Nodes) + " | " + parts(n.Sides[1].Nodes)
		}
		if kind != c.kind || is(f.value("y")) != c.y {
			t.Errorf("If %s, else %s: %s and y %s; want %s and %s", c.condition, c.second, kind, is(f.value("y")), c.kind, c.y)
		}
	}
}

// TestScale holds that a tensor that is a power of two too small, since fp16 has no room for its
// whole numbers, is made up for: by a product that follows, and else in front of what reads it.
func TestScale(t *testing.T) {
	f := newFile()
	f.input("x", graph.Uint8, 2, 64)
	f.constant("w", graph.Int8, []int{64, 3}, 1)
	f.constant("c", graph.Float, []int{}, 0.5)
	f.node("i = MatMulInteger x w", nil)
	f.node("v = Reshape i shape", nil)
	f.constant("shape", graph.Int64, []int{1}, -1)
	f.node("f = Cast v", attributes{"to": {Int: int64(graph.Float)}})
	f.node("m = Mul f c", nil)
	f.node("a = Relu f", nil)
	list := map[string]*Node{}
	for _, n := range f.settled(t) {
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
		if n.Out[0].Scale != want.scale || parts(n.Body) != want.body || n.Only != (name == "m" || name == "a") {
			t.Errorf("%s is %g times too small, stated as %s, only so: %t", name, n.Out[0].Scale, parts(n.Body), n.Only)
		}
	}
}

// TestBranchMissing holds that an If without a side is refused.
func TestBranchMissing(t *testing.T) {
	for _, constant := range []bool{true, false} {
		f := newFile()
		f.input("x", graph.Bool, 1)
		if constant {
			f.constant("x", graph.Bool, []int{1}, 1)
		}
		f.node("y = If x", nil)
		n := f.settled(t)[0]
		if err := errors.Join(n.Err, n.Unstated); err == nil || err.Error() != "branch is missing; want then_branch and else_branch" {
			t.Errorf("an If without sides: %v", err)
		}
	}
}

// TestSizes holds what becomes of tensors whose size depends on values: their largest shape and
// the least, who computes them, and what is constant after all.
func TestSizes(t *testing.T) {
	f := newFile()
	f.input("x", graph.Float, 4, 5)
	f.constant("w", graph.Float, []int{2, 3}, 1)
	f.node("p = NonZero x", nil) // [2 0..20]
	f.node("q = Transpose p", attributes{"perm": graph.ListOf(1, 0)})
	f.node("f = Cast q", attributes{"to": {Int: int64(graph.Float)}})
	f.node("r = Relu f", nil)
	f.node("m = MatMul r w", nil)
	f.node("n = LayerNormalization m o", attributes{"axis": {Int: 0}})
	f.constant("o", graph.Float, []int{20, 3}, 1)
	f.node("s = Shape p", nil)
	f.node("k = Gather s zero", nil)
	f.constant("zero", graph.Int64, []int{}, 0)
	list := map[string]*Node{}
	for _, n := range f.settled(t) {
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
		got := is(n.Out[0])
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
		{"Neg", nil, []graph.Result{{Dims: []int{MaxStaged + 1}, Type: graph.Float}}, false},
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
	if err := checkOrder([]*Node{node(a, x), whole}); err != nil {
		t.Errorf("nodes in order: %v", err)
	}
	whole.Body = []*Node{node(y, b), node(b, a)}
	var e *graph.OrderError
	if err := checkOrder([]*Node{node(a, x), whole}); !errors.As(err, &e) || e.Tensor != "b" {
		t.Errorf("a body out of order: %v", err)
	}
	if err := checkOrder([]*Node{node(y, a), node(a, x)}); !errors.As(err, &e) || e.Node != "y" {
		t.Errorf("nodes out of order: %v", err)
	}
}
