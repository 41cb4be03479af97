package lower_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// integers returns n small integers as fp16 values, so that sums of their products are exact.
func integers(r *rand.Rand, n int) []float16.Float16 {
	v := make([]float16.Float16, n)
	for i := range v {
		v[i] = float16.Fromfloat32(float32(r.IntN(5) - 2))
	}
	return v
}

// A step that merges several layers feeds a second such step and another reader.
func TestNetworkMergesTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	b := newNet(t, r)
	s := layer.Shape{N: 1, C: 4, H: 3, W: 5}
	scalar := layer.Binary(layer.Mul, s, layer.Shape{N: 1, C: 1, H: 1, W: 1})
	scalar.Second = layer.Scalar
	addend := layer.Layer{Op: layer.Add, In: s, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: 4, H: 1, W: 1}}
	merged := func(x string) string {
		conv := b.layer(layer.Conv(s, 4, layer.Valid(1, 1)), layer.Weights{Filter: integers(r, 16)}, x)
		half := b.layer(scalar, layer.Weights{Second: []float16.Float16{float16.Fromfloat32(0.5)}}, conv)
		sum := b.layer(addend, layer.Weights{Second: integers(r, 4)}, half)
		return b.layer(layer.Unary(layer.ReLU, s), b.nothing, sum)
	}
	first := merged(b.input(s, false))
	b.net.Outputs = []string{b.layer(layer.Binary(layer.Add, s, s), b.nothing, first, merged(first))}
	j := b.join(true)
	if want := []int{0, 0, 0, 0, 4, 4, 4, 4, 8}; !slices.Equal(j.Into, want) {
		t.Errorf("layers are merged into %v, want %v", j.Into, want)
	}
	if out := b.net.Outputs[0]; !slices.Equal(b.fused[out], b.values[out]) {
		t.Errorf("merged layers return %v, one by one %v", b.fused[out], b.values[out])
	}
}

// The sum of rows and their ReLU is one task, and keeps that ReLU between two matmuls.
func TestNetworkRowsPlusTheirReLU(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	b := newNet(t, r)
	s := layer.Shape{N: 1, C: 1, H: 6, W: 8}
	matmul := layer.Layer{Op: layer.Linear, In: s, Columns: 8}
	x := b.layer(matmul, layer.Weights{Filter: integers(r, 64)}, b.input(s, false))
	sum := b.layer(layer.Binary(layer.Add, s, s), b.nothing, x, b.layer(layer.Unary(layer.ReLU, s), b.nothing, x))
	b.net.Outputs = []string{b.layer(matmul, layer.Weights{Filter: integers(r, 64)}, sum)}
	j := b.join(true)
	if j.Into[1] != 2 {
		t.Errorf("the ReLU is merged into layer %d, want 2", j.Into[1])
	}
}
