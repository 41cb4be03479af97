package network

import (
	"strings"
	"testing"

	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network/list"
)

// newMergedDecoder returns a model whose branches differ in their work and in the shapes of their
// results, as the merged decoders of exporters do. The input "use" of shape dims chooses one.
func newMergedDecoder(dims ...int) []byte {
	return ox.Model(
		ox.InputOf(7, "ids", 1, 1), ox.Input("x", 2, 4), ox.InputOf(9, "use", dims...), ox.Output("y"),
		ox.Node("If", "y", names("use"),
			ox.Graph("then_branch", ox.Node("Neg", "p", names("x")), ox.Output("p")),
			ox.Graph("else_branch", ox.Node("Concat", "q", names("x", "x"), ox.Int("axis", 0)), ox.Output("q"))),
	)
}

// TestChosenBranch chooses a branch by the value of an input of one truth value, whatever the number
// of its axes. Without a value, the reason names that input, and not another integer input.
func TestChosenBranch(t *testing.T) {
	for _, dims := range [][]int{{}, {1}, {1, 1}} {
		file := newMergedDecoder(dims...)
		for value, rows := range []int{4, 2} {
			n, err := ReadONNX(file, Options{Dims: map[string]int{"use": value}})
			if err != nil {
				t.Fatal(err)
			}
			if y := n.Results[0]; len(y.Dims) != 2 || y.Dims[0] != rows {
				t.Errorf("shape %v of the condition, use=%d: result has shape %v; want %d rows", dims, value, y.Dims, rows)
			}
			for _, l := range n.Layers {
				if l.Reason != "" {
					t.Errorf("shape %v of the condition, use=%d: %s: %s", dims, value, l.Name, l.Reason)
				}
			}
		}
		n, err := ReadONNX(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := `condition depends on input "use"; choose it with --dim use=1 or 0`; !strings.HasPrefix(findRefusal(n), want) {
			t.Errorf("shape %v of the condition: %q; want %q", dims, findRefusal(n), want)
		}
	}
}

// A condition that depends on many elements cannot be chosen by the value of one, so the reason does
// not offer it.
func TestUndecidableBranch(t *testing.T) {
	n, err := ReadONNX(newMergedDecoder(2), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := findRefusal(n); strings.Contains(got, "--dim") || !strings.Contains(got, "2") {
		t.Errorf("the reason is %q; want the shape of the condition", got)
	}
	if _, err := ReadONNX(newMergedDecoder(2), Options{Dims: map[string]int{"use": 1}}); err == nil {
		t.Error("a value is accepted for an input of two elements")
	}
}

// findRefusal returns the reason of the first layer of n that the engine cannot run, or "".
func findRefusal(n *list.Network) string {
	for _, l := range n.Layers {
		if l.Reason != "" {
			return l.Reason
		}
	}
	return ""
}
