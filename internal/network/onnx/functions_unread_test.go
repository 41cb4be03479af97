package onnx_test

import (
	"testing"

	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

// TestCallsWithMoreThanTheFunction holds that the call of a function is left alone if it has an
// input, an output or an attribute that the nodes of the function would ignore.
func TestCallsWithMoreThanTheFunction(t *testing.T) {
	function := ox.Function("local", "Scaled", []string{"a"}, []string{"b"}, []string{"alpha"},
		ox.Node("LeakyRelu", "b", []string{"a"}, ox.Refer("alpha", "alpha", 1)))
	for _, tc := range []struct {
		name string
		call ox.Message
		want string // the operator that is left
	}{
		{"a plain call", ox.NodeOf("local", "Scaled", "y", []string{"x"}), "LeakyRelu"},
		{"its attribute", ox.NodeOf("local", "Scaled", "y", []string{"x"}, ox.Float("alpha", 0.5)), "LeakyRelu"},
		{"another attribute", ox.NodeOf("local", "Scaled", "y", []string{"x"}, ox.Float("beta", 0.5)), "Scaled"},
		{"another input", ox.NodeOf("local", "Scaled", "y", []string{"x", "x"}), "Scaled"},
	} {
		file := append(ox.Model(ox.Input("x", 2), tc.call, ox.Output("y")), function...)
		m, err := onnx.Read(file)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if len(m.Nodes) != 1 || m.Nodes[0].Op != tc.want {
			t.Errorf("%s: %d nodes, the first %s; want one %s", tc.name, len(m.Nodes), m.Nodes[0].Op, tc.want)
		}
	}
}
