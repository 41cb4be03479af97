package anesim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/loader/network"
)

// TestPrecisionNotes holds what a run says of values that fp16 has no room for: the first
// layer that overflows, and nothing of the layers behind it or of a run that stays finite.
func TestPrecisionNotes(t *testing.T) {
	const text = `inputs: {x: {c: 2, h: 1, w: 4}}
layers:
  - {name: first, op: add, value: 1}
  - {name: second, op: mul, value: 60000}
  - {name: third, op: sub, value: 1}
`
	for _, tc := range []struct {
		name string
		x    float32
		want string // "" for no note
	}{
		{"finite", 0, ""},
		{"overflow", 1, "layer second, descriptor 1: 8 of 8 results are beyond fp16"},
		{"infinite input", float32(float16.Inf(1).Float32()), "layer first, descriptor 0: 8 of 8 results are beyond fp16; the largest finite magnitude is 0; its input has infinities or NaNs already"},
	} {
		n, err := network.ReadYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float16.Float16, 8)
		for i := range x {
			x[i] = float16.Fromfloat32(tc.x)
		}
		for _, inMemory := range []bool{false, true} {
			n.InMemory = inMemory
			res, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(res.PrecisionNotes(), "\n")
			if (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s, in memory %v: notes %q, want %q", tc.name, inMemory, got, tc.want)
			}
		}
	}
}

// TestSmallWeights holds that weights below 2^-13 are counted by their share of the norm.
func TestSmallWeights(t *testing.T) {
	n, err := network.ReadYAML([]byte("inputs: {x: {c: 1, h: 1, w: 4}}\nlayers:\n  - {name: p, op: matmul, n: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	small := float16.Fromfloat32(3e-5)
	n.Layers[0].Weights.Filter = []float16.Float16{small, small, small, float16.Fromfloat32(1.5e-4)}
	res, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{Values: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(res.PrecisionNotes(), "\n")
	if want := "1 layer has 1% or more of the norm of the weights there, p the most (32."; !strings.Contains(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
}
