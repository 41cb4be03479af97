package ops

import (
	"fmt"
	"testing"

	"anesim/internal/network/graph"
)

// newDynamicTensor returns a tensor whose first axis may have any extent up to that in dims.
func newDynamicTensor(dims ...int) *graph.Value {
	v := newTensor(dims...)
	v.Least = append([]int{0}, dims[1:]...)
	return v
}

// newBoundedList returns a list of integers, each between its own bounds.
func newBoundedList(low, high []float64) *graph.Value {
	v := newTensor(len(low))
	v.Type = graph.Int64
	v.Span = &graph.Span{Low: newList(low...).Const, High: newList(high...).Const}
	return v
}

// TestBound holds the largest and the least shapes of results, and the bounds of elements that
// are made of them.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		n    *graph.Node
		want string // largest, least and bounds of the first result
	}{
		{newNode("NonZero", 1, nil, newTensor(2, 5)), "[2 10] [2 0]"},
		{newNode("Compress", 1, attributes{"axis": newIntAttr(1)}, newTensor(2, 5), newTensor(5)), "[2 5] [2 0]"},
		{newNode("Compress", 1, nil, newTensor(2, 5), newTensor(5)), "[10] [0]"},
		{newNode("Unique", 4, attributes{"axis": newIntAttr(-1)}, newTensor(2, 5)), "[2 5] [2 0]"},
		{newNode("Unique", 4, nil, newTensor(2, 5)), "[10] [0]"},
		{newNode("NonMaxSuppression", 1, nil, newTensor(1, 6, 4), newTensor(1, 2, 6), newList(3)), "[6 3] [0 3]"},
		// A slice with a computed end is any part of its input.
		{newNode("Slice", 1, nil, newTensor(9, 2), newList(0), newTensor(1), newList(0)), "[9 2] [0 0]"},
		// Of the fewest rows it makes the fewest.
		{newNode("Relu", 1, nil, newDynamicTensor(8, 3)), "[8 3] [0 3]"},
		{newNode("Transpose", 1, nil, newDynamicTensor(8, 3)), "[3 8] [3 0]"},
		{newNode("MatMul", 1, nil, newDynamicTensor(8, 3), newTensor(3, 4)), "[8 4] [0 4]"},
		{newNode("Concat", 1, attributes{"axis": newIntAttr(0)}, newDynamicTensor(8, 3), newTensor(2, 3)), "[10 3] [2 3]"},
		{newNode("ReduceSum", 1, nil, newDynamicTensor(8, 3), newList(0)), "[1 3]"},
		// The extents themselves are elements with bounds, and so is what is computed from them.
		{newNode("Shape", 1, nil, newDynamicTensor(8, 3)), "[2] between [0 3] and [8 3]"},
		{newNode("Mul", 1, nil, newBoundedList([]float64{0, 3}, []float64{8, 3}), newList(2, -1)), "[2] between [0 -3] and [16 -3]"},
		{newNode("Gather", 1, nil, newBoundedList([]float64{0, 3}, []float64{8, 3}), newList(0)), "[1] between [0] and [8]"},
		// A product of two such numbers is largest where both are.
		{newNode("ReduceProd", 1, attributes{"keepdims": newIntAttr(0)}, newBoundedList([]float64{0, 3}, []float64{8, 3})), "[] between [0] and [24]"},
		// What rises here and falls there has none.
		{newNode("Cos", 1, nil, newBoundedList([]float64{0}, []float64{8})), "[1]"},
		// A part of computed size may be all of it, or nothing.
		{newNode("TopK", 2, nil, newTensor(9), newTensor(1)), "[9] [0]"},
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
	if _, _, err := InferBounds(newNode("Add", 1, nil, newDynamicTensor(8, 3), newTensor(8, 4))); err == nil {
		t.Error("a sum of tensors that do not fit has bounds")
	}
}

// TestRowByRow holds which operators leave rows apart that may be beyond the actual ones.
func TestRowByRow(t *testing.T) {
	for _, c := range []struct {
		n    *graph.Node
		want bool
	}{
		{newNode("Relu", 1, nil, newDynamicTensor(8, 3)), true},
		{newNode("MatMul", 1, nil, newDynamicTensor(8, 3), newTensor(3, 4)), true},
		{newNode("MatMul", 1, nil, newTensor(4, 8), newDynamicTensor(8, 3)), false},
		{newNode("Softmax", 1, attributes{"axis": newIntAttr(1)}, newDynamicTensor(8, 3)), true},
		{newNode("Softmax", 1, attributes{"axis": newIntAttr(0)}, newDynamicTensor(8, 3)), false},
		{newNode("ReduceMean", 1, nil, newDynamicTensor(8, 3)), false},
		{newNode("Gemm", 1, nil, newDynamicTensor(8, 3), newTensor(3, 4)), true},
		{newNode("Gemm", 1, attributes{"transA": newIntAttr(1)}, newDynamicTensor(8, 3), newTensor(8, 4)), false},
		{newNode("Conv", 1, nil, newDynamicTensor(8, 3, 5, 5), newTensor(4, 3, 1, 1)), true},
		{newNode("LayerNormalization", 1, nil, newDynamicTensor(8, 3)), true},
		{newNode("LayerNormalization", 1, attributes{"axis": newIntAttr(0)}, newDynamicTensor(8, 3)), false},
		{newOldNode("Softmax", attributes{"axis": newIntAttr(1)}, newDynamicTensor(8, 3)), false}, // over all axes from one on
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
		{newNode("NonZero", 1, nil, newTensor(4)), true, true},
		{newNode("TopK", 2, nil, newTensor(4), newTensor(1)), true, true},
		{newNode("TopK", 2, nil, newTensor(4), newList(2)), false, false},
		{newNode("TopK", 2, nil, newTensor(4), newBoundedList([]float64{1}, []float64{3})), false, true},
		{newNode("Slice", 1, nil, newTensor(4), newList(0), newTensor(1), newList(0)), true, true},
		{newNode("Slice", 1, nil, newTensor(4), newList(0), newTensor(1), newTensor(1)), false, false}, // along an axis that is not known
		{newNode("Relu", 1, nil, newDynamicTensor(4)), false, true},
		{newNode("Relu", 1, nil, newTensor(4)), false, false},
	} {
		if MakesDynamic(c.n) != c.makes || IsDynamic(c.n) != c.either {
			t.Errorf("%s makes a size: %t, has to do with one: %t; want %t and %t", c.n.Op, MakesDynamic(c.n), IsDynamic(c.n), c.makes, c.either)
		}
	}
}

// TestResizedRowsAreNotIndependent checks that a Resize of the axis whose size varies is not computed
// with its largest size.
func TestResizedRowsAreNotIndependent(t *testing.T) {
	for _, dims := range [][]int{{4, 6}, {4}} {
		sizes := []float64{9}
		for _, d := range dims[1:] {
			sizes = append(sizes, float64(d))
		}
		n := newNode("Resize", 1, nil, newDynamicTensor(dims...), newOmittedInput(), newOmittedInput(), newList(sizes...))
		if IsRowwise(n) {
			t.Errorf("Resize of up to %v to %v computes rows independently", dims, sizes)
		}
	}
}
