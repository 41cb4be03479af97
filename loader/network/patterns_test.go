package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	ox "anesim/internal/network/onnxtest"
)

// newNumber returns a constant with one element.
func newNumber(name string, v float32) ox.Message { return ox.Constant(name, []int{}, v) }

// What exporters write in pieces is the operator that it is, in the orders that they write
// it, and nothing is taken for one that is none.
func TestOperatorsInPieces(t *testing.T) {
	x := ox.Input("x", 6, 16)
	half, one, two, three := newNumber("half", 0.5), newNumber("one", 1), newNumber("two", 2), newNumber("three", 3)
	root, eps := newNumber("root", 1.4142135), newNumber("eps", 1e-5)
	zero, six := newNumber("zero", 0), newNumber("six", 6)
	pi, third := newNumber("pi", 0.7978845), newNumber("third", 0.044715)
	last := ox.List("axes", -1)
	for _, tc := range []struct {
		name  string
		parts []ox.Message
		want  []string
	}{
		{"gelu with erf, the half first", []ox.Message{
			half, one, root, ox.Node("Mul", "h", names("x", "half")), ox.Node("Div", "d", names("x", "root")), ox.Node("Erf", "e", names("d")),
			ox.Node("Add", "a", names("e", "one")), ox.Node("Mul", "y", names("h", "a")),
		}, []string{"y gelu(x) 1x1x6x16 +h+d+e+a"}},
		{"gelu with erf, the half last", []ox.Message{
			half, one, root, ox.Node("Div", "d", names("x", "root")), ox.Node("Erf", "e", names("d")),
			ox.Node("Add", "a", names("one", "e")), ox.Node("Mul", "h", names("a", "x")), ox.Node("Mul", "y", names("h", "half")),
		}, []string{"y gelu(x) 1x1x6x16 +d+e+a+h"}},
		{"gelu with tanh", []ox.Message{
			half, one, pi, third, three, ox.Node("Pow", "c", names("x", "three")), ox.Node("Mul", "k", names("c", "third")), ox.Node("Add", "s", names("x", "k")),
			ox.Node("Mul", "q", names("pi", "s")), ox.Node("Tanh", "t", names("q")), ox.Node("Add", "a", names("t", "one")),
			ox.Node("Mul", "h", names("x", "a")), ox.Node("Mul", "y", names("half", "h")),
		}, []string{"y gelu(x) 1x1x6x16 +c+k+s+q+t+a+h"}},
		{"gelu whose error function is read elsewhere", []ox.Message{
			half, one, root, ox.Node("Mul", "h", names("x", "half")), ox.Node("Div", "d", names("x", "root")), ox.Node("Erf", "e", names("d")),
			ox.Node("Add", "a", names("e", "one")), ox.Node("Mul", "y", names("h", "a")), ox.Output("e"), ox.Output("y"),
		}, []string{"d mul(x) 1x1x6x16", "e erf(d) 1x1x6x16", "h mul(x) 1x1x6x16", "a add(e) 1x1x6x16", "y mul(h,a) 1x1x6x16"}},
		{"no gelu: another factor", []ox.Message{
			half, one, ox.Node("Mul", "h", names("x", "half")), ox.Node("Erf", "e", names("x")),
			ox.Node("Add", "a", names("e", "one")), ox.Node("Mul", "y", names("h", "a")),
		}, []string{"h mul(x) 1x1x6x16", "e erf(x) 1x1x6x16", "a add(e) 1x1x6x16", "y mul(h,a) 1x1x6x16"}},
		{"silu", []ox.Message{
			ox.Node("Sigmoid", "s", names("x")), ox.Node("Mul", "y", names("s", "x")),
		}, []string{"y silu(x) 1x1x6x16 +s"}},
		{"silu as a quotient", []ox.Message{
			one, ox.Node("Neg", "n", names("x")), ox.Node("Exp", "e", names("n")), ox.Node("Add", "a", names("e", "one")), ox.Node("Div", "y", names("x", "a")),
		}, []string{"y silu(x) 1x1x6x16 +n+e+a"}},
		{"hard swish", []ox.Message{
			three, zero, six, ox.Node("Add", "a", names("x", "three")), ox.Node("Clip", "c", names("a", "zero", "six")),
			ox.Node("Mul", "m", names("x", "c")), ox.Node("Div", "y", names("m", "six")),
		}, []string{"y hard_swish(x) 1x1x6x16 +a+c+m"}},
		{"hard swish with a hard sigmoid", []ox.Message{
			ox.Node("HardSigmoid", "h", names("x"), ox.Float("alpha", 1./6)), ox.Node("Mul", "y", names("x", "h")),
		}, []string{"y hard_swish(x) 1x1x6x16 +h"}},
		{"hard sigmoid", []ox.Message{
			three, zero, six, ox.Node("Add", "a", names("x", "three")), ox.Node("Clip", "c", names("a", "zero", "six")), ox.Node("Div", "y", names("c", "six")),
		}, []string{"y hard_sigmoid(x) 1x1x6x16 +a+c"}},
		{"softplus", []ox.Message{
			one, ox.Node("Exp", "e", names("x")), ox.Node("Add", "a", names("e", "one")), ox.Node("Log", "y", names("a")),
		}, []string{"y softplus(x) 1x1x6x16 +e+a"}},
		{"softmax", []ox.Message{
			ox.Ints("axis", -1), ox.Node("ReduceMax", "m", names("x"), last), ox.Node("Sub", "d", names("x", "m")), ox.Node("Exp", "e", names("d")),
			ox.Node("ReduceSum", "s", names("e", "axis")), ox.Node("Div", "y", names("e", "s")),
		}, []string{"y softmax(x) 1x1x6x16 +m+d+e+s"}},
		{"softmax of a difference", []ox.Message{
			ox.Input("z", 6, 16), ox.Ints("axis", -1), ox.Node("Sub", "d", names("x", "z")), ox.Node("Exp", "e", names("d")),
			ox.Node("ReduceSum", "s", names("e", "axis")), ox.Node("Div", "y", names("e", "s")),
		}, []string{"d sub(x,z) 1x1x6x16", "y softmax(d) 1x1x6x16 +e+s"}},
		{"layer norm", []ox.Message{
			two, eps, ox.Node("ReduceMean", "m", names("x"), last), ox.Node("Sub", "d", names("x", "m")), ox.Node("Pow", "q", names("d", "two")),
			ox.Node("ReduceMean", "v", names("q"), last), ox.Node("Add", "a", names("v", "eps")), ox.Node("Sqrt", "r", names("a")), ox.Node("Div", "y", names("d", "r")),
		}, []string{"y layernorm(x) 1x1x6x16 +m+d+q+v+a+r"}},
		{"layer norm of two differences, with its scale", []ox.Message{
			two, eps, ox.Constant("w", []int{16}, zeros(16)...), ox.Node("ReduceMean", "m", names("x"), last), ox.Node("Sub", "d", names("x", "m")), ox.Node("Sub", "f", names("x", "m")),
			ox.Node("Pow", "q", names("f", "two")), ox.Node("ReduceMean", "v", names("q"), last), ox.Node("Add", "a", names("v", "eps")), ox.Node("Sqrt", "r", names("a")),
			ox.Node("Div", "n", names("d", "r")), ox.Node("Mul", "y", names("n", "w")),
		}, []string{"n layernorm(x) 1x1x6x16 +m+d+f+q+v+a+r", "y mul(n,y/constant) 1x1x6x16"}},
		{"root mean square", []ox.Message{
			eps, ox.Node("Mul", "q", names("x", "x")), ox.Node("ReduceMean", "v", names("q"), last), ox.Node("Add", "a", names("v", "eps")),
			ox.Node("Sqrt", "r", names("a")), ox.Node("Reciprocal", "i", names("r")), ox.Node("Mul", "y", names("x", "i")),
		}, []string{"y mul(x) 1x1x6x16", "y/2 reduce_mean(y#0) 1x1x6x1", "y/3 rsqrt(y#1) 1x1x6x1", "y/4 mul(x,y#2) 1x1x6x16 +q+v+a+r+i"}},
		{"transposes that undo each other", []ox.Message{
			ox.Node("Transpose", "a", names("x"), ox.List("perm", 1, 0)), ox.Node("Tanh", "b", names("a")), ox.Node("Transpose", "c", names("b"), ox.List("perm", 1, 0)),
			ox.Node("Relu", "y", names("c")), ox.Output("y"),
		}, []string{"b tanh(x) 1x1x6x16", "y relu(b) 1x1x6x16"}},
		{"transposes that are one", []ox.Message{
			ox.Input("z", 2, 3, 4, 5), ox.Node("Transpose", "a", names("z"), ox.List("perm", 0, 1, 3, 2)), ox.Node("Transpose", "y", names("a"), ox.List("perm", 0, 2, 1, 3)), ox.Output("y"),
		}, []string{"y transpose(z) 1x2x5x12"}},
	} {
		n, err := ReadONNX(ox.Model(append([]ox.Message{x}, tc.parts...)...), Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		checkNetwork(t, n)
		if d := cmp.Diff(tc.want, layerTexts(n)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// A file whose nodes run in a circle ends.
func TestTransposesInACircle(t *testing.T) {
	n, err := ReadONNX(ox.Model(
		ox.Node("Relu", "a", names("b")), ox.Node("Relu", "b", names("a")), ox.Node("Transpose", "y", names("b"), ox.List("perm", 1, 0)), ox.Output("y"),
	), Options{})
	if err != nil || len(n.Layers) != 3 || n.Layers[2].Reason == "" {
		t.Errorf("%v %v", err, n)
	}
}
