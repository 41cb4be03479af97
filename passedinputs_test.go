package anesim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/loader/network"
)

// An input that a network returns unchanged, or in another shape, is an output like others, whether or not
// the caller gives it and whether or not a program reads it. Outputs of generated inputs were missing
// without a word.
func TestInputsThatAreOutputs(t *testing.T) {
	const reshaped = "- {name: y, op: reshape, from: [x], h: 1, w: 8}\n"
	for what, layers := range map[string]string{
		"alone":                reshaped,
		"beside a layer":       reshaped + "- {name: z, op: relu, from: [v]}\n",
		"also read by a layer": reshaped + "- {name: z, op: relu, from: [x]}\n",
	} {
		text := fmt.Sprintf("inputs: {x: {c: 1, h: 8, w: 1}, v: {c: 1, h: 8, w: 1}}\nlayers:\n%s", layers)
		x := make([]float16.Float16, 8)
		for i := range x {
			x[i] = float16.Fromfloat32(float32(i))
		}
		for _, inputs := range []map[string][]float16.Float16{nil, {"x": x}} {
			n, err := network.ReadYAML([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			res, err := anesim.FromNetwork(n).Run(t.Context(), anesim.Options{Values: true, Inputs: inputs})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(res.Outputs, func(o anesim.Output) bool { return o.Port.Name == "y" })
			switch {
			case i < 0:
				t.Errorf("%s: y is not among %d outputs", what, len(res.Outputs))
			case inputs != nil && !slices.Equal(res.Outputs[i].Data, x):
				t.Errorf("%s: y is %v; want x, %v", what, res.Outputs[i].Data, x)
			case !slices.Equal(res.Outputs[i].Shape(), []int{1, 1, 1, 8}):
				t.Errorf("%s: y has shape %v; want 1 1 1 8", what, res.Outputs[i].Shape())
			}
		}
	}
}
