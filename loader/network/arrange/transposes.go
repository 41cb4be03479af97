package arrange

import (
	"fmt"
	"slices"

	"anesim/loader/layer"
)

// orders lists the orders in which one transpose can put C, H and W.
var orders = [...][3]layer.Axes{
	{layer.AxisW, layer.AxisH, layer.AxisC}, {layer.AxisC, layer.AxisW, layer.AxisH}, {layer.AxisH, layer.AxisC, layer.AxisW},
	{layer.AxisH, layer.AxisW, layer.AxisC}, {layer.AxisW, layer.AxisC, layer.AxisH},
}

// fitsOneTask reports whether one task can put a shape's axes in an order. Extents must be
// within the engine's limit. A transpose that changes rows must fit in L2.
func fitsOneTask(s layer.Shape, order [3]layer.Axes) bool {
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

// Transposes returns the shortest sequence of transpose layers that changes the order of a tensor's
// axes from start to goal. start and goal list the same axes by number, outermost first. size gives
// the extent of each axis. Transposes returns an error if no sequence stays within the engine's
// limits on axis size and L2 memory.
func Transposes(start, goal []int, size map[int]int) ([]layer.Layer, error) {
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
						if !fitsOneTask(s, order) {
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
	return nil, fmt.Errorf("cannot transpose axis order %v to %v within %d elements per axis and the L2 memory", start, goal, layer.MaxExtent)
}
