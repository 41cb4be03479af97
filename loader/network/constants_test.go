package network_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	ox "anesim/internal/network/onnxtest"
	. "anesim/loader/network"
)

// A constant that is transposed, dequantized, cut or converted is a constant, however large: the
// matmul is the only layer, and has the weights of one that stores them as they are read.
func TestLargeConstantsFold(t *testing.T) {
	const k, n = 96, 30_000
	stored, turned := make([]int, k*n), make([]int, k*n)
	for i := range stored {
		stored[i] = i*7919%251 - 125
		turned[i%k*n+i/k] = stored[i] // [n][k] as [k][n]
	}
	read := func(parts ...ox.Message) (weights []uint16, notes string) {
		t.Helper()
		parts = append(parts, ox.Input("x", 1, k), ox.Constant("scale", nil, 0.25), ox.Whole("zero", 3, 1, nil, 0), ox.Output("y"),
			ox.Node("MatMul", "y", []string{"x", "w"}))
		net, err := ReadONNX(ox.Model(parts...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(net.Layers) != 1 || net.Layers[0].Reason != "" {
			t.Fatalf("%d layers, first %+v; want 1", len(net.Layers), net.Layers[0].Lower)
		}
		for _, h := range net.Layers[0].Weights.Filter {
			weights = append(weights, h.Bits())
		}
		return weights, strings.Join(net.Notes, "\n")
	}
	want, _ := read(ox.Whole("q", 3, 1, []int{k, n}, turned...), ox.Node("DequantizeLinear", "w", []string{"q", "scale", "zero"}))
	for name, parts := range map[string][]ox.Message{
		"transposed integers": {ox.Node("Transpose", "r", []string{"q"}, ox.List("perm", 1, 0)), ox.Node("DequantizeLinear", "w", []string{"r", "scale", "zero"})},
		"transposed floats":   {ox.Node("DequantizeLinear", "r", []string{"q", "scale", "zero"}), ox.Node("Transpose", "w", []string{"r"}, ox.List("perm", 1, 0))},
		"converted and cut": {
			ox.Node("DequantizeLinear", "f", []string{"q", "scale", "zero"}), ox.Node("Cast", "h", []string{"f"}, ox.Int("to", 10)), ox.Node("Transpose", "r", []string{"h"}, ox.List("perm", 1, 0)),
			ox.Ints("begin", 0), ox.Ints("end", k), ox.Ints("axes", 0), ox.Node("Slice", "w", []string{"r", "begin", "end", "axes"}),
		},
	} {
		got, notes := read(append(parts, ox.Whole("q", 3, 1, []int{n, k}, stored...))...)
		if !slices.Equal(got, want) {
			t.Errorf("%s: other weights than stored in order", name)
		}
		if strings.Contains(notes, "each call computes") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// A long chain of operators on a constant folds, too, in parts.
func TestChainOfConstantsFolds(t *testing.T) {
	const k, n = 96, 64
	values := make([]float32, k*n)
	for i := range values {
		values[i] = float32(i % 251)
	}
	parts := []ox.Message{ox.Input("x", 1, k), ox.Constant("w0", []int{k, n}, values...), ox.Output("y"), ox.Node("MatMul", "y", []string{"x", "w40"})}
	for i := range 40 {
		parts = append(parts, ox.Node("Transpose", fmt.Sprintf("w%d", i+1), []string{fmt.Sprintf("w%d", i)}, ox.List("perm", 1, 0)))
	}
	net, err := ReadONNX(ox.Model(parts...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(net.Layers) != 1 || net.Layers[0].Reason != "" {
		t.Fatalf("%d layers, first %+v; want 1", len(net.Layers), net.Layers[0])
	}
	for i, h := range net.Layers[0].Weights.Filter {
		if h.Float32() != values[i] {
			t.Fatalf("weight %d is %v; want %v", i, h, values[i])
		}
	}
}

// An operator on constants that is left to the engine is named.
func TestUnfoldedConstantsAreNamed(t *testing.T) {
	n, err := ReadONNX(ox.Model(
		ox.Input("x", 1, 8192, 8192), ox.Constant("c", []int{1, 1, 1}, 3), ox.Ints("shape", 1, 8192, 8192),
		ox.Node("Expand", "wide", []string{"c", "shape"}), ox.Node("Add", "y", []string{"x", "wide"}), ox.Output("y")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(n.Notes, func(s string) bool {
		return strings.HasPrefix(s, "each call computes operators on constants") && strings.HasSuffix(s, ": wide")
	}) {
		t.Errorf("notes %q", n.Notes)
	}
}
