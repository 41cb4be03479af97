package join

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// ones returns n weights of 1.
func ones(n int) layer.Weights {
	w := layer.Weights{Filter: make([]float16.Float16, n)}
	for i := range w.Filter {
		w.Filter[i] = 0x3c00
	}
	return w
}

// The weights of a matmul are packed once: in its row chain, or by the part if it is on its own.
func TestWeightsArePackedOnce(t *testing.T) {
	part := func(l layer.Layer, w layer.Weights) *Part {
		p, err := NewPart(l, w)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	s := layer.Shape{N: 1, C: 1, H: 64, W: 128}
	product := part(layer.Layer{Op: layer.Linear, In: s, Columns: 128}, ones(128*128))
	slice := layer.Layer{Op: layer.Slice, In: s, Size: s}
	for _, tc := range []struct {
		name  string
		nodes []Node
		alone bool
	}{
		{"a chain", []Node{{Part: product, Inputs: []string{"x"}, Output: "a"}, {Part: product, Inputs: []string{"a"}, Output: "y"}}, false},
		{"by itself", []Node{{Part: product, Inputs: []string{"x"}, Output: "a"}, {Part: part(slice, layer.Weights{}), Inputs: []string{"a"}, Output: "y"}}, true},
	} {
		var first *Part
		for range 2 {
			j, err := (&Network{Inputs: []Tensor{{Name: "x", Shape: s}}, Nodes: tc.nodes, Outputs: []string{"y"}}).Join()
			if err != nil {
				t.Fatal(err)
			}
			if len(j.Builder.Constants) == 0 || uint64(len(j.Builder.Constants)) != j.Builder.ConstantBytes {
				t.Errorf("%s: %d bytes of constants of %d", tc.name, len(j.Builder.Constants), j.Builder.ConstantBytes)
			}
			if len(product.output.Constants.Data) > 0 {
				t.Errorf("%s: %d bytes are packed before the part is placed", tc.name, len(product.output.Constants.Data))
			}
			if alone := product.packed != nil; alone != tc.alone {
				t.Errorf("%s: packed by itself %t, want %t", tc.name, alone, tc.alone)
			}
			if first == nil {
				first = product.packed
			}
			if product.packed != first {
				t.Errorf("%s: packed again", tc.name)
			}
		}
	}
}

// TestMergedPartsDependOnOrder merges a sum and a ReLU in both orders in one network: x + relu(x)
// reads one input, relu(x + z) two.
func TestMergedPartsDependOnOrder(t *testing.T) {
	sum, err := NewPart(layer.Binary(layer.Add, pixels, pixels), layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	relu, err := NewPart(layer.Unary(layer.ReLU, pixels), layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{
		Inputs: []Tensor{{Name: "x", Shape: pixels}, {Name: "z", Shape: pixels}},
		Nodes: []Node{
			{Part: relu, Inputs: []string{"x"}, Output: "r"}, {Part: sum, Inputs: []string{"x", "r"}, Output: "s"},
			{Part: sum, Inputs: []string{"x", "z"}, Output: "q"}, {Part: relu, Inputs: []string{"q"}, Output: "t"},
		},
		Outputs: []string{"s", "t"},
	}
	nodes, err := n.fuseNodes()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range nodes {
		l := &x.Part.Layer
		got = append(got, fmt.Sprintf("%s(%s): %v of %d operands, then %v", x.Output, strings.Join(x.Inputs, ", "), l.Op, len(x.Part.inputs), l.Activation))
	}
	want := []string{"s(x): add of 1 operands, then Op(0)", "t(x, z): add of 2 operands, then relu"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("merged layers (-want +got):\n%s", d)
	}
}

// A row chain gets its weights after the limits of a program are checked: a network that is cut
// into programs is joined several times.
func TestRefusedNetworkPacksNothing(t *testing.T) {
	s := layer.Shape{N: 1, C: 1, H: 64, W: 128}
	product, err := NewPart(layer.Layer{Op: layer.Linear, In: s, Columns: 128}, ones(128*128))
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{Inputs: []Tensor{{Name: "x", Shape: s}}, Outputs: []string{"y"},
		Nodes: []Node{{Part: product, Inputs: []string{"x"}, Output: "a"}, {Part: product, Inputs: []string{"a"}, Output: "y"}}}
	j := newJoiner(n)
	for _, step := range []func() error{j.makeSteps, j.assignPorts, j.checkTaskCount} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if len(j.steps) != 1 || j.steps[0].chain == nil || len(j.steps[0].part.output.Constants.Data) > 0 {
		t.Errorf("%d steps with %d bytes of weights, want one row chain without", len(j.steps), len(j.steps[0].part.output.Constants.Data))
	}
	if err := j.packAllWeights(); err != nil || len(j.steps[0].part.output.Constants.Data) < 2*128*128*2 {
		t.Errorf("%v, %d bytes of weights, want those of two layers", err, len(j.steps[0].part.output.Constants.Data))
	}
}
