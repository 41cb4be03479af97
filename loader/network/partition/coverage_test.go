package partition_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// An output behind a layer that is not modelled is lost, another is not. What the host does
// is done.
func TestCoverage(t *testing.T) {
	const all = 2 * (800 + 3*1024)
	for _, tc := range []struct {
		op   string
		want partition.Coverage
	}{
		{"Bernoulli", partition.Coverage{Nodes: 4, Done: 2, MACs: 2048, DoneMACs: 2048, Bytes: 2*(800+1024) + 1024, DoneBytes: 2 * (800 + 1024), Unsized: 2, Lost: []partition.Loss{{Output: "c", Layer: 1}}}},
		{"Hardmax", partition.Coverage{Nodes: 4, Done: 4, MACs: 2048, DoneMACs: 2048, Bytes: all, DoneBytes: all, Hosted: 1}},
	} {
		n, err := network.ReadONNX(ox.Model(
			ox.Input("x", 1, 4, 8, 8), ox.Constant("w", []int{8, 4, 1, 1}, make([]float32, 32)...),
			ox.Node("Conv", "a", []string{"x", "w"}), ox.Node(tc.op, "b", []string{"a"}), ox.Node("Relu", "c", []string{"b"}), ox.Node("Tanh", "d", []string{"a"}),
			ox.Output("c"), ox.Output("d"),
		), network.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, reasons, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
		if d := cmp.Diff(tc.want, partition.CoverageOf(n, reasons)); d != "" {
			t.Errorf("%s: (-want +got):\n%s", tc.op, d)
		}
	}
}

// Bytes are those of operands and results; a node of unknown shape is counted and said to
// have none.
func TestCoverageBytes(t *testing.T) {
	n, err := network.ReadONNX(ox.Model(
		ox.Input("x", 1, 4, 8, 8), ox.Constant("w", []int{8, 4, 1, 1}, make([]float32, 32)...),
		ox.Node("Conv", "a", []string{"x", "w"}), ox.Node("Unheard", "b", []string{"a"}), ox.Node("Relu", "c", []string{"b"}),
		ox.Output("c"),
	), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
	c := partition.CoverageOf(n, reasons)
	conv := uint64(2 * (4*64 + 32 + 8*64))
	if c.Nodes != 3 || c.Done != 1 || c.DoneBytes != conv || c.Bytes != conv+2*8*64 || c.Unsized != 2 || c.Whole() {
		t.Errorf("%+v", c)
	}
	list, err := network.ReadYAML([]byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {op: conv, cout: 8}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c = partition.CoverageOf(list, []string{""}); c.Bytes != conv || c.DoneBytes != conv || !c.Whole() {
		t.Errorf("list of layers: %+v", c)
	}
}

// A layer that no output needs is neither lowered nor counted, whether the engine or the
// host does it, and a note names it.
func TestUnused(t *testing.T) {
	used := []ox.Message{
		ox.Input("x", 1, 4, 8, 8), ox.Constant("w", []int{8, 4, 1, 1}, make([]float32, 32)...),
		ox.Node("Conv", "a", []string{"x", "w"}), ox.Node("Relu", "c", []string{"a"}), ox.Output("c"),
	}
	unused := []ox.Message{
		ox.Node("Conv", "d", []string{"x", "w"}), ox.Node("Tanh", "e", []string{"d"}), ox.Node("Hardmax", "f", []string{"a"}), ox.Node("Relu", "g", []string{"f"}),
	}
	read := func(parts ...ox.Message) (*list.Network, partition.Coverage) {
		n, err := network.ReadONNX(ox.Model(parts...), network.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, reasons, err := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return n, partition.CoverageOf(n, reasons)
	}
	want, alone := read(used...)
	n, c := read(append(slices.Clone(used), unused...)...)
	if d := cmp.Diff(alone, c); d != "" || len(n.Layers) != len(want.Layers) {
		t.Errorf("%d layers, %d without the unused ones: (-without +with):\n%s", len(n.Layers), len(want.Layers), d)
	}
	if last := len(n.Notes) - 1; last < 0 || n.Notes[last] != "left out because no output needs them: d, e, f, g" {
		t.Errorf("%q", n.Notes)
	}
	n, err := network.ReadYAML([]byte("inputs: {x: {c: 4, h: 8, w: 8}}\noutputs: [a]\nlayers:\n- {op: conv, cout: 8, name: a}\n- {op: relu, from: x, name: b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Layers) != 1 || n.Layers[0].Name != "a" {
		t.Errorf("%d layers of YAML", len(n.Layers))
	}
}
