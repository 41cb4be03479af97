package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/layer"
)

// turned transposes channels and columns of the engine's shape.
func (n *nodeReader) turned(x operand) (operand, error) {
	s := x.shape()
	return n.layer(layer.Unary(layer.Transpose, s), layer.Weights{}, []int{s.N, s.W, s.H, s.C}, x.as(s.N, s.C, s.H, s.W))
}

// errAxes is a permutation that would take too many steps to find.
var errAxes = errors.New("a permutation of more than six axes that matter")

// permuted puts axes in another order: a task puts C, H and W in any, with any cut of the
// axes into four runs. The fewest tasks are found by breadth; extents keep to the engine's
// limits.
func (n *nodeReader) permuted(x operand, perm []int) (operand, error) {
	result := make([]int, len(perm))
	var start, goal []int // axes of more than one element
	for i, p := range perm {
		result[i] = x.dims[p]
		if x.dims[p] > 1 {
			goal = append(goal, p)
		}
		if x.dims[i] > 1 {
			start = append(start, i)
		}
	}
	// Neighbours that stay neighbours are one axis where that is no more than a row holds.
	size := map[int]int{}
	for _, a := range start {
		size[a] = x.dims[a]
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
		return x.as(result...), nil
	}
	if len(start) > 6 {
		return x, errAxes
	}
	steps, err := transposes(start, goal, size)
	if err != nil {
		return x, err
	}
	for _, t := range steps {
		if x, err = n.layer(t, layer.Weights{}, nil, x); err != nil {
			return x, err
		}
	}
	return x.as(result...), nil
}

// orders are what one transpose makes of C, H and W.
var orders = [...][3]layer.Axes{
	{layer.AxisW, layer.AxisH, layer.AxisC}, {layer.AxisC, layer.AxisW, layer.AxisH}, {layer.AxisH, layer.AxisC, layer.AxisW},
	{layer.AxisH, layer.AxisW, layer.AxisC}, {layer.AxisW, layer.AxisC, layer.AxisH},
}

// movable reports whether one task can put a shape's axes in an order: within the
// extents of rows, and two rows that change places within the L2.
func movable(s layer.Shape, order [3]layer.Axes) bool {
	const l2, row = 0x1f0000, 32
	if s.N > layer.MaxGroups || max(s.C, s.H, s.W) > layer.MaxExtent {
		return false
	}
	other := s.C
	switch order[2] {
	case layer.AxisW:
		return true
	case layer.AxisH:
		other = s.H
	}
	up := func(n int) int { return (n + row - 1) / row * row }
	return fp16Bytes*(other*up(s.W)+s.W*up(other)) <= l2
}

// transposes are the fewest transposes from one order of axes to another.
func transposes(start, goal []int, size map[int]int) ([]layer.Layer, error) {
	type state struct {
		order []int
		from  int
		step  layer.Layer
	}
	product := func(axes []int) int {
		e := 1
		for _, a := range axes {
			e *= size[a]
		}
		return e
	}
	queue := []state{{order: start, from: -1}}
	seen := map[string]bool{fmt.Sprint(start): true}
	for at := 0; at < len(queue); at++ {
		o := queue[at].order
		if slices.Equal(o, goal) {
			var steps []layer.Layer
			for k := at; queue[k].from >= 0; k = queue[k].from {
				steps = append(steps, queue[k].step)
			}
			slices.Reverse(steps)
			return steps, nil
		}
		for c := 0; c < len(o); c++ {
			for h := c + 1; h < len(o); h++ {
				for w := h; w < len(o); w++ {
					blocks := map[layer.Axes][]int{layer.AxisC: o[c:h], layer.AxisH: o[h:w], layer.AxisW: o[w:]}
					s := layer.Shape{N: product(o[:c]), C: product(o[c:h]), H: product(o[h:w]), W: product(o[w:])}
					for _, order := range orders {
						if !movable(s, order) {
							continue
						}
						next := slices.Concat(o[:c], blocks[order[0]], blocks[order[1]], blocks[order[2]])
						if key := fmt.Sprint(next); !seen[key] {
							seen[key] = true
							t := layer.Unary(layer.Transpose, s)
							if order != orders[0] {
								t.Order = order
							}
							queue = append(queue, state{next, at, t})
						}
					}
				}
			}
		}
	}
	return nil, fmt.Errorf("no transposes of axes within %d elements", layer.MaxExtent)
}
