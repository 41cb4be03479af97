package anesim_test

import (
	"strings"
	"testing"

	"anesim"
)

// A window that stands in the padding alone is a larger one on the engine, and its sums round
// as those of that one do. Where a layer so differs from itself without the padding, it says so.
func TestPaddedByItself(t *testing.T) {
	run := func(words string) (*anesim.Result, string) {
		m, err := anesim.Layer("conv", strings.Fields(words)...)
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(t.Context(), anesim.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		return res, m.Network().Layers[0].Lower.Caveat()
	}
	const c, side = 64, 9
	plain, none := run("cin=64 h=9 w=9 cout=64 k=1")
	padded, note := run("cin=64 h=9 w=9 cout=64 k=1 pad=1")
	differ := 0
	for i, v := range plain.Outputs[0].Data {
		x, y, z := i%side, i/side%side, i/side/side
		if v != padded.Outputs[0].Data[(z*(side+2)+y+1)*(side+2)+x+1] {
			differ++
		}
	}
	if says := strings.Contains(note, "may round differently"); none != "" || says != (differ > 0) {
		t.Errorf("%d of %d values differ, and the notes are %q and %q", differ, c*side*side, none, note)
	}
}
