package ops

import (
	"fmt"
	"strings"
	"testing"

	"anesim/loader/network/graph"
)

// ints and floats are constants of a shape.
func ints(dims []int, v ...float64) *graph.Value { return constant(graph.Int64, dims, v) }

func floats(dims []int, v ...float64) *graph.Value { return constant(graph.Float, dims, v) }

func constant(t graph.Type, dims []int, v []float64) *graph.Value {
	x := &graph.Value{Name: "constant"}
	x.Set(&graph.Const{Dims: dims, Type: t, Numbers: v})
	return x
}

// tensor is one whose elements are not known.
func tensor(dims ...int) *graph.Value {
	x := &graph.Value{Name: "tensor", Type: graph.Float}
	x.Shape(dims)
	return x
}

// list is a constant list of whole numbers, left an input that is left out.
func list(v ...float64) *graph.Value { return ints([]int{len(v)}, v...) }

func left() *graph.Value { return &graph.Value{} }

// attributes of a node, by name.
type attributes map[string]*graph.Attr

func of1(v int64) *graph.Attr     { return &graph.Attr{Int: v} }
func many(v ...int64) *graph.Attr { return &graph.Attr{Ints: v} }

// node is one of a recent version of the operators, with as many results as asked for.
func node(op string, results int, a attributes, in ...*graph.Value) *graph.Node {
	n := &graph.Node{Op: op, In: in, Attr: a, Opset: 20}
	for i := range results {
		n.Out = append(n.Out, &graph.Value{Name: fmt.Sprintf("y%d", i)})
	}
	return n
}

// TestInfer holds the shapes, types and work of results against numbers worked out by hand.
func TestInfer(t *testing.T) {
	x, picture := tensor(2, 3, 4), tensor(1, 8, 14, 14)
	for _, c := range []struct {
		n    *graph.Node
		want string // shapes and types, or the error
		macs int
	}{
		{node("Relu", 1, nil, x), "[2 3 4] float32", 0},
		{node("Add", 1, nil, tensor(2, 1, 4), tensor(3, 1)), "[2 3 4] float32", 0},
		{node("Add", 1, nil, tensor(2, 3), tensor(4)), "error: [2 3] with [4]", 0},
		{node("Less", 1, nil, x, tensor()), "[2 3 4] bool", 0},
		{node("Cast", 1, attributes{"to": of1(7)}, x), "[2 3 4] int64", 0},
		{node("Reshape", 1, nil, x, list(0, -1)), "[2 12] float32", 0},
		{node("Reshape", 1, nil, x, list(5, -1)), "error: [2 3 4] as [5 -1]", 0},
		{node("Reshape", 1, nil, x, tensor(2)), "error: tensor is computed, not a constant\nits shape is computed, not a constant", 0},
		{node("Transpose", 1, nil, x), "[4 3 2] float32", 0},
		{node("Transpose", 1, attributes{"perm": many(0, 2, 1)}, x), "[2 4 3] float32", 0},
		{node("Squeeze", 1, nil, tensor(1, 5, 1)), "[5] float32", 0},
		{node("Unsqueeze", 1, nil, x, list(0, -1)), "[1 2 3 4 1] float32", 0},
		{node("Concat", 1, attributes{"axis": of1(1)}, x, tensor(2, 5, 4)), "[2 8 4] float32", 0},
		{node("Split", 3, attributes{"axis": of1(-1)}, tensor(7)), "[3] float32, [3] float32, [1] float32", 0},
		{node("Slice", 1, nil, x, list(-1), list(-9), list(2), list(-2)), "[2 3 2] float32", 0},
		{node("Gather", 1, attributes{"axis": of1(1)}, x, list(0, 2, 2, 1)), "[2 4 4] float32", 0},
		{node("ReduceSum", 1, attributes{"keepdims": of1(0)}, x, list(1)), "[2 4] float32", 0},
		{node("ReduceMean", 1, nil, x), "[1 1 1] float32", 0},
		{node("ArgMax", 1, attributes{"axis": of1(2)}, x), "[2 3 1] int64", 0},
		{node("TopK", 2, nil, x, list(2)), "[2 3 2] float32, [2 3 2] int64", 0},
		{node("MatMul", 1, nil, tensor(5, 2, 3), tensor(3, 7)), "[5 2 7] float32", 5 * 2 * 7 * 3},
		{node("Gemm", 1, attributes{"transB": of1(1)}, tensor(2, 3), tensor(7, 3)), "[2 7] float32", 2 * 3 * 7},
		{node("Einsum", 1, attributes{"equation": {Text: "bij,bjk->bik"}}, tensor(2, 3, 4), tensor(2, 4, 5)), "[2 3 5] float32", 2 * 3 * 4 * 5},
		// 14 and padding of 1 on both sides leave 7 places for 3 taps at steps of 2.
		{node("Conv", 1, attributes{"strides": many(2, 2), "pads": many(1, 1, 1, 1)}, picture, tensor(16, 8, 3, 3)), "[1 16 7 7] float32", 7 * 7 * 16 * 8 * 9},
		{node("Conv", 1, attributes{"group": of1(3)}, picture, tensor(16, 8, 3, 3)), "error: weights [16 8 3 3] for [1 8 14 14] in 3 groups", 0},
		// A step of 2 doubles 14; 3 taps reach one place beyond, which the crop takes off again.
		{node("ConvTranspose", 1, attributes{"strides": many(2, 2), "pads": many(0, 0, 1, 1)}, picture, tensor(8, 4, 3, 3)), "[1 4 28 28] float32", 8 * 14 * 14 * 4 * 9},
		{node("MaxPool", 1, attributes{"kernel_shape": many(3, 3), "strides": many(2, 2), "ceil_mode": of1(1)}, picture), "[1 8 7 7] float32", 0},
		{node("Resize", 1, nil, picture, left(), floats([]int{4}, 1, 1, 2, 0.5)), "[1 8 28 7] float32", 0},
		{node("Pad", 1, nil, tensor(4), list(1, 2)), "[7] float32", 0},
		{node("LSTM", 3, nil, tensor(5, 2, 3), tensor(1, 16, 3), tensor(1, 16, 4)), "[5 1 2 4] float32, [1 2 4] float32, [1 2 4] float32", 5 * 2 * (16*3 + 16*4)},
		{node("NonMaxSuppression", 1, nil, tensor(1, 6, 4), tensor(1, 2, 6), list(3)), "[6 3] int64", 0},
		{node("Loop", 1, nil, x), "error: no shape rule for operator Loop", 0},
	} {
		got, macs := "", 0
		res, err := Infer(c.n)
		for i, r := range res {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%v %v", r.Dims, r.Type)
			macs += r.MACs
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) || err == nil && got != c.want || macs != c.macs {
			t.Errorf("%s: %s and %d multiply-accumulates, want %s and %d", c.n.Op, got, macs, c.want, c.macs)
		}
	}
}

// TestFold works operators out on small constants.
func TestFold(t *testing.T) {
	m := floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		n    *graph.Node
		want string // the elements of each result, or the error
	}{
		{node("Neg", 1, nil, m), "[-1 -2 -3 -4 -5 -6]"},
		{node("Add", 1, nil, m, floats([]int{2, 1}, 10, 20)), "[11 12 13 24 25 26]"},
		{node("Div", 1, nil, ints([]int{2}, -7, 7), ints([]int{}, 2)), "[-3 3]"},
		{node("Mod", 1, nil, ints([]int{2}, -7, 7), ints([]int{}, 3)), "[2 1]"},
		{node("Greater", 1, nil, m, floats([]int{}, 3)), "[0 0 0 1 1 1]"},
		{node("Cast", 1, attributes{"to": of1(int64(graph.Int8))}, floats([]int{3}, 1.9, -1.9, 200)), "[1 -1 -56]"},
		{node("Transpose", 1, nil, m), "[1 4 2 5 3 6]"},
		{node("Slice", 1, nil, m, list(2), list(-9), list(1), list(-2)), "[3 1 6 4]"},
		{node("Concat", 1, attributes{"axis": of1(1)}, m, floats([]int{2, 1}, 8, 9)), "[1 2 3 8 4 5 6 9]"},
		{node("Split", 2, attributes{"axis": of1(1)}, m), "[1 2 4 5] [3 6]"},
		{node("Gather", 1, attributes{"axis": of1(1)}, m, list(-1, 0)), "[3 1 6 4]"},
		{node("Gather", 1, attributes{"axis": of1(1)}, m, list(3)), "error: index 3 of 3"},
		{node("GatherElements", 1, attributes{"axis": of1(1)}, m, ints([]int{2, 1}, 2, 0)), "[3 4]"},
		{node("ScatterND", 1, attributes{"reduction": {Text: "add"}}, m, ints([]int{2, 1}, 1, 1), floats([]int{2, 3}, 1, 1, 1, 2, 2, 2)), "[1 2 3 7 8 9]"},
		{node("Tile", 1, nil, floats([]int{2}, 1, 2), list(2)), "[1 2 1 2]"},
		{node("Expand", 1, nil, floats([]int{2, 1}, 1, 2), list(2, 2)), "[1 1 2 2]"},
		{node("Range", 1, nil, ints([]int{}, 2), ints([]int{}, 9), ints([]int{}, 3)), "[2 5 8]"},
		{node("Where", 1, nil, ints([]int{3}, 1, 0, 1), m, floats([]int{}, 9)), "[1 9 3 4 9 6]"},
		{node("Clip", 1, nil, m, floats([]int{}, 2), left()), "[2 2 3 4 5 6]"},
		{node("ReduceSum", 1, nil, m, list(1)), "[6 15]"},
		{node("ReduceProd", 1, nil, m, list(0)), "[4 10 18]"},
		{node("ArgMax", 1, attributes{"axis": of1(1)}, floats([]int{1, 3}, 5, 7, 7)), "[1]"},
		{node("ArgMax", 1, attributes{"axis": of1(1), "select_last_index": of1(1)}, floats([]int{1, 3}, 5, 7, 7)), "[2]"},
		{node("TopK", 2, nil, floats([]int{4}, 1, 9, 3, 9), list(2)), "[9 9] [1 3]"},
		{node("CumSum", 1, attributes{"exclusive": of1(1)}, floats([]int{3}, 1, 2, 3), ints([]int{}, 0)), "[0 1 3]"},
		{node("Trilu", 1, attributes{"upper": of1(0)}, m), "[1 0 0 4 5 0]"},
		{node("OneHot", 1, nil, list(1, -1), ints([]int{}, 3), floats([]int{2}, 0, 5)), "[0 5 0 0 0 5]"},
		{node("NonZero", 1, nil, floats([]int{2, 2}, 0, 3, 4, 0)), "[0 1 1 0]"},
		{node("Unique", 4, nil, floats([]int{4}, 5, 2, 5, 3)), "[2 3 5] [1 3 0] [2 0 2 1] [1 1 2]"},
		// (q - zero)*scale of one scale a row.
		{node("DequantizeLinear", 1, attributes{"axis": of1(0)}, ints([]int{2, 2}, 1, 2, 3, 4), floats([]int{2}, 0.5, 2), ints([]int{2}, 1, 0)), "[0 0.5 6 8]"},
		// Halves go to the even number, and 300 is clamped to a byte.
		{node("QuantizeLinear", 1, nil, floats([]int{3}, 0.5, 1.5, 300), floats([]int{}, 1)), "[0 2 255]"},
		{node("Shape", 1, attributes{"start": of1(1)}, m), "[3]"},
		// The second box overlaps the first by more than half, the third not at all.
		{node("NonMaxSuppression", 1, nil, floats([]int{1, 3, 4}, 0, 0, 2, 2, 0, 0, 2, 1.9, 5, 5, 6, 6), floats([]int{1, 1, 3}, 0.9, 0.8, 0.7), list(3), floats([]int{}, 0.5)), "[0 0 0 0 0 2]"},
		{node("Softmax", 1, nil, floats([]int{2}, 3, 3)), "[0.5 0.5]"},
		{node("ReduceL2", 1, nil, floats([]int{2}, 3, 4)), "[5]"},
	} {
		var got []string
		res, err := Infer(c.n)
		if err == nil {
			var made []*graph.Const
			made, err = Of(c.n.Op).Host()(c.n, res)
			for _, m := range made {
				v, _ := m.Values()
				got = append(got, fmt.Sprint(v))
				if graph.Elements(m.Dims) != len(v) {
					t.Errorf("%s: %d elements of shape %v", c.n.Op, len(v), m.Dims)
				}
			}
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = "error: " + err.Error()
		}
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.n.Op, text, c.want)
		}
	}
}

// TestCompared holds that a comparison with a number beyond an operator's range is constant.
func TestCompared(t *testing.T) {
	x := tensor(4)
	x.Range = Of("Sigmoid").Range
	for _, c := range []struct {
		op        string
		with      float64
		value, ok bool
	}{
		{"GreaterOrEqual", 0, true, true}, {"Greater", 0, false, false}, {"Greater", 1, false, true},
		{"Less", 1.5, true, true}, {"LessOrEqual", 0, false, false}, {"Add", 0, false, false},
	} {
		v, ok := Compared(node(c.op, 1, nil, x, floats([]int{}, c.with)))
		if ok != c.ok || ok && v != c.value {
			t.Errorf("a sigmoid's result %s %g is %t, known %t", c.op, c.with, v, ok)
		}
	}
}

// TestTable holds what a row promises: that what is worked out has shapes, that bounds follow
// from a function, and that a row says something.
func TestTable(t *testing.T) {
	for name, o := range table {
		if o.Host() != nil && o.Infer == nil {
			t.Errorf("%s is worked out without a shape", name)
		}
		if o.Fold != nil && o.Sized != nil {
			t.Errorf("%s has two functions", name)
		}
		if o.Has(Rises|RisesAll) && o.Fold == nil {
			t.Errorf("%s has bounds and no function for them", name)
		}
		if o.Has(Transparent) && !o.Has(Elementwise) {
			t.Errorf("%s lets a transpose pass and mixes elements", name)
		}
		if o.Infer == nil && o.Refuse == "" {
			t.Errorf("nothing is said of %s", name)
		}
	}
	if o := Of("Nonesuch"); o.Infer != nil || o.Host() != nil || o.Is != 0 {
		t.Errorf("something is said of an unknown operator: %+v", o)
	}
}
