package arrange_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"anesim/loader/layer"
	"anesim/loader/network/internal/arrange"
	"anesim/loader/network/list"
)

// transposeElements returns elements v in the order in which transpose l writes them.
func transposeElements(v []int, l *layer.Layer) []int {
	s := l.In
	order := l.Order
	if order == [3]layer.Axes{} {
		order = [3]layer.Axes{layer.AxisW, layer.AxisH, layer.AxisC}
	}
	size := map[layer.Axes]int{layer.AxisC: s.C, layer.AxisH: s.H, layer.AxisW: s.W}
	step := map[layer.Axes]int{layer.AxisC: s.H * s.W, layer.AxisH: s.W, layer.AxisW: 1}
	var out []int
	for n := range s.N {
		for a := range size[order[0]] {
			for b := range size[order[1]] {
				for c := range size[order[2]] {
					out = append(out, v[n*s.C*s.H*s.W+a*step[order[0]]+b*step[order[1]]+c*step[order[2]]])
				}
			}
		}
	}
	return out
}

// The transposes from one order of axes to another, one after the other, take every element to
// its place. None takes more than three.
func TestTransposes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 11))
	for range 200 {
		rank := 2 + r.IntN(4)
		start, goal, size := r.Perm(rank), r.Perm(rank), map[int]int{}
		total := 1
		for a := range rank {
			size[a] = 2 + r.IntN(4)
			total *= size[a]
		}
		steps, err := arrange.Transposes(start, goal, size)
		if err != nil {
			t.Fatalf("%v to %v of %v: %v", start, goal, size, err)
		}
		v := make([]int, total)
		for i := range v {
			v[i] = i
		}
		for i := range steps {
			v = transposeElements(v, &steps[i])
		}
		if want := permuteElements(start, goal, size); !slices.Equal(v, want) {
			t.Fatalf("%v to %v of %v by %d transposes: %v, want %v", start, goal, size, len(steps), v, want)
		}
		if len(steps) > 3 || slices.Equal(start, goal) != (len(steps) == 0) {
			t.Errorf("%v to %v of %v: %d transposes", start, goal, size, len(steps))
		}
	}
}

// permuteElements returns, for each element of a tensor with its axes in order goal, the index of
// that element in order start.
func permuteElements(start, goal []int, size map[int]int) []int {
	step, s := map[int]int{}, 1
	for _, a := range slices.Backward(start) {
		step[a], s = s, s*size[a]
	}
	out := []int{0}
	for _, a := range goal {
		var next []int
		for _, at := range out {
			for i := range size[a] {
				next = append(next, at+i*step[a])
			}
		}
		out = next
	}
	return out
}

// A tensor of several blocks gets rows of another length through rows of one element of each block.
// They move far fewer bytes than rows of one element, which every length of rows divides.
func TestBlocksTurnTheirRows(t *testing.T) {
	before, after := layer.Shape{N: 1, C: 8, H: 749, W: 375}, layer.Shape{N: 1, C: 8, H: 375, W: 749}
	n := &list.Network{
		Inputs: []list.Tensor{{Name: "x", Shape: before}}, Outputs: []string{"y"},
		Layers: []list.Layer{
			{Name: "a", Op: "Relu", Inputs: []string{"x"}, Output: "a", Lower: layer.Unary(layer.ReLU, before), Out: before},
			{Name: "b", Op: "Relu", Inputs: []string{"a"}, Output: "y", Lower: layer.Unary(layer.ReLU, after), Out: after},
		},
	}
	arrange.Rearrange(n)
	if len(n.Layers) != 4 {
		t.Fatalf("%d layers; want 4", len(n.Layers))
	}
	v := make([]int, before.Elements())
	for i := range v {
		v[i] = i
	}
	want := slices.Clone(v)
	for i := 1; i < 3; i++ {
		x := &n.Layers[i]
		if x.Lower.Op != layer.Transpose || x.Lower.In.Elements() != len(v) {
			t.Fatalf("layer %d is %+v; want a transpose", i, x.Lower)
		}
		if rows := x.Out.N * x.Out.C * x.Out.H; i == 1 && (x.Out.W != 8 || rows != 749*375) {
			t.Errorf("%d rows of %d; want %d of 8", rows, x.Out.W, 749*375)
		}
		v = transposeElements(v, &x.Lower)
	}
	if !slices.Equal(v, want) {
		t.Error("the transposes change the order of elements")
	}
}
