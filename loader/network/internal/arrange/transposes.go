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

// fitsEngine reports whether a transpose of a tensor of shape s stays within the engine's limits on
// extents.
func fitsEngine(s layer.Shape) bool {
	return s.N <= layer.MaxGroups && max(s.C, s.H, s.W) <= layer.MaxExtent
}

// countTasks returns how many tasks put the axes of a tensor of shape s in an order. A task works on one
// element of the batch, or on one channel if batch and channels are exchanged. If it changes rows, its
// result must fit in L2 next to 128 columns of the source; the tensor is divided until it does.
func countTasks(s layer.Shape, order [3]layer.Axes) int {
	const l2, row, slice = 0x1f0000, 32, 128
	if order == layer.SwapBatch {
		return min(s.N, s.C)
	}
	other, rows := s.C, s.H
	switch order[2] {
	case layer.AxisW:
		return s.N
	case layer.AxisH:
		other, rows = s.H, s.C
	}
	up := func(n int) int { return (n + row - 1) / row * row }
	bytes := fp16Bytes * rows * (other*up(min(s.W, slice)) + s.W*up(other))
	return s.N * ((bytes + l2 - 1) / l2)
}

// Transposes returns the shortest sequence of transpose layers that changes the order of a tensor's
// axes from start to goal. start and goal list the same axes by number, outermost first. size gives
// the extent of each axis. Transposes returns an error if no sequence stays within the engine's
// limits on axis size.
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
	// Breadth first, so the first sequence found is a shortest. There are few orders: a tensor seldom has
	// more than six axes.
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
					// A transpose exchanges whole axes of the engine, each a run of the tensor's. All ways
					// to form these runs are tried.
					blocks := map[layer.Axes][]int{layer.AxisC: o[c:h], layer.AxisH: o[h:w], layer.AxisW: o[w:]}
					s := layer.Shape{N: product(o[:c]), C: product(o[c:h]), H: product(o[h:w]), W: product(o[w:])}
					if !fitsEngine(s) {
						continue
					}
					for _, order := range orders {
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
	return nil, fmt.Errorf("cannot transpose axis order %v to %v within %d elements per axis", start, goal, layer.MaxExtent)
}
