package choose

import (
	"errors"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/internal/arrange"
)

// swapChannelsAndColumns adds a transpose that exchanges the channels and columns of x, viewed as
// an N, C, H, W tensor.
func (n *Chooser) swapChannelsAndColumns(x Operand) (Operand, error) {
	s := x.shape()
	return n.addLayer(layer.Unary(layer.Transpose, s), layer.Weights{}, []int{s.N, s.W, s.H, s.C}, x.As(s.N, s.C, s.H, s.W))
}

// errAxes reports a permutation whose sequence of layers would take too long to find.
var errAxes = errors.New("permutation exceeds the limit of 6 axes after merging adjacent axes")

// permute adds layers that reorder the axes of x, and returns the result: axis i of the result is
// axis perm[i] of x. One layer can put C, H and W in any order, for any grouping of the axes into
// four. The shortest sequence of such layers is found by a breadth-first search that keeps extents
// within the engine's limits.
func (n *Chooser) permute(x Operand, perm []int) (Operand, error) {
	result := make([]int, len(perm))
	var start, goal []int // axes of more than one element
	for i, p := range perm {
		result[i] = x.Dims[p]
		if x.Dims[p] > 1 {
			goal = append(goal, p)
		}
		if x.Dims[i] > 1 {
			start = append(start, i)
		}
	}
	// Merge axes that stay next to each other. With six axes or fewer, only do so while the
	// merged axis fits in a row.
	size := map[int]int{}
	for _, a := range start {
		size[a] = x.Dims[a]
	}
	for i := 0; i+1 < len(start); {
		at := slices.Index(goal, start[i])
		if at+1 < len(goal) && goal[at+1] == start[i+1] && (len(start) > 6 || size[start[i]]*size[start[i+1]] <= layer.MaxExtent) {
			size[start[i]] *= size[start[i+1]]
			goal = slices.Delete(goal, at+1, at+2)
			start = slices.Delete(start, i+1, i+2)
			continue
		}
		i++
	}
	if slices.Equal(start, goal) {
		return x.As(result...), nil
	}
	if len(start) > 6 {
		return x, errAxes
	}
	steps, err := arrange.Transposes(start, goal, size)
	if err != nil {
		return x, err
	}
	for _, t := range steps {
		if x, err = n.addLayer(t, layer.Weights{}, nil, x); err != nil {
			return x, err
		}
	}
	return x.As(result...), nil
}
