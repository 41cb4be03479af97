package join

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"anesim/loader/layer"
)

// A matrixNet is a network of layers on matrices of side x side.
type matrixNet struct {
	Network
	parts map[string]*Part
}

const side = 16

var (
	matrix = layer.Shape{N: 1, C: 1, H: side, W: side}
	wide   = layer.Shape{N: 1, C: 1, H: side, W: layer.MaxExtent} // a quarter of L2
)

func newMatrixNet() *matrixNet {
	return &matrixNet{Network{Inputs: []Tensor{{Name: "x", Shape: matrix}, {Name: "z", Shape: matrix}}}, map[string]*Part{}}
}

// add adds the named operation and returns the name of its result.
func (b *matrixNet) add(t testing.TB, op string, inputs ...string) string {
	if b.parts[op] == nil {
		var l layer.Layer
		var w layer.Weights
		switch op {
		case "linear":
			l, w = layer.Layer{Op: layer.Linear, In: matrix, Columns: side}, ones(side*side)
		case "widen":
			l, w = layer.Layer{Op: layer.Linear, In: matrix, Columns: wide.W}, ones(side*wide.W)
		case "narrow":
			l, w = layer.Layer{Op: layer.Linear, In: wide, Columns: side}, ones(side*wide.W)
		case "add wide":
			l = layer.Binary(layer.Add, wide, wide)
		case "matmul":
			l = layer.Layer{Op: layer.MatMul, In: matrix, Columns: side}
		case "transpose":
			l = layer.Unary(layer.Transpose, matrix)
			l.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
		case "norm":
			l = layer.Reduction(layer.LayerNorm, matrix, layer.AxisW)
		case "add":
			l = layer.Binary(layer.Add, matrix, matrix)
		case "slice": // which no chain has
			l = layer.Layer{Op: layer.Slice, In: matrix, Size: matrix}
		}
		p, err := NewPart(l, w)
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		b.parts[op] = p
	}
	out := fmt.Sprint("t", len(b.Nodes))
	b.Nodes = append(b.Nodes, Node{Part: b.parts[op], Inputs: inputs, Output: out})
	return out
}

// addWide adds layers that need more than L2 at once.
func (b *matrixNet) addWide(t testing.TB, from string) string {
	var list []string
	for range 5 {
		list = append(list, b.add(t, "widen", from))
	}
	sum := list[0]
	for _, x := range list[1:] {
		sum = b.add(t, "add wide", sum, x)
	}
	return b.add(t, "narrow", sum)
}

// finder returns a chainFinder for the nodes as they are, without fusion.
func (b *matrixNet) finder() *chainFinder {
	var nodes []node
	for i := range b.Nodes {
		nodes = append(nodes, node{b.Nodes[i], []int{i}})
	}
	return newChainFinder(&b.Network, nodes)
}

// The search for a chain ends at the first node that no chain can have, and where a tensor is read too
// late. It finds the chains that it would find without that.
func TestSearchLosesNoChain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	found, fewer := 0, 0
	for range 200 {
		b := newMatrixNet()
		names := []string{"x", "z"}
		late := r.IntN(3) // few to many tensors that are read late
		for range 4 + r.IntN(40) {
			pick := func() string {
				if r.IntN(8) < late {
					return names[r.IntN(len(names))]
				}
				return names[len(names)-1-r.IntN(2)]
			}
			var out string
			switch op := []string{"linear", "matmul", "matmul", "matmul", "transpose", "norm", "add", "slice"}[r.IntN(8)]; op {
			case "matmul", "add":
				out = b.add(t, op, pick(), pick())
			case "slice":
				if r.IntN(3) > 0 {
					continue
				}
				fallthrough
			default:
				out = b.add(t, op, pick())
			}
			names = append(names, out)
		}
		b.Outputs = []string{names[len(names)-1]}
		if r.IntN(4) == 0 {
			b.Outputs = append(b.Outputs, names[2+r.IntN(len(names)-2)])
		}
		quick, slow := b.finder(), b.finder()
		for i := range slow.stop {
			slow.stop[i] = len(slow.nodes)
		}
		slow.last = map[string]int{}
		for i := range b.Nodes {
			_, got := quick.findChain(i)
			if _, want := slow.findChain(i); got != want {
				t.Fatalf("%v: a chain from node %d ends at %d; want %d", b.describe(), i, got, want)
			}
			if got > i {
				found++
			}
			short, _, _ := quick.collectGroups(i, firstGroups)
			long, _, _ := slow.collectGroups(i, firstGroups)
			if len(short) < len(long) {
				fewer++
			}
		}
	}
	if found < 100 || fewer < 100 {
		t.Errorf("%d chains, and %d times fewer groups; want at least 100 of each", found, fewer)
	}
}

// describe returns the nodes in words.
func (b *matrixNet) describe() (list []string) {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		list = append(list, fmt.Sprint(n.Part.Layer.Op, n.Inputs))
	}
	return append(list, fmt.Sprint(b.Outputs))
}

// A chain has as many groups as fit, however many these are.
func TestLongChains(t *testing.T) {
	for _, c := range []struct {
		before, after int // groups before and after some that do not fit
		wide          bool
	}{
		{2, 0, false}, {firstGroups, 0, false}, {firstGroups + 1, 0, false}, {5 * firstGroups, 0, false},
		{3, 3, true}, {firstGroups - 1, 3, true}, {firstGroups, 100, true}, {100, 100, true}, {301, 5, true}, {1000, 1000, true},
	} {
		b := newMatrixNet()
		at := "x"
		for range c.before {
			at = b.add(t, "norm", at)
		}
		if c.wide {
			at = b.addWide(t, at)
		}
		for range c.after {
			at = b.add(t, "norm", at)
		}
		b.Outputs = []string{at}
		f := b.finder()
		list, end := f.findChain(0)
		if len(list) != 1 || end != c.before {
			t.Errorf("%+v: %d chains up to node %d; want one up to %d", c, len(list), end, c.before)
			continue
		}
		if got := len(list[0].nodes); got != c.before || !slices.Equal(list[0].inputs, []string{"x"}) {
			t.Errorf("%+v: %d nodes that read %q; want %d that read x", c, got, list[0].inputs, c.before)
		}
	}
}

// Groups that are tried in vain are in proportion to the network, even if every chain would have to end
// at its end and does not fit.
func TestVainSearchIsBounded(t *testing.T) {
	for _, n := range []int{200, 400, 800} {
		b := newMatrixNet()
		made := []string{"x"}
		for range n { // the first result is read last
			made = append(made, b.add(t, "matmul", made[len(made)-1], "z"))
		}
		at := b.addWide(t, made[n])
		for i := n - 1; i > 0; i-- {
			at = b.add(t, "matmul", at, made[i])
		}
		b.Outputs = []string{at}
		f := b.finder()
		for i := 0; i < len(f.nodes); i++ {
			if _, end := f.findChain(i); end > i {
				i = end - 1
			}
		}
		// The last search may begin within the bound and try a few lengths.
		if most := (vainGroups + 8) * len(f.nodes); f.vain == 0 || f.vain > most {
			t.Errorf("%d nodes: %d groups in vain; want 1 to %d", len(f.nodes), f.vain, most)
		}
	}
}
