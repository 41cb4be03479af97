package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/internal/network/graph"
)

// A file is a graph in lines like "y = Mul a b" or "y = ReduceMean x axes=-1"; a number stands for
// a constant.
type file struct {
	nodes  []*graph.Node
	values map[string]*graph.Value
}

func (f *file) valueOf(name string) *graph.Value {
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

func parseGraph(text string) *file {
	f := &file{values: map[string]*graph.Value{}}
	for line := range strings.SplitSeq(text, "; ") {
		w := strings.Fields(line)
		n := &graph.Node{Op: w[2], Opset: 20, Out: []*graph.Value{f.valueOf(w[0])}, Attr: map[string]*graph.Attr{}}
		for _, x := range w[3:] {
			if name, value, ok := strings.Cut(x, "="); ok {
				n.Attr[name] = parseAttribute(name, value)
				continue
			}
			n.In = append(n.In, f.valueOf(x))
		}
		f.nodes = append(f.nodes, n)
	}
	return f
}

// parseAttribute returns an attribute: a list of axes with one digit each, an integer, or a number
// with a fraction.
func parseAttribute(name, value string) *graph.Attr {
	a := &graph.Attr{}
	switch name {
	case "perm":
		var axes []int
		for _, c := range value {
			axes = append(axes, int(c-'0'))
		}
		return graph.ListOf(axes...)
	case "axes":
		for v := range strings.SplitSeq(value, ",") {
			i, _ := strconv.Atoi(v)
			a.Ints = append(a.Ints, int64(i))
		}
	case "keepdims", "to":
		a.Int, _ = strconv.ParseInt(value, 10, 64)
	default:
		v, _ := strconv.ParseFloat(value, 32)
		a.Float = float32(v)
	}
	return a
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
		// The Swish of a sigmoid, which is not a piece of it.
		{"s = Sigmoid x; t = Sigmoid s; y = Mul t s", "2: Swish s for 1"},
		{"e = Exp x; a = Add e 1; y = Log a", "2: Softplus x for 0 1"},
		{"e = Exp x; a = Add e 2; y = Log a", ""},
		// With a hyperbolic tangent, x by itself or taken out of the polynomial.
		{"p = Pow x 3; q = Mul p 0.044715; r = Add x q; s = Mul r 0.7979; t = Tanh s; a = Add t 1; h = Mul x 0.5; y = Mul h a", "7: Gelu x for 0 1 2 3 4 5 6"},
		{"p = Mul x x; q = Mul p 0.044715; a = Add q 1; m = Mul x 0.7979; s = Mul m a; t = Tanh s; b = Add 1 t; h = Mul b 0.5; y = Mul x h", "8: Gelu x for 0 1 2 3 4 5 6 7"},
		{"p = Pow x 2; q = Mul p 0.044715; r = Add x q; s = Mul r 0.7979; t = Tanh s; a = Add t 1; h = Mul x 0.5; y = Mul h a", ""},
		{"p = Pow x 3; q = Mul p 0.05; r = Add x q; s = Mul r 0.7979; t = Tanh s; a = Add t 1; h = Mul x 0.5; y = Mul h a", ""},
		// A negative factor may be a node of its own, and a quotient's divisor a sum.
		{"m = Neg x; e = Exp m; a = Add e 1; y = Div x a", "3: Swish x for 0 1 2"},
		{"e = Exp x; a = Add e 1; y = Div x a", "2: QuickGelu x for 0 1"}, // of -x
		{"e = Exp x; a = Add e 2; y = Div x a", ""},
		{"a = Add x 3; c = Clip a min=0 max=6; m = Mul x c; y = Div m 6", "3: HardSwish x for 0 1 2"},
		{"a = Add x 3; c = Clip a 0 6; m = Mul x c; y = Div m 6", "3: HardSwish x for 0 1 2"},
		{"a = Sub x -3; c = Clip a 0 6; y = Div c 6", "2: HardSigmoid x for 0 1"},
		{"a = Add x 3; c = Clip a 0 5; y = Div c 6", ""},
		{"a = Add x 2; c = Clip a 0 6; y = Div c 6", ""},
		{"a = Add x 3; c = Clip a 0; y = Div c 6", ""},
		{"a = Add x 3; c = Clip a k 6; y = Div c 6", ""},
		{"h = HardSigmoid x alpha=0.16666667 beta=0.5; y = Mul x h", "1: HardSwish x for 0"},
		{"h = HardSigmoid x; y = Mul x h", ""}, // of a slope of 0.2
		// The same functions in the spellings of other exporters: casts, halves and quotients anywhere.
		{"d = Mul x 0.7071; e = Erf d; h = Mul e 0.5; a = Add h 0.5; y = Mul a x", "4: Gelu x for 0 1 2 3"},
		{"c = Cast x to=1; d = Div c 1.4142; e = Erf d; f = Cast e to=10; a = Add f 1; m = Mul x a; y = Div m 2", "6: Gelu x for 1 2 3 4 5"},
		{"n = Neg x; d = Mul n 0.7071; e = Erf d; a = Sub 1 e; h = Mul 0.5 x; y = Mul h a", "5: Gelu x for 0 1 2 3 4"},
		{"d = Mul x 0.7071; e = Erf d; a = Sub 1 e; h = Mul 0.5 x; y = Mul h a", ""},
		{"p = Mul x x; q = Mul p x; r = Mul q 0.035677; s = Mul x 0.79788; b = Add s r; t = Tanh b; a = Add t 1; h = Mul x 0.5; y = Mul h a", "8: Gelu x for 0 1 2 3 4 5 6 7"},
		{"p = Pow x 3; q = Mul p 0.044715; r = Add x q; s = Mul r 1.59577; t = Sigmoid s; y = Mul x t", "5: Gelu x for 0 1 2 3 4"},
		{"n = Neg x; e = Exp n; a = Add 1 e; y = Div 1 a", "3: Sigmoid x for 0 1 2"},
		{"n = Sub 0 x; e = Exp n; a = Add 1 e; y = Reciprocal a", "3: Sigmoid x for 0 1 2"},
		{"n = Mul x -1; e = Exp n; c = Cast e to=1; a = Add 1 c; y = Pow a -1", "4: Sigmoid x for 0 1 2 3"},
		{"e = Exp x; a = Add e 1; y = Div e a", "2: Sigmoid x for 0 1"},
		{"h = Mul x 0.5; t = Tanh h; m = Mul t 0.5; y = Add m 0.5", "3: Sigmoid x for 0 1 2"},
		{"t = Tanh x; m = Mul t 0.5; y = Add m 0.5", ""},
		{"n = Neg x; e = Exp n; a = Add 2 e; y = Div 1 a", ""},
		{"n = Neg x; e = Exp n; a = Add 1 e; y = Div 2 a", ""},
		{"n = Neg x; e = Exp n; a = Add 1 e; r = Div 1 a; y = Mul x r", "4: Swish x for 0 1 2 3"},
		{"m = Mul x -1.702; e = Exp m; a = Add 1 e; y = Div x a", "3: QuickGelu x for 0 1 2"},
		{"s = Sigmoid x; y = Mul s x; z = Neg y; w = Exp y", "1: Swish x for 0"}, // read twice
		{"m = Mul x 2; s = Sigmoid m; d = Mul s 2; y = Sub d 1", "3: Tanh x for 0 1 2"},
		{"m = Mul x 2; e = Exp m; a = Sub e 1; b = Add e 1; y = Div a b", "4: Tanh x for 0 1 2 3"},
		{"a = Add x 3; r = Relu a; c = Min r 6; m = Mul x c; y = Mul m 0.16666667", "4: HardSwish x for 0 1 2 3"},
		{"m = Mul x 0.16666667; a = Add m 0.5; c = Clip a 0 1; y = Mul x c", "3: HardSwish x for 0 1 2"},
		{"m = Mul x 0.16666667; a = Add m 0.5; y = Clip a 0 1", "2: HardSigmoid x for 0 1"},
		{"m = Mul x 0.16666667; a = Add m 0.5; y = Clip a 0 2", ""},
		{"r = Relu x; y = Min 6 r", "1: Clip x for 0"},
		{"r = Min x 6; y = Max r 0", "1: Clip x for 0"},
		{"r = Max x k; y = Min r 6", ""},
		{"m = Mul x 0.125; y = Max x m", "1: LeakyRelu x for 0"},
		{"m = Mul x 2; y = Max x m", ""},
		{"m = ReduceMax x axes=-1; d = Sub x m; e = Exp d; s = ReduceSum e axes=-1; r = Reciprocal s; y = Mul e r", "5: Softmax x for 0 1 2 3 4"},
		// A norm as TensorFlow and Keras shift it, with a scale and a bias or without.
		{"m = ReduceMean x axes=-1; d = Sub x m; q = Mul d d; v = ReduceMean q axes=-1; e = Add v 0.001; s = Rsqrt e; r = Mul s k; p = Mul x r; t = Mul m r; u = Sub b t; y = Add p u", "10: LayerNormalization x for 0 1 2 3 4 5 6 7 8 9"},
		{"m = ReduceMean x axes=-1; d = Sub x m; q = Mul d d; v = ReduceMean q axes=-1; e = Add v 0.001; s = Sqrt e; r = Reciprocal s; p = Mul x r; t = Mul r m; y = Sub p t", "9: LayerNormalization x for 0 1 2 3 4 5 6 7 8"},
		{"m = ReduceMean x axes=-1; d = Sub x m; q = Mul d d; v = ReduceMean q axes=-1; e = Add v 0.001; s = Rsqrt e; r = Mul s k; p = Mul x r; t = Mul w r; u = Sub b t; y = Add p u", ""},
		// A cast of integers changes what a function reads.
		{"s = Shape x; c = Cast s to=1; n = Neg s; f = Cast n to=1; e = Exp f; a = Add e 1; y = Div c a", ""},
		// A spectrum is scaled before its logarithm; a small factor needs no help.
		{"m = Mul x 1000; a = Add m 1; y = Log a", "2: ScaledLog x for 0 1"},
		{"m = Mul x 2; a = Add m 1; y = Log a", ""},
		// A softmax, with the maximum taken off first or without.
		{"m = ReduceMax x axes=-1; d = Sub x m; e = Exp d; s = ReduceSum e axes=-1; y = Div e s", "4: Softmax x for 0 1 2 3"},
		{"e = Exp x; s = ReduceSum e axes=-1; y = Div e s", "2: Softmax x for 0 1"},
		{"d = Sub x k; e = Exp d; s = ReduceSum e axes=-1; y = Div e s", "3: Softmax d for 1 2"},
		{"e = Exp x; s = ReduceSum e axes=-1 keepdims=0; y = Div e s", ""},
		{"e = Exp x; s = ReduceSum e axes=1,2; y = Div e s", ""},
		{"e = Exp x; s = ReduceSum e; y = Div e s", ""},
		{"e = Exp x; s = ReduceSum e k; y = Div e s", ""},
		// A norm of what is left when the mean is taken off, or of the tensor as it is.
		{"m = ReduceMean x axes=-1; d = Sub x m; q = Pow d 2; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Sqrt e; y = Div d s", "6: LayerNormalization x for 0 1 2 3 4 5"},
		{"m = ReduceMean x axes=-1; d = Sub x m; q = Mul d d; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Rsqrt e; y = Mul d s", "6: LayerNormalization x for 0 1 2 3 4 5"},
		{"q = Mul x x; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Sqrt e; r = Reciprocal s; y = Mul x r", "5: RMSNormalization x for 0 1 2 3 4"},
		{"q = Mul x x; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Pow e 0.5; r = Div 1 s; y = Mul r x", "5: RMSNormalization x for 0 1 2 3 4"},
		{"q = Mul x x; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Pow e -0.5; y = Mul x s", "4: RMSNormalization x for 0 1 2 3"},
		// A mean over another axis leaves a norm of what it is taken off.
		{"m = ReduceMean x axes=1; d = Sub x m; q = Pow d 2; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Sqrt e; y = Div d s", "6: RMSNormalization d for 2 3 4 5"},
		{"q = Pow x 3; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Sqrt e; y = Div x s", ""},
		{"q = Mul x k; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Sqrt e; y = Div x s", ""},
		{"q = Mul x x; v = ReduceMean q axes=-1; e = Add v -1; s = Sqrt e; y = Div x s", ""},
		{"q = Mul x x; v = ReduceSum q axes=-1; e = Add v 1e-05; s = Sqrt e; y = Div x s", ""},
		{"q = Mul k k; v = ReduceMean q axes=-1; e = Add v 1e-05; s = Sqrt e; y = Div x s", ""},
	} {
		f := parseGraph(c.text)
		f.valueOf("x").Type = graph.Float
		found, inside := Find(f.nodes, []*graph.Value{f.valueOf("y"), f.valueOf("z")})
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

// TestConstants holds that a number is one behind nodes that leave values as they are, but not
// where it has more elements or is computed.
func TestConstants(t *testing.T) {
	f := parseGraph("i = Identity 3; c = Cast i; a = Add x c; m = Clip a 0 6; y = Div m 6")
	if found, _ := Find(f.nodes, []*graph.Value{f.valueOf("y")}); found[4] == nil || found[4].Node.Op != "HardSigmoid" {
		t.Errorf("behind an Identity and a Cast 3 is no number: %v", found)
	}
	f = parseGraph("k = Constant; e = Exp x; a = Add e k; y = Log a")
	f.nodes[0].Attr["value_float"] = &graph.Attr{Float: 1}
	if found, _ := Find(f.nodes, []*graph.Value{f.valueOf("y")}); found[3] == nil || found[3].Node.Op != "Softplus" {
		t.Errorf("a Constant is no number: %v", found)
	}
	for _, c := range []struct {
		dims []int
		want int
	}{{[]int{2}, 0}, {[]int{1, 1}, 1}} {
		f = parseGraph("e = Exp x; a = Add e k; y = Log a")
		f.valueOf("k").Set(&graph.Const{Dims: c.dims, Type: graph.Float, Numbers: []float64{1, 1}[:graph.Elements(c.dims)]})
		if found, _ := Find(f.nodes, []*graph.Value{f.valueOf("y")}); len(found) != c.want {
			t.Errorf("with a constant of shape %v, the matches are %+v", c.dims, found)
		}
	}
}

// TestAxesAsInput holds that the axes of a reduction may be a constant input.
func TestAxesAsInput(t *testing.T) {
	f := parseGraph("e = Exp x; s = ReduceSum e k; y = Div e s")
	f.valueOf("k").Set(&graph.Const{Dims: []int{1}, Type: graph.Int64, Numbers: []float64{-1}})
	found, _ := Find(f.nodes, []*graph.Value{f.valueOf("y")})
	if m := found[2]; m == nil || m.Node.Op != "Softmax" || m.Node.Int("axis", 0) != -1 {
		t.Errorf("a sum along a constant axis is %+v", m)
	}
}

// TestTaken holds that a match stands in the place of its last piece, and that nothing is one
// whose pieces a branch reads.
func TestTaken(t *testing.T) {
	f := parseGraph("r = Relu x; e = Exp r; a = Add e 1; y = Log a; z = Neg y")
	outputs := []*graph.Value{f.valueOf("z")}
	found, inside := Find(f.nodes, outputs)
	var got []string
	for _, n := range Replace(f.nodes, found, inside) {
		got = append(got, n.Op)
	}
	if want := []string{"Relu", "Softplus", "Neg"}; !slices.Equal(got, want) {
		t.Errorf("the nodes are %v, want %v", got, want)
	}
	inner := parseGraph("w = Neg u")
	inner.nodes[0].In[0] = f.valueOf("a")
	f.nodes = append(f.nodes, &graph.Node{Op: "If", In: []*graph.Value{f.valueOf("c")}, Out: []*graph.Value{f.valueOf("v")}, Attr: map[string]*graph.Attr{
		"then_branch": {Graph: &graph.Graph{Nodes: inner.nodes, Outputs: inner.nodes[0].Out}},
	}})
	if found, _ := Find(f.nodes, outputs); len(found) != 0 {
		t.Errorf("a branch reads a piece of %+v", found)
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
		// A scalar has no axes; the node that makes it is no transpose.
		{"a = Softmax x; y = Transpose a perm=", "y = Transpose a []"},
		{"a = RandomNormal; y = Transpose a perm=", "y = Transpose a []"},
		// An output in the order of the first transpose keeps it.
		{"a = Transpose x perm=0231; z = Relu a; y = Transpose z perm=0312", "y = Transpose z [0 3 1 2], z = Relu a"},
	} {
		f := parseGraph(c.text)
		CancelTransposes(f.nodes, []*graph.Value{f.valueOf("y"), f.valueOf("z")})
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

// TestAdvance holds which transposes of an input move before the operators with one number, and which stay.
func TestAdvance(t *testing.T) {
	picture, wide := []int{1, 32, 32, 3}, []int{1, 32, 32, 64}
	for _, c := range []struct {
		name, text string
		dims       []int // of x
		want       string
	}{
		{"pixels that are scaled", "a = Sub x 0.5; b = Mul 2 a; y = Transpose b perm=0312", picture, "a = Transpose x [0 3 1 2], b = Sub a 0.5, y = Mul 2 b"},
		{"a function", "a = Relu x; y = Transpose a perm=0312", picture, "a = Transpose x [0 3 1 2], y = Relu a"},
		{"the number first", "a = Sub 1 x; y = Transpose a perm=0312", picture, "a = Transpose x [0 3 1 2], y = Sub 1 a"},
		{"many channels", "a = Sub x 0.5; y = Transpose a perm=0312", wide, "a = Sub x 0.5, y = Transpose a [0 3 1 2]"},
		{"channels that stay last", "a = Sub x 0.5; y = Transpose a perm=0213", picture, "a = Sub x 0.5, y = Transpose a [0 2 1 3]"},
		{"an unknown shape", "a = Sub x 0.5; y = Transpose a perm=0312", nil, "a = Sub x 0.5, y = Transpose a [0 3 1 2]"},
		{"a scalar", "a = Sub x 0.5; y = Transpose a perm=", []int{}, "a = Sub x 0.5, y = Transpose a []"},
		{"nothing that moves", "a = Sub x 0.5; y = Transpose a perm=0312", []int{1, 64, 1, 1}, "a = Sub x 0.5, y = Transpose a [0 3 1 2]"},
		{"two tensors", "a = Sub x w; y = Transpose a perm=0312", picture, "a = Sub x w, y = Transpose a [0 3 1 2]"},
		{"a sum that something else reads", "a = Sub x 0.5; b = Relu a; y = Transpose a perm=0312", picture, "a = Sub x 0.5, b = Relu a, y = Transpose a [0 3 1 2]"},
		{"an output", "z = Sub x 0.5; y = Transpose z perm=0312", picture, "z = Sub x 0.5, y = Transpose z [0 3 1 2]"},
		{"the result of another operator", "s = Softmax x; a = Sub s 0.5; y = Transpose a perm=0312", picture, "s = Softmax x, a = Sub s 0.5, y = Transpose a [0 3 1 2]"},
	} {
		f := parseGraph(c.text)
		f.valueOf("x").Dims = c.dims
		AdvanceTransposes(f.nodes, []*graph.Value{f.valueOf("y"), f.valueOf("z")})
		var got []string
		for _, n := range f.nodes {
			text := n.Out[0].Name + " = " + n.Op
			for _, in := range n.In {
				text += " " + in.Name
			}
			if a := n.Attr["perm"]; a != nil {
				text += fmt.Sprintf(" %v", a.Ints)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// TestSharedOperands holds that nodes that share operands, so that a small graph has very many paths, are
// read in a bounded number of steps.
func TestSharedOperands(t *testing.T) {
	text := "a0 = Exp x"
	for i := range 2000 {
		text += fmt.Sprintf("; m%[1]d = Mul a%[1]d a%[1]d; s%[1]d = Add m%[1]d a%[1]d; a%[2]d = Cast s%[1]d to=1", i, i+1)
	}
	f := parseGraph(text)
	if found, _ := Find(f.nodes, []*graph.Value{f.valueOf("a2000")}); len(found) != 0 {
		t.Errorf("%d groups; want none", len(found))
	}
}
