package arrange

import (
	"container/heap"
	"fmt"
	"slices"

	"anesim/loader/layer"
)

// An arrangement is the order that axes stand in in memory, the last of them in rows: those
// from row on are x to the engine. Axes before them are N, C and H, by any cut.
type arrangement struct {
	size  []int // extents by axis
	order []int
	row   int // index in order
}

// product is the elements of axes.
func (a *arrangement) product(axes []int) int {
	e := 1
	for _, x := range axes {
		e *= a.size[x]
	}
	return e
}

// arrangements are those of a lineage's source and of the tensor in rows of a length. Axes
// that stay neighbours are one, and those of one element none.
func (a *lineage) arrangements(width int) (from, to arrangement) {
	place := make([]int, len(a.size)) // in the order of the tensor, by axis
	for i, x := range a.order {
		place[x] = i
	}
	// rowsBegin is the place in an order where rows of so many elements begin.
	rowsBegin := func(order []int, width int) int {
		k, e := len(order), 1
		for k > 0 && e < width {
			k--
			e *= a.size[order[k]]
		}
		return k
	}
	source := make([]int, len(a.size))
	for i := range source {
		source[i] = i
	}
	first, last := rowsBegin(source, a.row), rowsBegin(a.order, width)
	one := make([]int, len(a.size)) // the axis that an axis is part of
	var size []int
	for x, e := range a.size {
		merges := x > 0 && e > 1 && one[x-1] >= 0 && place[x] == place[x-1]+1 && x != first && place[x] != last &&
			size[one[x-1]]*e <= layer.MaxExtent
		switch {
		case e == 1:
			one[x] = -1
		case merges:
			one[x] = one[x-1]
			size[one[x]] *= e
		default:
			one[x] = len(size)
			size = append(size, e)
		}
	}
	arranged := func(order []int, begin int) arrangement {
		r := arrangement{size: size, row: -1}
		for i, x := range order {
			if i == begin {
				r.row = len(r.order)
			}
			if k := one[x]; k >= 0 && (len(r.order) == 0 || r.order[len(r.order)-1] != k) {
				r.order = append(r.order, k)
			}
		}
		if r.row < 0 {
			r.row = len(r.order)
		}
		return r
	}
	return arranged(source, first), arranged(a.order, last)
}

// A reached arrangement is one on the way.
type reached struct {
	arrangement
	cost int
	step layer.Layer // none where the rows alone are of another length
	from *reached
}

// frontier is a heap of arrangements by their cost, those found first first.
type frontier []*reached

func (f frontier) Len() int           { return len(f) }
func (f frontier) Less(i, j int) bool { return f[i].cost < f[j].cost }
func (f frontier) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)        { *f = append(*f, x.(*reached)) }
func (f *frontier) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}

// Bounds of the search.
const (
	maxArranged = 6       // axes
	fp16Bytes   = 2       // of an element
	taskCost    = 5 << 10 // bytes that move in the time that a task takes by itself
)

// to are the cheapest transposes to another arrangement of the same axes, not nil where
// there are any. The cost is what memory they read and write, in rows of whole 64 bytes,
// and a share for each of a batch, which is a task.
func (a arrangement) to(goal arrangement) []layer.Layer {
	if len(a.order) > maxArranged {
		return nil
	}
	key := func(order []int, row int) string { return fmt.Sprint(order, row) }
	end := key(goal.order, goal.row)
	best := map[string]int{}
	open := frontier{{arrangement: a}}
	for open.Len() > 0 {
		at := heap.Pop(&open).(*reached)
		k := key(at.order, at.row)
		if cost, ok := best[k]; ok && cost <= at.cost {
			continue
		}
		best[k] = at.cost
		if k == end {
			steps := []layer.Layer{}
			for ; at.from != nil; at = at.from {
				if at.step.Op != 0 {
					steps = append(steps, at.step)
				}
			}
			slices.Reverse(steps)
			return steps
		}
		for _, next := range at.transposed() {
			if cost, ok := best[key(next.order, next.row)]; !ok || next.cost < cost {
				heap.Push(&open, next)
			}
		}
	}
	return nil
}

// rowed are the arrangements that are the same memory in rows of another length: those
// without gaps.
func (a *reached) rowed() (list []*reached) {
	gapless := func(row int) bool { return (layer.Shape{W: a.product(a.order[row:])}).HasPackedRows() }
	if !gapless(a.row) {
		return nil
	}
	for row := range a.order {
		if row != a.row && gapless(row) && a.product(a.order[row:]) <= layer.MaxExtent {
			list = append(list, &reached{arrangement: arrangement{a.size, a.order, row}, cost: a.cost, from: a})
		}
	}
	return list
}

// transposed are the arrangements that one transpose makes, and those of the same memory.
func (a *reached) transposed() (list []*reached) {
	list = a.rowed()
	o, row := a.order, a.row
	for c := 0; c <= row; c++ {
		for h := c; h <= row; h++ {
			blocks := map[layer.Axes][]int{layer.AxisC: o[c:h], layer.AxisH: o[h:row], layer.AxisW: o[row:]}
			s := layer.Shape{N: a.product(o[:c]), C: a.product(o[c:h]), H: a.product(o[h:row]), W: a.product(o[row:])}
			for _, order := range orders {
				if !movable(s, order) {
					continue
				}
				t := layer.Unary(layer.Transpose, s)
				if order != orders[0] {
					t.Order = order
				}
				next := arrangement{a.size, slices.Concat(o[:c], blocks[order[0]], blocks[order[1]], blocks[order[2]]), 0}
				next.row = len(next.order) - len(blocks[order[2]])
				cost := a.cost + s.N*taskCost + memoryBytes(s) + memoryBytes(t.Out())
				list = append(list, &reached{next, cost, t, a})
			}
		}
	}
	return list
}

// memoryBytes is what a tensor takes in memory, in rows of whole 64 bytes.
func memoryBytes(s layer.Shape) int {
	const line = 64
	return s.N * s.C * s.H * ((fp16Bytes*s.W + line - 1) / line * line)
}
