package choose

import (
	"errors"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/arrange"
)

// turned transposes channels and columns of the engine's shape.
func (n *Chooser) turned(x Operand) (Operand, error) {
	s := x.shape()
	return n.layer(layer.Unary(layer.Transpose, s), layer.Weights{}, []int{s.N, s.W, s.H, s.C}, x.As(s.N, s.C, s.H, s.W))
}

// errAxes is a permutation that would take too many steps to find.
var errAxes = errors.New("a permutation of more than six axes that matter")

// permuted puts axes in another order: a task puts C, H and W in any, with any cut of the
// axes into four runs. The fewest tasks are found by breadth; extents keep to the engine's
// limits.
func (n *Chooser) permuted(x Operand, perm []int) (Operand, error) {
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
	// Neighbours that stay neighbours are one axis where that is no more than a row holds.
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
		if x, err = n.layer(t, layer.Weights{}, nil, x); err != nil {
			return x, err
		}
	}
	return x.As(result...), nil
}
