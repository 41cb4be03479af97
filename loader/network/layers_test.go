package network

import (
	"slices"
	"testing"

	ox "anesim/internal/network/onnxtest"
)

// TestLayersOfSmallFiles reads two LSTMs of 512 steps in both directions, which are 21,559 layers
// each. A small file may have the first, the largest that docs/limits.md allows, but not both.
func TestLayersOfSmallFiles(t *testing.T) {
	lstm := func(name string) []byte {
		return ox.Node("LSTM", name, []string{"x", "w", "r"}, ox.Int("hidden_size", 2), ox.Text("direction", "bidirectional"))
	}
	n, err := ReadONNX(ox.Model(
		ox.Input("x", 512, 1, 2), ox.Constant("w", []int{2, 8, 2}, make([]float32, 32)...), ox.Constant("r", []int{2, 8, 2}, make([]float32, 32)...),
		lstm("first"), lstm("second"), ox.Output("first"), ox.Output("second")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var refused []string
	for i := range n.Layers {
		if l := &n.Layers[i]; l.Reason != "" {
			refused = append(refused, l.Name+": "+l.Reason)
		}
	}
	if want := []string{"second: network exceeds the limit of 24609 layers for a file of its size"}; !slices.Equal(refused, want) || len(n.Layers) < 21_559 {
		t.Errorf("%d layers, refused %q; want 21,559 of the first LSTM, and %q", len(n.Layers), refused, want)
	}
}
