package join

import (
	"fmt"
	"testing"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// newConv returns a part that convolves an image of 8x8 pixels with a window of 1x1.
func newConv(t *testing.T, batch, channels, cout int) *Part {
	t.Helper()
	l := layer.Conv(layer.Shape{N: batch, C: channels, H: 8, W: 8}, cout, layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
	p, err := NewPart(l, ones(channels*cout))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newConcat(t *testing.T, batch int, parts ...int) *Part {
	t.Helper()
	s := layer.Shape{N: batch, H: 8, W: 8}
	for _, c := range parts {
		s.C += c
	}
	p, err := NewPart(layer.Layer{Op: layer.Concat, In: s, Parts: parts}, layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConcatenationsInPlace counts the copies of concatenations: none where each input can be
// written to its channels of the result, and one for each other input.
func TestConcatenationsInPlace(t *testing.T) {
	conv := func(batch, channels, cout int, in, out string) Node {
		return Node{Part: newConv(t, batch, channels, cout), Inputs: []string{in}, Output: out}
	}
	concat := func(batch int, parts []int, out string, in ...string) Node {
		return Node{Part: newConcat(t, batch, parts...), Inputs: in, Output: out}
	}
	for _, tc := range []struct {
		name    string
		batch   int
		nodes   []Node
		outputs []string
		copies  int
		into    int // node that does the work of the last concatenation, if it has no copies
	}{
		{"two branches", 1, []Node{conv(1, 8, 4, "x", "a"), conv(1, 8, 6, "x", "b"), concat(1, []int{4, 6}, "c", "a", "b"), conv(1, 10, 4, "c", "y")}, []string{"y"}, 0, 1},
		{"a block in which each layer reads all before", 1, []Node{
			conv(1, 8, 4, "x", "a"), conv(1, 4, 3, "a", "b"), concat(1, []int{4, 3}, "ab", "a", "b"),
			conv(1, 7, 3, "ab", "c"), concat(1, []int{7, 3}, "abc", "ab", "c"),
			conv(1, 10, 3, "abc", "d"), concat(1, []int{10, 3}, "abcd", "abc", "d"), conv(1, 13, 4, "abcd", "y"),
		}, []string{"y"}, 0, 5},
		{"an input of the network", 1, []Node{conv(1, 8, 4, "x", "a"), concat(1, []int{8, 4}, "c", "x", "a"), conv(1, 12, 4, "c", "y")}, []string{"y"}, 1, 1},
		{"the same tensor twice", 1, []Node{conv(1, 8, 4, "x", "a"), concat(1, []int{4, 4}, "c", "a", "a"), conv(1, 8, 4, "c", "y")}, []string{"y"}, 2, 1},
		{"a tensor in two results", 1, []Node{
			conv(1, 8, 4, "x", "a"), conv(1, 8, 4, "x", "b"), concat(1, []int{4, 4}, "c", "a", "b"), concat(1, []int{4, 4}, "d", "b", "a"),
			conv(1, 8, 4, "c", "y"), conv(1, 8, 4, "d", "z"),
		}, []string{"y", "z"}, 2, 3},
		{"an output of the network", 1, []Node{conv(1, 8, 4, "x", "a"), conv(1, 8, 4, "x", "b"), concat(1, []int{4, 4}, "c", "a", "b"), conv(1, 8, 4, "c", "y")}, []string{"y", "b"}, 1, 2},
		{"a result that is an output", 1, []Node{conv(1, 8, 4, "x", "a"), conv(1, 8, 4, "x", "b"), concat(1, []int{4, 4}, "c", "a", "b")}, []string{"c"}, 2, 2},
		{"a batch of two", 2, []Node{conv(2, 8, 4, "x", "a"), conv(2, 8, 4, "x", "b"), concat(2, []int{4, 4}, "c", "a", "b"), conv(2, 8, 4, "c", "y")}, []string{"y"}, 2, 2},
	} {
		for _, inMemory := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in memory %t", tc.name, inMemory), func(t *testing.T) {
				n := &Network{Inputs: []Tensor{{Name: "x", Shape: layer.Shape{N: tc.batch, C: 8, H: 8, W: 8}}}, Nodes: tc.nodes, Outputs: tc.outputs, InMemory: inMemory}
				j, err := n.Join()
				if err != nil {
					t.Fatal(err)
				}
				copies, last := 0, 0
				for i := range tc.nodes {
					if tc.nodes[i].Part.Layer.Op != layer.Concat {
						continue
					}
					last = i
					copies += j.Nodes[i].Tasks
				}
				if copies != tc.copies {
					t.Errorf("%d copies; want %d", copies, tc.copies)
				}
				if tc.copies == 0 && j.Into[last] != tc.into {
					t.Errorf("node %d does the work of the last concatenation; want %d", j.Into[last], tc.into)
				}
			})
		}
	}
}

// TestRelease2023Concatenates checks that the compiler of 2023 copies what later releases write in place.
func TestRelease2023Concatenates(t *testing.T) {
	for release, want := range map[layer.Release]int{layer.Newest: 0, layer.Release2023: 2} {
		n := &Network{Inputs: []Tensor{{Name: "x", Shape: layer.Shape{N: 1, C: 8, H: 8, W: 8}}}, Nodes: []Node{
			{Part: newConv(t, 1, 8, 4), Inputs: []string{"x"}, Output: "a"}, {Part: newConv(t, 1, 8, 4), Inputs: []string{"x"}, Output: "b"},
			{Part: newConcat(t, 1, 4, 4), Inputs: []string{"a", "b"}, Output: "c"}, {Part: newConv(t, 1, 8, 4), Inputs: []string{"c"}, Output: "y"},
		}, Outputs: []string{"y"}}
		for i := range n.Nodes {
			n.Nodes[i].Part.Layer.Release = release
		}
		j, err := n.Join()
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Nodes[2].Tasks; got != want {
			t.Errorf("release %v: %d copies; want %d", release, got, want)
		}
	}
}

// TestInPlaceWritesItsChannels checks where a producer writes if its result is a part of another
// tensor in memory: behind the planes of the parts before it.
func TestInPlaceWritesItsChannels(t *testing.T) {
	shared := newConv(t, 1, 8, 4) // the same part twice, whose weights are stored once
	n := &Network{
		Inputs: []Tensor{{Name: "x", Shape: layer.Shape{N: 1, C: 8, H: 8, W: 8}}},
		Nodes: []Node{
			{Part: shared, Inputs: []string{"x"}, Output: "a"}, {Part: shared, Inputs: []string{"x"}, Output: "b"},
			{Part: newConcat(t, 1, 4, 4), Inputs: []string{"a", "b"}, Output: "c"}, {Part: newConv(t, 1, 8, 4), Inputs: []string{"c"}, Output: "y"},
		},
		Outputs: []string{"y"}, InMemory: true,
	}
	j := newJoiner(n)
	for _, do := range []func() error{j.makeSteps, j.assignPorts, j.packAllWeights} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	j.concatenateInPlace()
	tasks, _, _ := j.placeSteps()
	if len(tasks) != 3 {
		t.Fatalf("%d tasks; want 3", len(tasks))
	}
	const plane = 8 * 64 // rows of 16 bytes take 64
	for i, want := range []int{0, 4 * plane} {
		if m, _, _, _, _ := tasks[i].MemoryOf(task.OperandResult); m.Bar != regs.BARScratch || m.Base != want {
			t.Errorf("task %d writes to buffer %d at %#x; want the scratch buffer at %#x", i, m.Bar, m.Base, want)
		}
	}
	_, a := tasks[0].Registers()
	_, b := tasks[1].Registers()
	if a.KernelDMASrc.CoeffBaseAddr != b.KernelDMASrc.CoeffBaseAddr {
		t.Errorf("the weights of one part are at %v and %v", a.KernelDMASrc.CoeffBaseAddr, b.KernelDMASrc.CoeffBaseAddr)
	}
}
