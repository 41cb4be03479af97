package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	ox "anesim/loader/network/onnx/onnxtest"
)

// An output behind a layer that is not modelled is lost, another is not. What the host does
// is done.
func TestCoverage(t *testing.T) {
	const all = 2 * (800 + 3*1024)
	for _, tc := range []struct {
		op   string
		want Coverage
	}{
		{"Det", Coverage{Nodes: 4, Done: 2, MACs: 2048, DoneMACs: 2048, Bytes: 2*(800+1024) + 1024, DoneBytes: 2 * (800 + 1024), Unsized: 2, Lost: []Loss{{"c", 2}}}},
		{"Hardmax", Coverage{Nodes: 4, Done: 4, MACs: 2048, DoneMACs: 2048, Bytes: all, DoneBytes: all, Hosted: 1}},
	} {
		n, err := ReadONNX(ox.Model(
			ox.Input("x", 1, 4, 8, 8), ox.Constant("w", []int{8, 4, 1, 1}, zeros(32)...),
			ox.Node("Conv", "a", in("x", "w")), ox.Node(tc.op, "b", in("a")), ox.Node("Relu", "c", in("b")), ox.Node("Tanh", "d", in("a")),
			ox.Output("c"), ox.Output("d"),
		), Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, reasons, _ := Lower(t.Context(), n, Lowering{Seed: 1})
		if d := cmp.Diff(tc.want, CoverageOf(n, reasons)); d != "" {
			t.Errorf("%s: (-want +got):\n%s", tc.op, d)
		}
	}
}

// Names of dimensions have to be given sizes, and a branch that a size decides is read.
func TestDims(t *testing.T) {
	file := ox.Model(
		ox.Input("x", 0, 4, 0, 8), ox.Output("y"),
		ox.Node("Relu", "y", in("x")),
	)
	_, err := ReadONNX(file, Options{Dims: map[string]int{"other": 1}})
	if want := `no dimension is called other`; err == nil || err.Error() != want {
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

// Bytes are those of operands and results; a node of unknown shape is counted and said to
// have none.
func TestCoverageBytes(t *testing.T) {
	n, err := ReadONNX(ox.Model(
		ox.Input("x", 1, 4, 8, 8), ox.Constant("w", []int{8, 4, 1, 1}, zeros(32)...),
		ox.Node("Conv", "a", in("x", "w")), ox.Node("Unheard", "b", in("a")), ox.Node("Relu", "c", in("b")),
		ox.Output("c"),
	), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := Lower(t.Context(), n, Lowering{Seed: 1})
	c := CoverageOf(n, reasons)
	conv := uint64(2 * (4*64 + 32 + 8*64))
	if c.Nodes != 3 || c.Done != 1 || c.DoneBytes != conv || c.Bytes != conv+2*8*64 || c.Unsized != 2 || c.Whole() {
		t.Errorf("%+v", c)
	}
	list, err := ReadYAML([]byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {op: conv, cout: 8}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c = CoverageOf(list, []string{""}); c.Bytes != conv || c.DoneBytes != conv || !c.Whole() {
		t.Errorf("list of layers: %+v", c)
	}
}
