package join

import (
	"testing"

	"anesim/loader/layer"
)

// The tile of a resident tensor stays at the address of its extent, even if several tasks of a
// step read it and the other tiles of that step move.
func TestResidentTilesStay(t *testing.T) {
	in := layer.Shape{N: 1, C: 128, H: 32, W: 32}
	part := func(cout int) *Part {
		p, err := NewPart(layer.Conv(in, cout, layer.Valid(1, 1)), ones(in.C*cout))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, several := part(128), part(8192)
	if n := len(several.output.Tasks); n < 2 {
		t.Fatalf("the second layer has %d tasks, want several", n)
	}
	n := &Network{
		Inputs: []Tensor{{Name: "x", Shape: in}},
		Nodes: []Node{
			{Part: one, Inputs: []string{"x"}, Output: "long"},
			{Part: one, Inputs: []string{"long"}, Output: "short"},
			{Part: several, Inputs: []string{"short"}, Output: "y"}, // next to long, so its other tiles move
			{Part: one, Inputs: []string{"long"}, Output: "z"},
		},
		Outputs: []string{"y", "z"},
	}
	j := newJoiner(n)
	for _, step := range []func() error{j.makeSteps, j.assignPorts, j.packAllWeights} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	kept, shift := j.placeResidents()
	for i := range j.steps {
		s := &j.steps[i]
		j.retargetTasks(i, s.part.placeTasks(j.locateBuffers(s, 0)), kept, shift[i])
	}
	if len(kept) != 5 || shift[2] == 0 {
		t.Errorf("%d accesses of residents and shifts %v; want 5, and a shift of the third step", len(kept), shift)
	}
	for a, r := range kept {
		if want := r.layout.Rebase(r.extent.Base); r.tile.At != want {
			t.Errorf("access %+v has a tile at %+v, want %+v", a, r.tile.At, want)
		}
	}
}
