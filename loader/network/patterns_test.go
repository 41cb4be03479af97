package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	ox "anesim/loader/network/onnx/onnxtest"
)

// number is a constant of one element.
func number(name string, v float32) ox.Message { return ox.Constant(name, []int{}, v) }

// What exporters write in pieces is the operator that it is, in the orders that they write
// it, and nothing is taken for one that is none.
func TestOperatorsInPieces(t *testing.T) {
	x := ox.Input("x", 6, 16)
	half, one, two, three := number("half", 0.5), number("one", 1), number("two", 2), number("three", 3)
	root, eps := number("root", 1.4142135), number("eps", 1e-5)
	zero, six := number("zero", 0), number("six", 6)
	pi, third := number("pi", 0.7978845), number("third", 0.044715)
	last := ox.List("axes", -1)
	for _, tc := range []struct {
		name  string
		parts []ox.Message
		want  []string
	}{
		{"gelu with erf, the half first", []ox.Message{
			half, one, root, ox.Node("Mul", "h", in("x", "half")), ox.Node("Div", "d", in("x", "root")), ox.Node("Erf", "e", in("d")),
			ox.Node("Add", "a", in("e", "one")), ox.Node("Mul", "y", in("h", "a")),
		}, []string{"y gelu(x) 1x1x6x16 +h+d+e+a"}},
		{"gelu with erf, the half last", []ox.Message{
			half, one, root, ox.Node("Div", "d", in("x", "root")), ox.Node("Erf", "e", in("d")),
			ox.Node("Add", "a", in("one", "e")), ox.Node("Mul", "h", in("a", "x")), ox.Node("Mul", "y", in("h", "half")),
		}, []string{"y gelu(x) 1x1x6x16 +d+e+a+h"}},
		{"gelu with tanh", []ox.Message{
			half, one, pi, third, three, ox.Node("Pow", "c", in("x", "three")), ox.Node("Mul", "k", in("c", "third")), ox.Node("Add", "s", in("x", "k")),
			ox.Node("Mul", "q", in("pi", "s")), ox.Node("Tanh", "t", in("q")), ox.Node("Add", "a", in("t", "one")),
			ox.Node("Mul", "h", in("x", "a")), ox.Node("Mul", "y", in("half", "h")),
		}, []string{"y gelu(x) 1x1x6x16 +c+k+s+q+t+a+h"}},
		{"gelu whose error function is read elsewhere", []ox.Message{
			half, one, root, ox.Node("Mul", "h", in("x", "half")), ox.Node("Div", "d", in("x", "root")), ox.Node("Erf", "e", in("d")),
			ox.Node("Add", "a", in("e", "one")), ox.Node("Mul", "y", in("h", "a")), ox.Output("e"), ox.Output("y"),
		}, []string{"d mul(x) 1x1x6x16", "e erf(d) 1x1x6x16", "h mul(x) 1x1x6x16", "a add(e) 1x1x6x16", "y mul(h,a) 1x1x6x16"}},
		{"no gelu: another factor", []ox.Message{
			half, one, ox.Node("Mul", "h", in("x", "half")), ox.Node("Erf", "e", in("x")),
			ox.Node("Add", "a", in("e", "one")), ox.Node("Mul", "y", in("h", "a")),
		}, []string{"h mul(x) 1x1x6x16", "e erf(x) 1x1x6x16", "a add(e) 1x1x6x16", "y mul(h,a) 1x1x6x16"}},
		{"silu", []ox.Message{
			ox.Node("Sigmoid", "s", in("x")), ox.Node("Mul", "y", in("s", "x")),
		}, []string{"y silu(x) 1x1x6x16 +s"}},
		{"silu as a quotient", []ox.Message{
			one, ox.Node("Neg", "n", in("x")), ox.Node("Exp", "e", in("n")), ox.Node("Add", "a", in("e", "one")), ox.Node("Div", "y", in("x", "a")),
		}, []string{"y silu(x) 1x1x6x16 +n+e+a"}},
		{"hard swish", []ox.Message{
			three, zero, six, ox.Node("Add", "a", in("x", "three")), ox.Node("Clip", "c", in("a", "zero", "six")),
			ox.Node("Mul", "m", in("x", "c")), ox.Node("Div", "y", in("m", "six")),
		}, []string{"y hard_swish(x) 1x1x6x16 +a+c+m"}},
		{"hard swish with a hard sigmoid", []ox.Message{
			ox.Node("HardSigmoid", "h", in("x"), ox.Float("alpha", 1./6)), ox.Node("Mul", "y", in("x", "h")),
		}, []string{"y hard_swish(x) 1x1x6x16 +h"}},
		{"hard sigmoid", []ox.Message{
			three, zero, six, ox.Node("Add", "a", in("x", "three")), ox.Node("Clip", "c", in("a", "zero", "six")), ox.Node("Div", "y", in("c", "six")),
		}, []string{"y hard_sigmoid(x) 1x1x6x16 +a+c"}},
		{"softplus", []ox.Message{
			one, ox.Node("Exp", "e", in("x")), ox.Node("Add", "a", in("e", "one")), ox.Node("Log", "y", in("a")),
		}, []string{"y softplus(x) 1x1x6x16 +e+a"}},
		{"softmax", []ox.Message{
			ox.Ints("axis", -1), ox.Node("ReduceMax", "m", in("x"), last), ox.Node("Sub", "d", in("x", "m")), ox.Node("Exp", "e", in("d")),
			ox.Node("ReduceSum", "s", in("e", "axis")), ox.Node("Div", "y", in("e", "s")),
		}, []string{"y softmax(x) 1x1x6x16 +m+d+e+s"}},
		{"softmax of a difference", []ox.Message{
			ox.Input("z", 6, 16), ox.Ints("axis", -1), ox.Node("Sub", "d", in("x", "z")), ox.Node("Exp", "e", in("d")),
			ox.Node("ReduceSum", "s", in("e", "axis")), ox.Node("Div", "y", in("e", "s")),
		}, []string{"d sub(x,z) 1x1x6x16", "y softmax(d) 1x1x6x16 +e+s"}},
		{"layer norm", []ox.Message{
			two, eps, ox.Node("ReduceMean", "m", in("x"), last), ox.Node("Sub", "d", in("x", "m")), ox.Node("Pow", "q", in("d", "two")),
			ox.Node("ReduceMean", "v", in("q"), last), ox.Node("Add", "a", in("v", "eps")), ox.Node("Sqrt", "r", in("a")), ox.Node("Div", "y", in("d", "r")),
		}, []string{"y layernorm(x) 1x1x6x16 +m+d+q+v+a+r"}},
		{"layer norm of two differences, with its scale", []ox.Message{
			two, eps, ox.Constant("w", []int{16}, zeros(16)...), ox.Node("ReduceMean", "m", in("x"), last), ox.Node("Sub", "d", in("x", "m")), ox.Node("Sub", "f", in("x", "m")),
			ox.Node("Pow", "q", in("f", "two")), ox.Node("ReduceMean", "v", in("q"), last), ox.Node("Add", "a", in("v", "eps")), ox.Node("Sqrt", "r", in("a")),
			ox.Node("Div", "n", in("d", "r")), ox.Node("Mul", "y", in("n", "w")),
		}, []string{"n layernorm(x) 1x1x6x16 +m+d+f+q+v+a+r", "y mul(n,y/constant) 1x1x6x16"}},
		{"root mean square", []ox.Message{
			eps, ox.Node("Mul", "q", in("x", "x")), ox.Node("ReduceMean", "v", in("q"), last), ox.Node("Add", "a", in("v", "eps")),
			ox.Node("Sqrt", "r", in("a")), ox.Node("Reciprocal", "i", in("r")), ox.Node("Mul", "y", in("x", "i")),
		}, []string{"y mul(x) 1x1x6x16", "y/2 reduce_mean(y#0) 1x1x6x1", "y/3 rsqrt(y#1) 1x1x6x1", "y/4 mul(x,y#2) 1x1x6x16 +q+v+a+r+i"}},
		{"transposes that undo each other", []ox.Message{
			ox.Node("Transpose", "a", in("x"), ox.List("perm", 1, 0)), ox.Node("Tanh", "b", in("a")), ox.Node("Transpose", "c", in("b"), ox.List("perm", 1, 0)),
			ox.Node("Relu", "y", in("c")), ox.Output("y"),
		}, []string{"b tanh(x) 1x1x6x16", "y relu(b) 1x1x6x16"}},
		{"transposes that are one", []ox.Message{
			ox.Input("z", 2, 3, 4, 5), ox.Node("Transpose", "a", in("z"), ox.List("perm", 0, 1, 3, 2)), ox.Node("Transpose", "y", in("a"), ox.List("perm", 0, 2, 1, 3)), ox.Output("y"),
		}, []string{"y transpose(z) 1x2x5x12"}},
	} {
		n, err := ReadONNX(ox.Model(append([]ox.Message{x}, tc.parts...)...), Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		checkNetwork(t, n)
		if d := cmp.Diff(tc.want, text(n)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// A file whose nodes run in a circle ends.
func TestTransposesInACircle(t *testing.T) {
	n, err := ReadONNX(ox.Model(
		ox.Node("Relu", "a", in("b")), ox.Node("Relu", "b", in("a")), ox.Node("Transpose", "y", in("b"), ox.List("perm", 1, 0)), ox.Output("y"),
	), Options{})
	if err != nil || len(n.Layers) != 3 || n.Layers[2].Reason == "" {
		t.Errorf("%v %v", err, n)
	}
}
