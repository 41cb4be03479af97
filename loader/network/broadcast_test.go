package network

import (
	"testing"

	ox "anesim/internal/network/onnxtest"
)

// TestOldBroadcastOfConstants folds a sum whose second operand has a place among the axes of the
// first, as operators before version 7 have it.
func TestOldBroadcastOfConstants(t *testing.T) {
	n, err := ReadONNX(ox.Model(
		ox.Input("x", 1, 2, 3), ox.Constant("a", []int{1, 2, 3}, 0, 0, 0, 0, 0, 0), ox.Constant("b", []int{2}, 1, 2),
		ox.Node("Add", "c", []string{"a", "b"}, ox.Int("broadcast", 1), ox.Int("axis", 1)),
		ox.Node("Relu", "y", []string{"x"}), ox.Output("y"), ox.Output("c"),
	), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{1, 1, 1, 2, 2, 2} {
		if got := n.Constants["c"]; len(got) != 6 || got[i].Float32() != want {
			t.Fatalf("constant %v, want [1 1 1 2 2 2]", got)
		}
	}
}
