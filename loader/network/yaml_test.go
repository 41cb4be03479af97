package network

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

func readExample(t *testing.T, name string) *list.Network {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "tools", "anesim", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	n, err := ReadYAML(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Multiply-accumulates of convolutions and matrix products as the literature counts them:
// 4.09 G and 0.300 G at 224x224.
func TestMACsOfKnownNetworks(t *testing.T) {
	for _, tc := range []struct {
		name   string
		macs   uint64
		layers int
		out    layer.Shape
	}{
		{"resnet50.yaml", 4_089_184_256, 72, layer.Shape{N: 1, C: 1, H: 1, W: 1000}},
		{"mobilenetv2.yaml", 300_774_272, 64, layer.Shape{N: 1, C: 1, H: 1, W: 1000}},
		{"transformer.yaml", 4*128*768*768 + 2*12*128*128*64 + 2*128*768*3072, 16, layer.Shape{N: 1, C: 1, H: 128, W: 768}},
	} {
		n := readExample(t, tc.name)
		if got := n.MACs(); got != tc.macs {
			t.Errorf("%s: %d MACs, want %d", tc.name, got, tc.macs)
		}
		if got := len(n.Layers); got != tc.layers {
			t.Errorf("%s: %d layers, want %d", tc.name, got, tc.layers)
		}
		if got := n.Layers[len(n.Layers)-1].Out; got != tc.out {
			t.Errorf("%s: result %v, want %v", tc.name, got, tc.out)
		}
	}
}

func TestFolding(t *testing.T) {
	const head = "inputs: {x: {c: 4, h: 2, w: 2}}\nlayers:\n- {name: a, op: conv, cout: 4}\n"
	for _, tc := range []struct {
		name, layers string
		want         []string
	}{
		{"factor, addend, rectifier", "- {name: b, op: mul, second: constant}\n- {name: c, op: add, second: constant}\n- {name: d, op: relu}", []string{"a b c d"}},
		{"nothing behind a rectifier", "- {name: b, op: relu}\n- {name: c, op: relu}", []string{"a b", "c"}},
		{"read twice", "- {name: b, op: relu}\n- {name: c, op: sub, from: [a, b]}", []string{"a", "b", "c"}},
		{"a sum with itself rectified", "- {name: b, op: relu}\n- {name: c, op: add, from: [a, b]}", []string{"a", "c b"}},
		{"an output", "- {name: b, op: relu}\noutputs: [a, b]", []string{"a", "b"}},
		{"a table", "- {name: b, op: gelu}", []string{"a b"}},
		{"a view between", "- {name: v, op: reshape, c: 2, h: 4, w: 2}\n- {name: b, op: relu}", []string{"a b"}},
		{"channels of a view", "- {name: v, op: reshape, c: 2, h: 4, w: 2}\n- {name: b, op: add, second: constant}", []string{"a", "b"}},
	} {
		n, err := ReadYAML([]byte(head + tc.layers))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []string
		for _, l := range n.Layers {
			got = append(got, strings.Join(append([]string{l.Name}, l.Folded...), " "))
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// A layer beyond the engine's limits stays in the list, and its shape with it.
func TestLimitIsNoError(t *testing.T) {
	n, err := ReadYAML([]byte("inputs: {x: {w: 20000}}\nlayers:\n- {op: pool, kh: 1, kw: 3}\n- {op: slice, axis: w, size: 8}"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(n.Layers[0].Reason, "at most 16384") || n.Layers[1].Out.W != 8 {
		t.Errorf("%+v", n.Layers)
	}
}

func FuzzReadYAML(f *testing.F) {
	f.Add([]byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {op: conv, cout: 4, k: 3, pad: same}\n- {op: relu}\noutputs: relu1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkEnlarged(t, data, true, len(data), len(data), func(b []byte) error { _, err := ReadYAML(b); return err })
		n, err := ReadYAML(data)
		var format *list.FormatError
		switch {
		case err == nil:
			checkNetwork(t, n)
		case !errors.As(err, &format):
			t.Fatalf("%T: %v", err, err)
		case format.Line < 1 || strings.Contains(err.Error(), "\n"):
			t.Fatalf("%+q", err.Error())
		}
	})
}

// checkNetwork makes sure that layers read what there is, and that results have shapes.
func checkNetwork(t *testing.T, n *list.Network) {
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	for i := range n.Layers {
		if l := &n.Layers[i]; l.Reason == "" && list.CheckShape(l.Out) != nil {
			t.Fatalf("layer %q: result %v", l.Name, l.Out)
		}
	}
}
