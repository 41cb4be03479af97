package report_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/internal/report"
	"anesim/internal/samples"
)

// A result depends on nothing but its input: a model gives the same document before and after a run
// that computes values, and that run has the same time, bytes, energy and memory. Only programs with
// constants need memory for weights.
func TestResultsDependOnTheirInputOnly(t *testing.T) {
	for _, c := range []struct {
		layers  string
		weights bool
	}{
		{"- {op: relu}", false},
		{"- {op: relu}\n- {op: relu, name: b}\n- {op: add, from: [relu0, b]}", false},
		{"- {op: add, from: [x, x]}", false},
		{"- {op: transpose}", false},
		{"- {op: reduce, kind: max, axis: w}", false},
		{"- {op: concat, from: [x, x]}", false},
		{"- {op: sigmoid}", true},
		{"- {op: relu}\n- {op: sigmoid}", true},
		{"- {op: conv, cout: 8}", true},
		{"- {op: linear, n: 8}", true},
		{"- {op: softmax, axis: w}", true},
		{"- {op: conv, cout: 16, k: 3, stride: 2, pad: 1}\n- {op: relu}\n- {op: conv, cout: 8, k: 3, pad: 1}", true},
	} {
		text := "inputs: {x: {c: 4, h: 1, w: 8}}\nlayers:\n" + c.layers + "\n"
		document := func(m *anesim.Model, o anesim.Options) (*report.Network, string) {
			doc := report.NewNetwork(samples.Run(t, m, o))
			var b bytes.Buffer
			if err := report.WriteDocument(&b, doc); err != nil {
				t.Fatal(err)
			}
			return doc, b.String()
		}
		m := samples.Read(t, text)
		first, before := document(m, anesim.Options{})
		values, _ := document(m, anesim.Options{Values: true})
		alone, _ := document(samples.Read(t, text), anesim.Options{Values: true})
		_, after := document(m, anesim.Options{})
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("%s: a run after one with values (-before, +after):\n%s", c.layers, d)
		}
		want := fmt.Sprintf("%+v %+v %+v", first.Memory, first.Total, first.Cycles)
		for _, doc := range []*report.Network{values, alone} {
			if got := fmt.Sprintf("%+v %+v %+v", doc.Memory, doc.Total, doc.Cycles); got != want {
				t.Errorf("%s: with values\n%s\nwithout\n%s", c.layers, got, want)
			}
		}
		if got := first.Memory.WeightBytes > 0; got != c.weights {
			t.Errorf("%s: %d bytes of weights", c.layers, first.Memory.WeightBytes)
		}
	}
}
