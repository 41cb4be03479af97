package list_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// newReLU returns a ReLU layer that reads a tensor with eight channels.
func newReLU(name, from string) list.Layer {
	l := layer.Unary(layer.ReLU, layer.Shape{N: 1, C: 8, H: 1, W: 1})
	return list.Layer{Name: name, Inputs: []string{from}, Output: name, Lower: l, Out: l.Out()}
}

// newHosted returns a layer that the host computes.
func newHosted(name string, from ...string) list.Layer {
	return list.Layer{Name: name, Inputs: from, Output: name, Reason: "no form", Host: &list.Stage{}}
}

func layerNames(n *list.Network) (names []string) {
	for i := range n.Layers {
		names = append(names, n.Layers[i].Name)
	}
	return names
}

// Stages of the host that rest on inputs alone go ahead of the engine's layers, those whose
// results none of these reads behind them, and layers that were made in vain are left out.
func TestListOrdersStages(t *testing.T) {
	b := list.NewBuilder()
	b.Input("x", layer.Shape{N: 1, C: 8, H: 1, W: 1})
	b.Add(newReLU("a", "x"))
	b.Add(newHosted("chosen", "a"))
	b.Add(newReLU("b", "a"))
	b.Add(newHosted("table", "x"))
	vain := newReLU("vain", "b")
	vain.Spare = true
	b.Add(vain)
	b.Add(newHosted("between", "b"))
	b.Add(newReLU("c", "between"))
	b.Net.Results = []list.Output{{Name: "c", Tensor: "c"}, {Name: "chosen", Tensor: "chosen"}, {Name: "table", Tensor: "table"}}
	n := b.Network()
	if want := []string{"table", "a", "b", "between", "c", "chosen"}; !slices.Equal(layerNames(n), want) {
		t.Errorf("%q, want %q", layerNames(n), want)
	}
	if !slices.Equal(n.Outputs, []string{"c", "chosen", "table"}) {
		t.Errorf("outputs %q", n.Outputs)
	}
	if err := n.Check(); err != nil {
		t.Error(err)
	}
}

// A view is the tensor that it is of, and has as many elements.
func TestReshape(t *testing.T) {
	b := list.NewBuilder()
	b.Input("x", layer.Shape{N: 1, C: 8, H: 1, W: 1})
	if err := b.Reshape("view", "x", layer.Shape{N: 1, C: 2, H: 2, W: 2}); err != nil {
		t.Fatal(err)
	}
	if err := b.Reshape("again", "view", layer.Shape{N: 1, C: 1, H: 1, W: 8}); err != nil || b.TensorOf("again") != "x" {
		t.Errorf("%v: the values of a view's view are in %q, want x", err, b.TensorOf("again"))
	}
	if err := b.Reshape("larger", "x", layer.Shape{N: 1, C: 9, H: 1, W: 1}); err == nil {
		t.Error("a view of nine of eight elements")
	}
	b.Add(newReLU("a", "again"))
	if in := b.Net.Layers[0].Inputs[0]; in != "x" {
		t.Errorf("a reads %q, want x", in)
	}
}

func TestCheck(t *testing.T) {
	n := &list.Network{Inputs: []list.Tensor{{Name: "x"}}, Layers: []list.Layer{newReLU("b", "a"), newReLU("a", "x")}}
	var e *list.OrderError
	if err := n.Check(); !errors.As(err, &e) || e.Layer != "b" || e.Tensor != "a" {
		t.Errorf("%v, want b to read a", err)
	}
	slices.Reverse(n.Layers)
	if err := n.Check(); err != nil {
		t.Error(err)
	}
}

// Tidy leaves out constants that nobody reads, and counts the layers of nodes.
func TestTidy(t *testing.T) {
	a, b := newReLU("a", "x"), newReLU("b", "kept")
	a.Node, b.Node = 1, 1
	n := &list.Network{Layers: []list.Layer{a, b}, Nodes: make([]list.Node, 2)}
	n.Constants = map[string][]float16.Float16{"kept": nil, "gone": nil}
	n.Tidy()
	if _, gone := n.Constants["gone"]; gone || len(n.Constants) != 1 {
		t.Errorf("constants %v", n.Constants)
	}
	if x := n.Nodes; x[1].First != 0 || x[1].Layers != 2 || x[0].What != "folded" || x[1].What != "" {
		t.Errorf("%+v", x)
	}
}

// A reason that shows a long list of the file keeps its beginning and its end.
func TestLongReasons(t *testing.T) {
	b := list.NewBuilder()
	b.Missing(list.Layer{Name: "a"}, nil, "axes "+strings.Repeat("é", 1<<20)+" are too many")
	b.Missing(list.Layer{Name: "b"}, nil, "not supported")
	got := b.Net.Layers[0].Reason
	if len(got) > 410 || !strings.HasPrefix(got, "axes é") || !strings.HasSuffix(got, " are too many") || !utf8.ValidString(got) {
		t.Errorf("reason of %d bytes: %q", len(got), got)
	}
	if got := b.Net.Layers[1].Reason; got != "not supported" {
		t.Errorf("short reason became %q", got)
	}
}
