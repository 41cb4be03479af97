package anesim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/network/onnxtest"
)

// A function of one element costs the same as a layer, in a list of layers, and as a node of an
// ONNX file. Where a node costs more, because it is computed exactly, a note says so and names the
// option with which it does not.
func TestFunctionsCostTheSameFromAnyFile(t *testing.T) {
	for _, c := range []struct {
		op, layer string
		exact     bool // more layers than a table look-up
	}{
		{"Relu", "relu", false}, {"Sigmoid", "sigmoid", false}, {"Tanh", "tanh", false}, {"Exp", "exp", false}, {"Sqrt", "sqrt", false},
		{"Abs", "abs", false}, {"Erf", "erf", false}, {"Softplus", "softplus", false}, {"HardSwish", "hard_swish", false}, {"Log", "log", false},
		{"Elu", "elu", true}, {"Selu", "selu", true}, {"Softsign", "softsign", true}, {"Celu", "elu", true},
	} {
		for _, side := range []int{1, 7, 28} {
			run := func(m *anesim.Model, err error) (cycles uint64, notes string) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", c.op, err)
				}
				res, err := m.Run(t.Context(), anesim.Options{})
				if err != nil {
					t.Fatalf("%s: %v", c.op, err)
				}
				if n := m.Network(); n != nil {
					notes = strings.Join(n.Notes, "\n")
				}
				return uint64(res.Report.Cycles), notes
			}
			data := onnxtest.Model(onnxtest.Input("x", 1, 64, side, side), onnxtest.Output("y"), onnxtest.Node(c.op, "y", []string{"x"}))
			file := func(tables bool) (uint64, string) {
				return run((&anesim.OpenOptions{Tables: tables}).Read("net.onnx", bytes.NewReader(data), int64(len(data))))
			}
			layer, _ := run(anesim.Layer(c.layer, "c=64", fmt.Sprint("h=", side), fmt.Sprint("w=", side)))
			text := fmt.Sprintf("inputs: {x: {c: 64, h: %d, w: %[1]d}}\nlayers:\n  - {op: %s}\n", side, c.layer)
			list, _ := run(anesim.Read("net.yaml", strings.NewReader(text), int64(len(text))))
			table, _ := file(true)
			if list != layer || table != layer {
				t.Errorf("%s, %d pixels: %d cycles as a layer, %d in a list, %d in a file with tables", c.op, side*side, layer, list, table)
			}
			exact, notes := file(false)
			if told := strings.Contains(notes, c.op+" is computed exactly") && strings.Contains(notes, "--tables"); told != c.exact || exact != layer && !told {
				t.Errorf("%s, %d pixels: %d cycles as a layer, %d in a file, and the notes %q", c.op, side*side, layer, exact, notes)
			}
		}
	}
}
