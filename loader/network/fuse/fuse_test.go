package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/fuse"
	"anesim/loader/network/list"
)

var shape = layer.Shape{N: 1, C: 2, H: 1, W: 4}

func halves(v ...float32) []float16.Float16 {
	out := make([]float16.Float16, len(v))
	for i, x := range v {
		out[i] = float16.Fromfloat32(x)
	}
	return out
}

// behind is a convolution of two channels to two whose weights are w, and layers one behind the
// other after it.
func behind(w []float16.Float16, after ...list.Layer) *list.Network {
	conv := layer.Conv(shape, 2, layer.Valid(1, 1))
	n := &list.Network{Layers: []list.Layer{{Name: "conv", Inputs: []string{"x"}, Output: "conv", Lower: conv, Out: shape, Weights: layer.Weights{Filter: w}}}}
	last := "conv"
	for _, l := range after {
		l.Inputs, l.Output, l.Out = []string{last}, l.Name, shape
		n.Layers = append(n.Layers, l)
		last = l.Name
	}
	n.Outputs = []string{last}
	return n
}

func constant(name string, op layer.Op, v ...float32) list.Layer {
	return list.Layer{
		Name: name, Lower: layer.Layer{Op: op, In: shape, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: 2, H: 1, W: 1}},
		Weights: layer.Weights{Second: halves(v...)},
	}
}

func activation(op layer.Op) list.Layer {
	return list.Layer{Name: op.String(), Lower: layer.Unary(op, shape)}
}

// Factors go into weights, addends into the bias, and activations into the descriptor, as long
// as each comes before the next and fp16 has the products.
func TestLayers(t *testing.T) {
	rounds := constant("add", layer.Add, 1, 1)
	rounds.Rounds = true
	weights := halves(1, 2, 3, 4)
	for _, tc := range []struct {
		name   string
		n      *list.Network
		want   string // layers with what each does as well
		filter []float16.Float16
		bias   []float16.Float16
	}{
		{"a factor a channel", behind(weights, constant("mul", layer.Mul, 2, -1)), "conv+mul", halves(2, 4, -3, -4), nil},
		{"an addend behind it", behind(weights, constant("mul", layer.Mul, 2, 1), constant("add", layer.Add, 5, 6), activation(layer.ReLU)),
			"conv+mul+add+relu", halves(2, 4, 3, 4), halves(5, 6)},
		{"a factor of sums", behind(weights, constant("add", layer.Add, 5, 6), constant("mul", layer.Mul, 2, 2)), "conv+add+mul", halves(2, 4, 6, 8), halves(10, 12)},
		{"products below fp16", behind(weights, constant("mul", layer.Mul, 1e-5, 1)), "conv mul", weights, nil},
		{"products beyond fp16", behind(halves(1, 2, 3, 60000), constant("mul", layer.Mul, 2, 2)), "conv mul", halves(1, 2, 3, 60000), nil},
		{"an addend that rounds", behind(weights, rounds), "conv add", weights, nil},
		{"a factor behind a rectifier", behind(weights, activation(layer.ReLU), constant("mul", layer.Mul, 2, 2)), "conv+relu mul", weights, nil},
	} {
		fuse.Layers(tc.n)
		var got []string
		for _, l := range tc.n.Layers {
			got = append(got, strings.Join(append([]string{l.Name}, l.Folded...), "+"))
		}
		w := &tc.n.Layers[0].Weights
		if strings.Join(got, " ") != tc.want || !slices.Equal(w.Filter, tc.filter) || !slices.Equal(w.Bias, tc.bias) {
			t.Errorf("%s: %q with %v and %v, want %q with %v and %v", tc.name, got, w.Filter, w.Bias, tc.want, tc.filter, tc.bias)
		}
	}
}

// What another layer or a result reads stays as it is.
func TestLayersReadTwice(t *testing.T) {
	n := behind(halves(1, 2, 3, 4), constant("mul", layer.Mul, 2, 2))
	n.Outputs = append(n.Outputs, "conv")
	if fuse.Layers(n); len(n.Layers) != 2 {
		t.Errorf("%d layers, want 2", len(n.Layers))
	}
}
