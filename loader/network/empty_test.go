package network

import (
	"slices"
	"testing"

	ox "anesim/internal/network/onnxtest"
)

// TestEmptyCache reads a decoder whose cache has no elements before the first token: the cache is no
// input, the nodes on it alone are constants, and its concatenation with new keys is these keys.
func TestEmptyCache(t *testing.T) {
	file := ox.Model(
		ox.Input("x", 1, 2, 1, 4), ox.Input("past", 1, 2, 0, 4), ox.Output("present"), ox.Output("y"), ox.Output("old"), constantOf("c", 0.5),
		ox.Node("Mul", "old", names("past", "c")), ox.Node("Concat", "present", names("old", "x"), ox.Int("axis", 2)), ox.Node("Relu", "y", names("present")),
	)
	n, err := ReadONNX(file, Options{Dims: map[string]int{"batch": 0}})
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Inputs) != 1 || n.Inputs[0].Name != "x" || findRefusal(n) != "" || len(n.Layers) != 1 {
		t.Errorf("inputs %v, %d layers, refused: %q; want input x and 1 layer", n.Inputs, len(n.Layers), findRefusal(n))
	}
	for i, want := range [][]int{{1, 2, 1, 4}, {1, 2, 1, 4}, {1, 2, 0, 4}} {
		if got := n.Results[i].Dims; !slices.Equal(got, want) {
			t.Errorf("%s has shape %v; want %v", n.Results[i].Name, got, want)
		}
	}
}

// TestEmptyPart splits a part without elements from a tensor, which leaves the others.
func TestEmptyPart(t *testing.T) {
	n, err := ReadONNX(ox.Model(
		ox.Input("x", 3, 4), ox.Ints("sizes", 2, 0, 1), ox.Output("a"), ox.Output("y"),
		ox.Several("Split", names("a", "b", "c"), names("x", "sizes")), ox.Node("Concat", "y", names("c", "b", "a"), ox.Int("axis", 0)),
	), Options{})
	if err != nil || findRefusal(n) != "" {
		t.Fatal(err, findRefusal(n))
	}
	if y := n.Results[1].Dims; !slices.Equal(y, []int{3, 4}) {
		t.Errorf("the parts have shape %v together; want [3 4]", y)
	}
}

func constantOf(name string, v float32) ox.Message { return ox.Constant(name, []int{}, v) }
