package anesim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"anesim"
	ox "anesim/loader/network/onnx/onnxtest"
)

// One operation costs the same through every reader. Where a reader has an exact form that is
// dearer than a table, it says so, and costs the same with the option.
func TestOneOperationOneCost(t *testing.T) {
	read := func(name string, data []byte, o anesim.OpenOptions) *anesim.Model {
		m, err := o.Read(name, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	cycles := func(m *anesim.Model) uint64 {
		res, err := m.Run(t.Context(), anesim.Options{})
		if err != nil {
			t.Fatal(m.Name(), err)
		}
		return uint64(res.Report.Cycles)
	}
	for _, tc := range []struct{ op, operator string }{
		{"relu", "Relu"}, {"sigmoid", "Sigmoid"}, {"tanh", "Tanh"}, {"exp", "Exp"}, {"sqrt", "Sqrt"}, {"erf", "Erf"},
		{"softplus", "Softplus"}, {"leaky_relu", "LeakyRelu"}, {"abs", "Abs"}, {"ceil", "Ceil"}, {"sign", "Sign"},
		{"hard_swish", "HardSwish"}, {"elu", "Elu"}, {"softsign", "Softsign"},
	} {
		const c, h, w = 64, 28, 28
		words, err := anesim.Layer(tc.op, "c=64", "h=28", "w=28")
		if err != nil {
			t.Fatal(err)
		}
		want := cycles(words)
		yaml := fmt.Sprintf("inputs: {x: {c: %d, h: %d, w: %d}}\nlayers:\n- {op: %s}\n", c, h, w, tc.op)
		if got := cycles(read("one.yaml", []byte(yaml), anesim.OpenOptions{})); got != want {
			t.Errorf("%s: %d cycles of YAML, %d of words", tc.op, got, want)
		}
		file := ox.Model(ox.Input("x", 1, c, h, w), ox.Node(tc.operator, "y", []string{"x"}), ox.Output("y"))
		exact := read("one.onnx", file, anesim.OpenOptions{})
		got := cycles(exact)
		says := strings.Contains(strings.Join(exact.Network().Notes, "\n"), "--tables")
		if got != want && !says || got == want && says {
			t.Errorf("%s: %d cycles of ONNX, %d of words, and the notes are %q", tc.operator, got, want, exact.Network().Notes)
		}
		if tables := cycles(read("one.onnx", file, anesim.OpenOptions{Tables: true})); tables != want {
			t.Errorf("%s: %d cycles of ONNX with tables, %d of words", tc.operator, tables, want)
		}
	}
}
