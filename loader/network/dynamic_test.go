package network

import (
	"slices"
	"strings"
	"testing"

	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network/list"
)

// newSelection returns a network that computes the indices of the positive rows of its input,
// followed by the given parts, which read them.
func newSelection(t *testing.T, parts ...ox.Message) *list.Network {
	t.Helper()
	n, err := ReadONNX(ox.Model(append([]ox.Message{
		ox.Input("x", 4, 6), ox.Constant("zero", nil, 0), ox.Node("Greater", "above", []string{"x", "zero"}),
		ox.Node("NonZero", "columns", []string{"above"}), ox.Node("Transpose", "rows", []string{"columns"}, ox.List("perm", 1, 0)),
		ox.Node("GatherND", "values", []string{"x", "rows"}),
	}, parts...)...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func stageOf(t *testing.T, n *list.Network, name string) *list.Stage {
	t.Helper()
	for i := range n.Layers {
		if l := &n.Layers[i]; l.Name == name && l.Host != nil {
			return l.Host
		}
	}
	t.Fatalf("the host does no layer %q of %v", name, n.Layers)
	return nil
}

// What reads a tensor whose size depends on values is the host's, at its largest as long as
// nothing has run.
func TestLargestShapes(t *testing.T) {
	for _, tc := range []struct {
		name  string
		parts []ox.Message
		want  []int
	}{
		{"values", nil, []int{24}},
		{"y", []ox.Message{ox.Node("Concat", "y", []string{"values", "values"}, ox.Int("axis", 0))}, []int{48}},
		{"y", []ox.Message{ox.Ints("to", -1, 1), ox.Node("Reshape", "y", []string{"values", "to"})}, []int{24, 1}},
		{"y", []ox.Message{ox.Ints("k", 3), ox.Node("TopK", "y", []string{"values", "k"})}, []int{3}},
		{"y", []ox.Message{ox.Node("ReduceMax", "y", []string{"values"})}, []int{1}},
		{"y", []ox.Message{ // no more than five, by a computed bound
			ox.Ints("five", 5), ox.Ints("none", 0), ox.Node("Shape", "n", []string{"values"}), ox.Node("Min", "k", []string{"n", "five"}),
			ox.Node("Slice", "y", []string{"values", "none", "k", "none"})}, []int{5}},
		{"y", []ox.Message{ // all but as many as there are
			ox.Ints("all", 24), ox.Node("Shape", "n", []string{"values"}), ox.Node("Sub", "k", []string{"all", "n"}), ox.Node("ConstantOfShape", "y", []string{"k"})}, []int{24}},
		{"y", []ox.Message{ // bounds that nothing is known of
			ox.Ints("none", 0), ox.Node("Slice", "column", []string{"rows", "none", "one", "none"}), ox.Ints("one", 1), ox.Ints("flat", -1),
			ox.Node("Reshape", "end", []string{"column", "flat"}), ox.Node("Slice", "part", []string{"end", "none", "one", "none"}),
			ox.Node("Slice", "y", []string{"x", "none", "part", "none"})}, []int{4, 6}},
	} {
		n := newSelection(t, append(tc.parts, ox.Output(tc.name))...)
		if s := stageOf(t, n, tc.name); !slices.Equal(s.Outputs[0].Dims, tc.want) {
			t.Errorf("%s has the largest shape %v, want %v", tc.name, s.Outputs[0].Dims, tc.want)
		}
		if note := strings.Join(n.Notes, "\n"); !strings.Contains(note, `"columns" depends on values; the time is for the largest, [2 24]`) {
			t.Errorf("%s: notes %q", tc.name, note)
		}
	}
}

// An extent that is the same whatever is chosen is a constant, though the tensor's others vary.
func TestSizeOfFixedAxis(t *testing.T) {
	n := newSelection(t, ox.Node("Shape", "shape", []string{"rows"}), ox.Whole("1", 7, 8, nil, 1), ox.Node("Gather", "axes", []string{"shape", "1"}),
		ox.Output("axes"), ox.Output("shape"))
	if v := n.Results[0].Numbers; !slices.Equal(v, []float64{2}) {
		t.Errorf("the second extent is %v, want 2", v)
	}
	if v := n.Results[1].Numbers; v != nil {
		t.Errorf("the shape is a constant, %v", v)
	}
	stageOf(t, n, "shape")
}

// A stage gives its results in the shape of the run, and names its node where inputs do not
// fit.
func TestStageRun(t *testing.T) {
	n := newSelection(t, ox.Ints("to", -1, 4), ox.Node("Reshape", "y", []string{"values", "to"}), ox.Output("y"))
	x := list.Array{Dims: []int{4, 6}, Numbers: make([]float64, 24)}
	for i := range x.Numbers {
		x.Numbers[i] = float64(i)
	}
	rows := func(d int, v ...float64) list.Array { return list.Array{Dims: []int{len(v) / d, d}, Numbers: v} }
	for _, tc := range []struct {
		name string
		in   []list.Array
		want list.Array
		err  string
	}{
		{"values", []list.Array{x, rows(2, 1, 2, 3, 5)}, list.Array{Dims: []int{2}, Numbers: []float64{8, 23}}, ""},
		{"values", []list.Array{x, rows(2)}, list.Array{Dims: []int{0}, Numbers: nil}, ""},
		{"values", []list.Array{x, rows(2, 4, 0)}, list.Array{}, "values: index 4 is out of range for an axis of 4 elements"},
		{"values", []list.Array{x, rows(1, 0, 0, 0, 0, 0)}, list.Array{}, "values: result 0 has shape [5 6]; want at most 24 elements"},
		{"values", []list.Array{x, rows(3, 1, 1, 1)}, list.Array{}, "values: last dimension of index shape [1 3] is out of range for data shape [4 6]; want 1 to 2"},
		{"values", []list.Array{x}, list.Array{}, `values: input "rows" is missing`},
		{"values", []list.Array{x, {Dims: []int{3, 2}, Numbers: nil}}, list.Array{}, `values: input "rows" has 0 values; want 6 for shape [3 2]`},
		{"values", []list.Array{x, rows(2, make([]float64, 50)...)}, list.Array{}, `values: input "rows" has shape [25 2]; want at most 48 elements`},
		{"y", []list.Array{{Dims: []int{8}, Numbers: x.Numbers[:8]}}, list.Array{Dims: []int{2, 4}, Numbers: x.Numbers[:8]}, ""},
		{"y", []list.Array{{Dims: []int{0}, Numbers: nil}}, list.Array{Dims: []int{0, 4}, Numbers: nil}, ""},
		{"y", []list.Array{{Dims: []int{7}, Numbers: x.Numbers[:7]}}, list.Array{}, "y: cannot reshape [7] to [-1 4]"},
	} {
		out, err := stageOf(t, n, tc.name).Run(tc.in)
		switch {
		case tc.err != "":
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s of %v: error %v, want %q", tc.name, tc.in, err, tc.err)
			}
		case err != nil:
			t.Errorf("%s of %v: %v", tc.name, tc.in, err)
		case !slices.Equal(out[0].Dims, tc.want.Dims) || !slices.Equal(out[0].Numbers, tc.want.Numbers):
			t.Errorf("%s of %v: %v, want %v", tc.name, tc.in, out[0], tc.want)
		}
	}
}

// A result whose size depends on values, and which is too long for the engine, has no shape: a
// node that reads it is not modelled.
func TestLongResultOfComputedSize(t *testing.T) {
	n, err := ReadONNX(ox.Model(ox.Input("x", 4, 512, 8192, 2, 2), ox.Node("Unique", "u", []string{"x"}), ox.Node("Relu", "y", []string{"u"})), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if y := n.Layers[len(n.Layers)-1]; y.Name != "y" || y.Reason == "" {
		t.Errorf("layer %q: %q; want y not modelled", y.Name, y.Reason)
	}
}
