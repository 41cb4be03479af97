package network_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	ox "anesim/internal/network/onnxtest"
	. "anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// runOnDistinct runs a network of one program on an input whose elements all differ. It returns the
// input and the result.
func runOnDistinct(t *testing.T, n *list.Network, scale float32) (in, out []float16.Float16) {
	t.Helper()
	in = make([]float16.Float16, n.Inputs[0].Shape.Elements())
	for i := range in {
		in[i] = float16.Fromfloat32(float32(i+1) * scale)
	}
	return in, runProgram(t, n, in)
}

// runProgram runs a network of one program on an input and returns the result.
func runProgram(t *testing.T, n *list.Network, in []float16.Float16) []float16.Float16 {
	t.Helper()
	programs, reasons, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
	if len(programs) != 1 || slices.ContainsFunc(reasons, func(s string) bool { return s != "" }) {
		t.Fatalf("%d programs, %q, %s\n%+v", len(programs), reasons, programs[len(programs)-1].Why, n.Layers)
	}
	res, err := anesim.Run(programs[0].Program, anesim.Options{Chip: hw.M1(), Values: true, Inputs: map[string][]float16.Float16{n.Inputs[0].Name: in}})
	if err != nil || len(res.Outputs) != 1 {
		t.Fatalf("%v: %+v", err, res)
	}
	return res.Outputs[0].Data
}

// Views and transposes between two layers, whatever they are, are one program, and every
// value gets to its place.
func TestRearrangedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	factors := func(e int) (dims []int) { // e as a product of up to four
		for range 3 {
			var d []int
			for k := 1; k <= e; k++ {
				if e%k == 0 {
					d = append(d, k)
				}
			}
			k := d[r.IntN(len(d))]
			dims = append(dims, k)
			e /= k
		}
		return append(dims, e)
	}
	for range 150 {
		e := []int{24, 60, 64, 96, 210, 256, 1536}[r.IntN(7)]
		dims := factors(e)
		parts := []ox.Message{ox.Input("x", append([]int{1}, dims[1:]...)...)}
		if dims[0] != 1 {
			dims = []int{1, dims[0] * dims[1], dims[2], dims[3]}
			parts[0] = ox.Input("x", dims...)
		}
		parts = append(parts, ox.Node("Relu", "a", []string{"x"}))
		want := make([]int, e) // places in x
		for i := range want {
			want[i] = i
		}
		at := "a"
		for k := range 1 + r.IntN(3) {
			view, perm := factors(e), r.Perm(4)
			shape, next, turned := at+"s", at+"r", at+"t"
			parts = append(parts, ox.Ints(shape, view...), ox.Node("Reshape", next, []string{at, shape}))
			if k == 2 {
				at = next
				break
			}
			parts = append(parts, ox.Node("Transpose", turned, []string{next}, ox.List("perm", perm...)))
			want, at = permuteElements(want, view, perm), turned
		}
		parts = append(parts, ox.Ints("last", factors(e)...), ox.Node("Reshape", "b", []string{at, "last"}),
			ox.Node("Relu", "y", []string{"b"}), ox.Output("y"))
		n, err := ReadONNX(ox.Model(parts...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		in, out := runOnDistinct(t, n, 1)
		for i := range out {
			if out[i] != in[want[i]] {
				t.Fatalf("element %d is %v, want %v\n%+v", i, out[i], in[want[i]], n.Layers)
			}
		}
	}
}

// permuteElements returns the elements of a tensor with its axes in another order.
func permuteElements(v, dims, perm []int) []int {
	step, s := make([]int, len(dims)), 1
	for i := len(dims) - 1; i >= 0; i-- {
		step[i], s = s, s*dims[i]
	}
	out := make([]int, len(v))
	for i := range out {
		from, rest := 0, i
		for k := len(perm) - 1; k >= 0; k-- {
			from += rest % dims[perm[k]] * step[perm[k]]
			rest /= dims[perm[k]]
		}
		out[i] = v[from]
	}
	return out
}

// Attention's heads are apart in memory, not in rows: a product of each by its own.
func TestHeadsOfAttention(t *testing.T) {
	const tokens, heads, width = 8, 4, 32
	const each = width / heads
	split := func(parts []ox.Message, name string, perm ...int) []ox.Message {
		return append(parts, ox.Node("Reshape", name+"r", []string{"a", "apart"}), ox.Node("Transpose", name, []string{name + "r"}, ox.List("perm", perm...)))
	}
	parts := []ox.Message{ox.Input("x", 1, tokens, width), ox.Node("Relu", "a", []string{"x"}), ox.Ints("apart", 1, tokens, heads, each), ox.Ints("whole", 1, tokens, width)}
	parts = split(split(split(parts, "q", 0, 2, 1, 3), "k", 0, 2, 3, 1), "v", 0, 2, 1, 3)
	parts = append(parts,
		ox.Constant("small", nil, 1.0/16), ox.Node("MatMul", "s", []string{"q", "k"}), ox.Node("Mul", "m", []string{"s", "small"}),
		ox.Node("MatMul", "c", []string{"m", "v"}), ox.Node("Mul", "d", []string{"c", "small"}),
		ox.Node("Transpose", "t", []string{"d"}, ox.List("perm", 0, 2, 1, 3)), ox.Node("Reshape", "w", []string{"t", "whole"}),
		ox.Node("Relu", "y", []string{"w"}), ox.Output("y"))
	n, err := ReadONNX(ox.Model(parts...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, out := runOnDistinct(t, n, 1.0/64)
	x := func(token, head, i int) float64 { return float64(in[token*width+head*each+i].Float32()) }
	for h := range heads {
		for q := range tokens {
			for i := range each {
				want := 0.0
				for k := range tokens {
					score := 0.0
					for j := range each {
						score += float64(x(q, h, j) * x(k, h, j))
					}
					want += float64(score / 16 * x(k, h, i))
				}
				want /= 16
				if got := float64(out[q*width+h*each+i].Float32()); !(got > want*0.99 && got < want*1.01) {
					t.Fatalf("head %d, token %d, element %d: %g, want %g", h, q, i, got, want)
				}
			}
		}
	}
}

// A transpose of the last two axes of a large matrix is one layer, not two by way of rows of one
// element, which memory pads to 64 bytes.
func TestLargeTransposeIsOneLayer(t *testing.T) {
	for _, dims := range [][]int{{1, 512, 1024}, {1, 1024, 512}, {1, 1500, 384}, {2, 1500, 1500}} {
		n, err := ReadONNX(ox.Model(ox.Input("x", dims...), ox.Output("y"), ox.Node("Transpose", "y", []string{"x"}, ox.List("perm", 0, 2, 1))), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(n.Layers) != 1 {
			t.Errorf("transpose of %v: %d layers; want 1", dims, len(n.Layers))
			continue
		}
		in := make([]float16.Float16, n.Inputs[0].Shape.Elements())
		for i := range in {
			in[i] = float16.Frombits(uint16(i % 30011))
		}
		rows, columns := dims[1], dims[2]
		for i, y := range runProgram(t, n, in) {
			k, column, row := i/(rows*columns), i%(rows*columns)/rows, i%rows
			if want := in[(k*rows+row)*columns+column]; y != want {
				t.Errorf("transpose of %v: element %d is %#x; want %#x", dims, i, y, want)
				break
			}
		}
	}
}

// The relative shift of attention, which files spell with a padding, views and slices, is one layer
// and moves every score to its place. A shift whose result has some of the zeros is not.
func TestRelativeShift(t *testing.T) {
	for _, tt := range []struct{ heads, queries, positions, keys, layers int }{
		{8, 20, 39, 20, 1}, {3, 75, 149, 75, 1}, {1, 9, 17, 5, 1}, {2, 6, 11, 11, -1}, // 11 keys of the first row go on into the zero of the second
	} {
		h, q, p, k := tt.heads, tt.queries, tt.positions, tt.keys
		n, err := ReadONNX(ox.Model(
			ox.Input("x", 1, h, q, p), ox.Output("y"),
			ox.Ints("pads", 0, 0, 0, 1, 0, 0, 0, 0), ox.Node("Pad", "a", []string{"x", "pads"}),
			ox.Ints("tall", 1, h, p+1, q), ox.Node("Reshape", "b", []string{"a", "tall"}),
			ox.Ints("from", 1), ox.Ints("end", p+1), ox.Ints("rows", 2), ox.Node("Slice", "c", []string{"b", "from", "end", "rows"}),
			ox.Ints("wide", 1, h, q, p), ox.Node("Reshape", "d", []string{"c", "wide"}),
			ox.Ints("first", 0), ox.Ints("keys", k), ox.Ints("columns", 3), ox.Node("Slice", "y", []string{"d", "first", "keys", "columns"}),
		), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if one := len(n.Layers) == 1; one != (tt.layers == 1) {
			t.Errorf("%+v: %d layers", tt, len(n.Layers))
		}
		in, out := runOnDistinct(t, n, 1./256)
		padded := make([]float16.Float16, 0, h*q*(p+1))
		for row := range h * q {
			padded = append(append(padded, 0), in[row*p:][:p]...)
		}
		for i, y := range out {
			head, row, column := i/(q*k), i/k%q, i%k
			if want := padded[head*q*(p+1)+q+row*p+column]; y != want {
				t.Errorf("%+v: element %d is %v; want %v", tt, i, y, want)
				break
			}
		}
	}
}
