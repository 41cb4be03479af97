package ops

import (
	"fmt"
	"testing"

	"anesim/loader/network/graph"
)

// upTo is a tensor of which the first axis has any extent up to that of dims.
func upTo(dims ...int) *graph.Value {
	v := tensor(dims...)
	v.Least = append([]int{0}, dims[1:]...)
	return v
}

// between is a list of whole numbers, each between two bounds.
func between(low, high []float64) *graph.Value {
	v := tensor(len(low))
	v.Type = graph.Int64
	v.Span = &graph.Span{Low: list(low...).Const, High: list(high...).Const}
	return v
}

// TestBound holds the largest and the least shapes of results, and the bounds of elements that
// are made of them.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		n    *graph.Node
		want string // largest, least and bounds of the first result
	}{
		{node("NonZero", 1, nil, tensor(2, 5)), "[2 10] [2 0]"},
		{node("Compress", 1, attributes{"axis": of1(1)}, tensor(2, 5), tensor(5)), "[2 5] [2 0]"},
		{node("Compress", 1, nil, tensor(2, 5), tensor(5)), "[10] [0]"},
		{node("Unique", 4, attributes{"axis": of1(-1)}, tensor(2, 5)), "[2 5] [2 0]"},
		{node("Unique", 4, nil, tensor(2, 5)), "[10] [0]"},
		{node("NonMaxSuppression", 1, nil, tensor(1, 6, 4), tensor(1, 2, 6), list(3)), "[6 3] [0 3]"},
		// A slice with a computed end is any part of its input.
		{node("Slice", 1, nil, tensor(9, 2), list(0), tensor(1), list(0)), "[9 2] [0 0]"},
		// Of the fewest rows it makes the fewest.
		{node("Relu", 1, nil, upTo(8, 3)), "[8 3] [0 3]"},
		{node("Transpose", 1, nil, upTo(8, 3)), "[3 8] [3 0]"},
		{node("MatMul", 1, nil, upTo(8, 3), tensor(3, 4)), "[8 4] [0 4]"},
		{node("Concat", 1, attributes{"axis": of1(0)}, upTo(8, 3), tensor(2, 3)), "[10 3] [2 3]"},
		{node("ReduceSum", 1, nil, upTo(8, 3), list(0)), "[1 3]"},
		// The extents themselves are elements with bounds, and so is what is computed from them.
		{node("Shape", 1, nil, upTo(8, 3)), "[2] between [0 3] and [8 3]"},
		{node("Mul", 1, nil, between([]float64{0, 3}, []float64{8, 3}), list(2, -1)), "[2] between [0 -3] and [16 -3]"},
		{node("Gather", 1, nil, between([]float64{0, 3}, []float64{8, 3}), list(0)), "[1] between [0] and [8]"},
		// A product of two such numbers is largest where both are.
		{node("ReduceProd", 1, attributes{"keepdims": of1(0)}, between([]float64{0, 3}, []float64{8, 3})), "[] between [0] and [24]"},
		// What rises here and falls there has none.
		{node("Cos", 1, nil, between([]float64{0}, []float64{8})), "[1]"},
		// A part of computed size may be all of it, or nothing.
		{node("TopK", 2, nil, tensor(9), tensor(1)), "[9] [0]"},
	} {
		res, spreads, err := InferBounds(c.n)
		if err != nil {
			t.Errorf("%s: %v", c.n.Op, err)
			continue
		}
		got := fmt.Sprint(res[0].Dims)
		if s := spreads[0]; s.Least != nil {
			got += fmt.Sprint(" ", s.Least)
		} else if s.Span != nil {
			got += fmt.Sprintf(" between %v and %v", s.Span.Low.Numbers, s.Span.High.Numbers)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.n.Op, got, c.want)
		}
	}
	if _, _, err := InferBounds(node("Add", 1, nil, upTo(8, 3), tensor(8, 4))); err == nil {
		t.Error("a sum of tensors that do not fit has bounds")
	}
}

// TestRowByRow holds which operators leave rows apart that may be beyond the actual ones.
func TestRowByRow(t *testing.T) {
	for _, c := range []struct {
		n    *graph.Node
		want bool
	}{
		{node("Relu", 1, nil, upTo(8, 3)), true},
		{node("MatMul", 1, nil, upTo(8, 3), tensor(3, 4)), true},
		{node("MatMul", 1, nil, tensor(4, 8), upTo(8, 3)), false},
		{node("Softmax", 1, attributes{"axis": of1(1)}, upTo(8, 3)), true},
		{node("Softmax", 1, attributes{"axis": of1(0)}, upTo(8, 3)), false},
		{node("ReduceMean", 1, nil, upTo(8, 3)), false},
		{node("Gemm", 1, nil, upTo(8, 3), tensor(3, 4)), true},
		{node("Gemm", 1, attributes{"transA": of1(1)}, upTo(8, 3), tensor(8, 4)), false},
		{node("Conv", 1, nil, upTo(8, 3, 5, 5), tensor(4, 3, 1, 1)), true},
		{node("LayerNormalization", 1, nil, upTo(8, 3)), true},
		{node("LayerNormalization", 1, attributes{"axis": of1(0)}, upTo(8, 3)), false},
		{old("Softmax", attributes{"axis": of1(1)}, upTo(8, 3)), false}, // over all axes from one on
	} {
		if got := IsRowwise(c.n); got != c.want {
			t.Errorf("%s works row by row: %t, want %t", c.n.Op, got, c.want)
		}
	}
}

// TestDynamic holds which nodes make tensors whose size depends on values, and which have to do
// with such a size.
func TestDynamic(t *testing.T) {
	for _, c := range []struct {
		n             *graph.Node
		makes, either bool
	}{
		{node("NonZero", 1, nil, tensor(4)), true, true},
		{node("TopK", 2, nil, tensor(4), tensor(1)), true, true},
		{node("TopK", 2, nil, tensor(4), list(2)), false, false},
		{node("TopK", 2, nil, tensor(4), between([]float64{1}, []float64{3})), false, true},
		{node("Slice", 1, nil, tensor(4), list(0), tensor(1), list(0)), true, true},
		{node("Slice", 1, nil, tensor(4), list(0), tensor(1), tensor(1)), false, false}, // along an axis that is not known
		{node("Relu", 1, nil, upTo(4)), false, true},
		{node("Relu", 1, nil, tensor(4)), false, false},
	} {
		if MakesDynamic(c.n) != c.makes || IsDynamic(c.n) != c.either {
			t.Errorf("%s makes a size: %t, has to do with one: %t; want %t and %t", c.n.Op, MakesDynamic(c.n), IsDynamic(c.n), c.makes, c.either)
		}
	}
}
