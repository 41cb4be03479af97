package check_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"anesim"
	"anesim/internal/check"
	ox "anesim/internal/network/onnxtest"
	"anesim/internal/report"
)

// A network does not differ from its own JSON: every layer that the engine computes is compared, and
// no others.
func TestNetworksEqualTheirOwnJSON(t *testing.T) {
	models := map[string]*anesim.Model{}
	files, err := filepath.Glob("../../tools/anesim/examples/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if m, err := anesim.Open(file); err == nil && m.Kind() == anesim.KindNetwork {
			models[filepath.Base(file)] = m
		}
	}
	if len(models) < 5 {
		t.Errorf("%d networks among the examples, want more", len(models))
	}
	host := ox.Model(ox.Input("x", 1, 4, 8, 8), ox.Output("y"), ox.Output("z"), ox.Node("Relu", "a", []string{"x"}),
		ox.Node("ArgMax", "y", []string{"a"}, ox.Int("axis", 1)), ox.Node("Sigmoid", "z", []string{"a"}))
	if models["with a host stage"], err = anesim.Read("net.onnx", bytes.NewReader(host), int64(len(host))); err != nil {
		t.Fatal(err)
	}
	for name, m := range models {
		res, err := m.Run(t.Context(), anesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := check.NewEntry(res, name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := report.WriteDocument(&b, report.NewNetwork(res)); err != nil {
			t.Fatal(err)
		}
		e, err := check.ReadEntry(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		computed := 0
		for i := range res.Layers {
			if res.Layers[i].Report != nil {
				computed++
			}
		}
		deltas := check.Diff(&a, e)
		if len(deltas) != computed {
			t.Errorf("%s: %d layers are compared, want %d", name, len(deltas), computed)
		}
		for _, d := range deltas {
			if d.Changed() {
				t.Errorf("%s: %+v differs from %+v", name, d.A, d.B)
			}
		}
		for _, c := range check.CostChanges(&a.Total, &e.Total) {
			if c.Changed() {
				t.Errorf("%s: %s %s: %v, and %v in the JSON", name, c.Of, c.Name, c.A, c.B)
			}
		}
	}
}
