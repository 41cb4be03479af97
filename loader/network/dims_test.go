package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/network/graph"
	nt "anesim/internal/network/neuraltest"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network/list"
)

// TestUnknownDims gives sizes to dimensions that are all named "?", which stands for no name.
func TestUnknownDims(t *testing.T) {
	v := onnx.Value{Name: "x", Type: onnx.Float, Dims: []onnx.Dim{{Name: "?"}, {Size: 3}, {Name: "?"}, {Name: "?"}}}
	b := newBinder(map[string]int{"x:2": 48, "x:3": 320}, v)
	if got := b.bindDims(v); !slices.Equal(got, []int{1, 3, 48, 320}) || b.checkNames() != nil {
		t.Errorf("the sizes are %v, %v; want [1 3 48 320]", got, b.checkNames())
	}
	b = newBinder(nil, v)
	b.bindDims(v)
	want := `dimensions have no size: "x:2" of input "x", "x:3" of input "x"; want sizes such as x:2=224,x:3=224`
	if err := b.checkNames(); err == nil || err.Error() != want {
		t.Errorf("without sizes: %v; want %s", err, want)
	}
}

// TestUnsetBatch reads an input whose batch has no size: it is 1, and a note says so.
func TestUnsetBatch(t *testing.T) {
	model := ox.Model(ox.Input("x", 0, 4, 8, 8), ox.Output("y"), ox.Node("Relu", "y", []string{"x"}))
	for _, c := range []struct {
		sizes map[string]int
		note  bool
	}{{nil, true}, {map[string]int{"batch": 1}, false}, {map[string]int{"batch": 2}, false}} {
		net, err := ReadONNX(model, Options{Dims: c.sizes})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(net.Notes, `batch dimension "batch" has no size in the file and is 1`); got != c.note {
			t.Errorf("with sizes %v, notes %q; want a note: %v", c.sizes, net.Notes, c.note)
		}
	}
}

// The message on dimensions without a size invents none but 1 for a batch and the side of an image,
// and names the inputs that decide which branch runs.
func TestNeededDims(t *testing.T) {
	x := onnx.Value{Name: "x", Type: onnx.Float, Dims: []onnx.Dim{{Size: 1}, {}}}
	state := onnx.Value{Name: "state", Type: onnx.Float, Dims: []onnx.Dim{{Size: 2}, {}, {Size: 128}}}
	rate := onnx.Value{Name: "rate", Type: onnx.Int64, Dims: []onnx.Dim{}}
	values := map[string]*graph.Value{}
	for _, name := range []string{"x", "state", "rate", "b"} {
		values[name] = &graph.Value{Name: name}
	}
	m := &graph.Model{Inputs: []graph.Port{x, state, rate}, Values: values}
	m.Nodes = []*graph.Node{
		{Op: "Equal", In: []*graph.Value{values["rate"]}, Out: []*graph.Value{values["b"]}},
		{Op: "If", In: []*graph.Value{values["b"]}},
	}
	b := newBinder(nil, m.Inputs...)
	for _, in := range m.Inputs {
		b.bindDims(in)
	}
	var e *DimError
	if !errors.As(b.checkNames(), &e) {
		t.Fatal("no error")
	}
	e.Deciding = findConditionInputs(m, nil)
	want := `dimensions have no size: "x:1" of input "x", "state:1" of input "state"; the value of input "rate" may decide which branch of an If runs; want sizes such as x:1=SIZE,state:1=1,rate=VALUE`
	if e.Error() != want {
		t.Errorf("%v\nwant %s", e, want)
	}
	if list := findConditionInputs(m, map[string]int{"rate": 16000}); list != nil {
		t.Errorf("%q decide, although given", list)
	}
}

// Names of dimensions have to be given sizes, and a branch that a size decides is read.
func TestDims(t *testing.T) {
	file := ox.Model(
		ox.Input("x", 0, 4, 0, 8), ox.Output("y"),
		ox.Node("Relu", "y", names("x")),
	)
	_, err := ReadONNX(file, Options{Dims: map[string]int{"other": 1}})
	if want := `unknown dimension other; the network has batch`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	n, err := ReadONNX(file, Options{Dims: map[string]int{"batch": 2}})
	if err != nil || !cmp.Equal(n.Inputs[0].Dims, []int{2, 4, 2, 8}) {
		t.Errorf("%v %+v", err, n)
	}
	sizes, err := ParseDims("N=1,height=640")
	if d := cmp.Diff(map[string]int{"N": 1, "height": 640}, sizes); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for _, bad := range []string{"", "N", "N=", "=1", "N=-1", "N=1,N=2", "N=99999999999"} {
		if _, err := ParseDims(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// An input of any shape has the axes for which the user gives sizes.
func TestInputsOfAnyShape(t *testing.T) {
	files := map[string]func(o Options) (*list.Network, error){
		"ONNX": func(o Options) (*list.Network, error) {
			return ReadONNX(ox.Model(ox.Message{}.Bytes(11, ox.Message{}.Text(1, "x").Bytes(2, ox.Message{}.Bytes(1, ox.Message{}.Int(1, 1)))), ox.Node("Relu", "y", []string{"x"}), ox.Output("y")), o)
		},
		"layers": func(o Options) (*list.Network, error) {
			return ReadCoreML(nt.Model(nt.Join(nt.Input("x"), nt.Output("y")), true, nt.Layer("y", 760, nil, []string{"x"}, []string{"y"})), o)
		},
	}
	for name, read := range files {
		for _, dims := range [][]int{{5}, {2, 3}, {1, 4, 6, 8}, {2, 1, 4, 2, 8}} {
			sizes := map[string]int{}
			for i, d := range dims {
				sizes[fmt.Sprintf("x:%d", i)] = d
			}
			n, err := read(Options{Dims: sizes})
			if err != nil || !slices.Equal(n.Inputs[0].Dims, dims) || !slices.Equal(n.Results[0].Dims, dims) {
				t.Errorf("%s, %v: %v", name, dims, err)
			}
			delete(sizes, "x:0") // a gap
			if _, err := read(Options{Dims: sizes}); err == nil || !strings.Contains(err.Error(), "x:0=1,x:1=SIZE") {
				t.Errorf("%s without the first axis of %v: %v", name, dims, err)
			}
		}
	}
}

// TestLengthsOfCache reads an attention with past keys whose filled part only inputs say. It is known where
// the file says that the cache grows by the new keys, or where the inputs have values; any other is refused.
func TestLengthsOfCache(t *testing.T) {
	for _, c := range []struct {
		present int // positions in the result, 0 if the file leaves them open
		sizes   map[string]int
		reason  string
	}{
		{8, nil, ""},
		{6, nil, "the cache keeps its 6 positions; want constants (of inputs: --dim last=7,total=8)"},
		{0, nil, "no shape says how many of 6 past positions are filled; want constants (of inputs: --dim last=7,total=8)"},
		{0, map[string]int{"last": 7, "total": 8}, ""},
		{6, map[string]int{"last": 4, "total": 5}, ""},
	} {
		n, err := ReadONNX(ox.Model(ox.Input("q", 1, 2, 16), ox.Input("k", 1, 2, 8), ox.Input("v", 1, 2, 8), ox.Input("keys", 1, 2, 6, 4), ox.Input("values", 1, 2, 6, 4),
			ox.InputOf(6, "last", 1), ox.InputOf(6, "total", 1), ox.Output("y", 1, 2, 16), ox.Output("keys2", 1, 2, c.present, 4), ox.Output("values2", 1, 2, c.present, 4),
			ox.SeveralOf("com.microsoft", "GroupQueryAttention", names("y", "keys2", "values2"), names("q", "k", "v", "keys", "values", "last", "total"), ox.Int("num_heads", 4), ox.Int("kv_num_heads", 2))), Options{Dims: c.sizes})
		if err != nil {
			t.Fatal(err)
		}
		reason := ""
		for _, l := range n.Layers {
			reason += l.Reason
		}
		if !strings.HasSuffix(reason, c.reason) || (c.reason == "") != (reason == "") {
			t.Errorf("%d positions, %v: reason %q; want %q", c.present, c.sizes, reason, c.reason)
		}
	}
}
