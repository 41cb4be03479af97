package report

import (
	"strings"
	"testing"

	"anesim"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network"
)

// runMissing returns the report of a network with two unknown operators of one kind, one of another
// with a chain of layers after it, and an average pool.
func runMissing(t *testing.T) *Network {
	t.Helper()
	in := func(names ...string) []string { return names }
	n, err := network.ReadONNX(ox.Model(
		ox.Input("x", 2, 4), ox.Input("z", 1, 16, 6, 8),
		ox.NodeOf("my", "Scaler", "s", in("x")), ox.Node("Relu", "a", in("s")), ox.Node("Neg", "b", in("a")), ox.Node("Tanh", "c", in("b")),
		ox.NodeOf("my", "Crop", "e", in("x")), ox.NodeOf("my", "Crop", "f", in("x")),
		ox.Node("AveragePool", "p", in("z"), ox.List("kernel_shape", 3, 2), ox.List("strides", 3, 2)),
		ox.Output("a"), ox.Output("b"), ox.Output("c"), ox.Output("e"), ox.Output("f"), ox.Output("p"),
	), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := anesim.FromNetwork(n).Run(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return NewNetwork(r)

}

// TestMissingGroups groups layers without a cost by the layer that is the cause: layers whose shapes
// are unknown because of an unknown operator are no causes of their own, however long their chain.
func TestMissingGroups(t *testing.T) {
	d := runMissing(t)
	groups := GroupMissing(d.NotModelled)
	if len(groups) != 2 {
		t.Fatalf("%d groups of %+v; want 2", len(groups), d.NotModelled)
	}
	names := func(list []Missing) string {
		var s []string
		for _, m := range list {
			s = append(s, m.Name)
		}
		return strings.Join(s, " ")
	}
	for i, want := range []struct{ causes, behind string }{{"s", "a b c"}, {"e f", ""}} {
		if g := groups[i]; names(g.Causes) != want.causes || names(g.Behind) != want.behind {
			t.Errorf("group %d is %q and behind it %q; want %q and %q", i, names(g.Causes), names(g.Behind), want.causes, want.behind)
		}
	}
	if line := Incomplete(d.NotModelled); !strings.HasSuffix(line, "s (my.Scaler), e (my.Crop), f (my.Crop) and 3 more") {
		t.Errorf("%q does not name the causes first", line)
	}
	for _, l := range d.Coverage.Lost {
		if want := map[string]string{"a": "s", "b": "s", "c": "s", "e": "e", "f": "f"}[l.Output]; l.Layer != want {
			t.Errorf("output %s is said to need %s; want %s", l.Output, l.Layer, want)
		}
	}
}

// TestPoolHasAllWeights checks that the filter of an average pool, which no file states, does not
// count as weights that are missing.
func TestPoolHasAllWeights(t *testing.T) {
	if d := runMissing(t); d.Memory.MadeUp || d.Memory.WeightBytes == 0 {
		t.Errorf("%d bytes of weights, made up: %t; want some, and none made up", d.Memory.WeightBytes, d.Memory.MadeUp)
	}
}
