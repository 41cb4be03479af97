package network_test

import (
	"math"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
	. "anesim/loader/network"
)

// newCast returns the attribute of a Cast to the given type.
func newCast(to onnx.DataType) ox.Message { return ox.Int("to", int(to)) }

// Comparisons are exact, those of equal values and of the smallest differences too.
func TestComparisons(t *testing.T) {
	tiny := float32(math.Ldexp(1, -24))
	values := []float32{-65504, -1.5, -1, -tiny, 0, tiny, 0.5, 1, 1 + 1.0/1024, 1000, 1001, 65504}
	var left, right []float32
	for _, a := range values {
		for _, b := range values {
			left, right = append(left, a), append(right, b)
		}
	}
	in := make([]float16.Float16, len(left))
	for i := range in {
		in[i] = float16.Fromfloat32(left[i])
	}
	n := len(left)
	for op, holds := range map[string]func(a, b float32) bool{
		"Greater": func(a, b float32) bool { return a > b }, "Less": func(a, b float32) bool { return a < b },
		"GreaterOrEqual": func(a, b float32) bool { return a >= b }, "LessOrEqual": func(a, b float32) bool { return a <= b },
		"Equal": func(a, b float32) bool { return a == b },
	} {
		for _, constantFirst := range []bool{false, true} {
			sides := []string{"x", "c"}
			if constantFirst {
				sides = []string{"c", "x"}
			}
			net, err := ReadONNX(ox.Model(
				ox.Input("x", 1, 1, 1, n), ox.Constant("c", []int{1, 1, 1, n}, right...), ox.Output("y"),
				ox.Node(op, "b", sides), ox.Node("Cast", "y", []string{"b"}, newCast(onnx.Float)),
			), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range runProgram(t, net, in) {
				a, b := left[i], right[i]
				if constantFirst {
					a, b = b, a
				}
				if want := holds(a, b); v.Float32() != map[bool]float32{true: 1}[want] {
					t.Errorf("%s of %g and %g is %v", op, a, b, v)
				}
			}
		}
	}
}

// Both sides of a computed condition are read into the network around them. Tensors of the same
// name on both sides, or on a side and around it, remain two.
func TestSidesOfOneName(t *testing.T) {
	for _, tc := range []struct{ name, then, other string }{
		{"of the other side", "p", "p"},
		{"of the network around", "m", "q"},
		{"of the network around, on the other side", "p", "m"},
		{"of what follows", "p", "z"},
	} {
		net, err := ReadONNX(ox.Model(
			ox.Input("x", 1, 4), ox.Output("z"), ox.Constant("limit", nil, 30),
			ox.Node("ReduceMax", "m", []string{"x"}, ox.Int("keepdims", 0)), ox.Node("Greater", "b", []string{"m", "limit"}),
			ox.Node("If", "y", []string{"b"},
				ox.Graph("then_branch", ox.Node("Neg", tc.then, []string{"x"}), ox.Output(tc.then)),
				ox.Graph("else_branch", ox.Node("Relu", tc.other, []string{"x"}), ox.Output(tc.other))),
			ox.Node("Neg", "z", []string{"y"}),
		), Options{})
		if err != nil {
			t.Errorf("a name %s: %v", tc.name, err)
			continue
		}
		for _, l := range net.Layers {
			if l.Reason != "" {
				t.Errorf("a name %s: %s: %s", tc.name, l.Name, l.Reason)
			}
		}
	}
}

// A computed condition chooses: Where by elements, If between what both sides make.
func TestComputedConditions(t *testing.T) {
	in := []float16.Float16{float16.Fromfloat32(-3), float16.Fromfloat32(0), float16.Fromfloat32(2), float16.Fromfloat32(40)}
	common := []ox.Message{
		ox.Input("x", 1, 4), ox.Output("y"), ox.Constant("one", nil, 1), ox.Constant("limit", nil, 30),
		ox.Constant("lowest", nil, float32(math.Inf(-1))),
	}
	for _, tc := range []struct {
		name  string
		parts []ox.Message
		want  []float32
	}{
		{"Where", []ox.Message{
			ox.Node("Greater", "b", []string{"x", "one"}), ox.Node("Where", "y", []string{"b", "x", "lowest"}),
		}, []float32{-65504, -65504, 2, 40}},
		{"logic", []ox.Message{
			ox.Node("Greater", "a", []string{"x", "one"}), ox.Node("Less", "b", []string{"x", "limit"}), ox.Node("And", "c", []string{"a", "b"}),
			ox.Node("Not", "d", []string{"a"}), ox.Node("Or", "e", []string{"c", "d"}), ox.Node("Xor", "f", []string{"e", "b"}),
			ox.Node("Not", "g", []string{"f"}), ox.Node("Cast", "h", []string{"g"}, newCast(onnx.Float)), ox.Node("Mul", "y", []string{"h", "x"}),
		}, []float32{-3, 0, 2, 40}},
		{"If above", []ox.Message{
			ox.Node("ReduceMax", "m", []string{"x"}, ox.Int("keepdims", 0)), ox.Node("Greater", "b", []string{"m", "limit"}),
			ox.Node("If", "y", []string{"b"}, ox.Graph("then_branch", ox.Node("Neg", "p", []string{"x"}), ox.Output("p")), ox.Graph("else_branch", ox.Node("Relu", "q", []string{"x"}), ox.Output("q"))),
		}, []float32{3, 0, -2, -40}},
		{"If not above", []ox.Message{
			ox.Node("ReduceMin", "m", []string{"x"}, ox.Int("keepdims", 0)), ox.Node("Greater", "b", []string{"m", "limit"}),
			ox.Node("If", "y", []string{"b"}, ox.Graph("then_branch", ox.Node("Neg", "p", []string{"x"}), ox.Output("p")), ox.Graph("else_branch", ox.Node("Relu", "q", []string{"x"}), ox.Output("q"))),
		}, []float32{0, 0, 2, 40}},
	} {
		n, err := ReadONNX(ox.Model(append(common, tc.parts...)...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range runProgram(t, n, in) {
			if v.Float32() != tc.want[i] {
				t.Errorf("%s: element %d is %v, want %g", tc.name, i, v, tc.want[i])
			}
		}
	}
}
