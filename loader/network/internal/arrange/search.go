package arrange

import (
	"container/heap"
	"fmt"
	"slices"

	"anesim/loader/layer"
)

// An arrangement is an order of axes in memory. The axes from index row on form the rows, which are
// x to the engine. The axes before them can be split in any way into N, C and H.
type arrangement struct {
	size  []int // extents by axis
	order []int
	row   int // index in order
}

// countElements returns the product of the extents of the given axes.
func (a *arrangement) countElements(axes []int) int {
	e := 1
	for _, x := range axes {
		e *= a.size[x]
	}
	return e
}

// endArrangements returns two arrangements of the same axes: one for the source, and one for the
// tensor that a describes, in rows of the given width. It merges axes that are neighbors in both,
// and drops axes of one element.
func (a *lineage) endArrangements(width int) (from, to arrangement) {
	place := make([]int, len(a.size)) // position in the order of the tensor, by axis
	for i, x := range a.order {
		place[x] = i
	}
	// rowsBegin returns the index in an order at which rows of width elements begin.
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
	one := make([]int, len(a.size)) // the merged axis that an axis is part of
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
	arrange := func(order []int, begin int) arrangement {
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
	return arrange(source, first), arrange(a.order, last)
}

// A searchNode is an arrangement on the way to the goal.
type searchNode struct {
	arrangement
	cost int
	step layer.Layer // zero if only the length of rows changes
	from *searchNode
}

// A frontier is a heap of nodes by cost.
type frontier []*searchNode

func (f frontier) Len() int           { return len(f) }
func (f frontier) Less(i, j int) bool { return f[i].cost < f[j].cost }
func (f frontier) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)        { *f = append(*f, x.(*searchNode)) }
func (f *frontier) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}

// Limits and costs of the search.
const (
	maxArranged = 6       // axes
	fp16Bytes   = 2       // size of an element
	taskCost    = 5 << 10 // fixed cost of a task, as bytes moved in the same time
)

// findTransposesTo returns the cheapest sequence of transposes that turns arrangement a into goal,
// which has the same axes. It returns nil if it finds none, and an empty list if no transpose is
// needed. A transpose costs the bytes that it reads and writes, with rows padded to 64 bytes, plus
// a fixed number for each task.
func (a arrangement) findTransposesTo(goal arrangement) []layer.Layer {
	if len(a.order) > maxArranged {
		return nil
	}
	key := func(order []int, row int) string { return fmt.Sprint(order, row) }
	end := key(goal.order, goal.row)
	best := map[string]int{}
	open := frontier{{arrangement: a}}
	for open.Len() > 0 {
		at := heap.Pop(&open).(*searchNode)
		k := key(at.order, at.row)
		// The heap has no way to lower a cost, so an arrangement may be in it several times. The cheapest
		// comes out first, the others are skipped.
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
		for _, next := range at.neighbors() {
			if cost, ok := best[key(next.order, next.row)]; !ok || next.cost < cost {
				heap.Push(&open, next)
			}
		}
	}
	return nil
}

// rowVariants returns the arrangements that differ from a only in the length of rows, so that no
// transpose is needed. It returns none if padding follows each row of a.
func (a *searchNode) rowVariants() (list []*searchNode) {
	gapless := func(row int) bool { return (layer.Shape{W: a.countElements(a.order[row:])}).HasPackedRows() }
	if !gapless(a.row) {
		return nil
	}
	for row := range a.order {
		if row != a.row && gapless(row) && a.countElements(a.order[row:]) <= layer.MaxExtent {
			list = append(list, &searchNode{arrangement: arrangement{a.size, a.order, row}, cost: a.cost, from: a})
		}
	}
	return list
}

// neighbors returns the arrangements that a single transpose makes from a, and those that differ
// from a only in the length of rows.
func (a *searchNode) neighbors() (list []*searchNode) {
	list = a.rowVariants()
	o, row := a.order, a.row
	for c := 0; c <= row; c++ {
		for h := c; h <= row; h++ {
			blocks := map[layer.Axes][]int{layer.AxisC: o[c:h], layer.AxisH: o[h:row], layer.AxisW: o[row:]}
			s := layer.Shape{N: a.countElements(o[:c]), C: a.countElements(o[c:h]), H: a.countElements(o[h:row]), W: a.countElements(o[row:])}
			if !fitsEngine(s) {
				continue
			}
			add := func(order [3]layer.Axes, axes []int) {
				t := layer.Unary(layer.Transpose, s)
				if order != orders[0] {
					t.Order = order
				}
				next := arrangement{a.size, axes, len(axes) - len(blocks[order[2]])}
				cost := a.cost + countTasks(s, order)*taskCost + memoryBytes(s) + memoryBytes(t.Out())
				list = append(list, &searchNode{next, cost, t, a})
			}
			for _, order := range orders {
				add(order, slices.Concat(o[:c], blocks[order[0]], blocks[order[1]], blocks[order[2]]))
			}
			if c > 0 && c < h && h < row && s.C <= layer.MaxGroups {
				add(layer.SwapBatch, slices.Concat(o[c:h], o[:c], o[h:]))
			}
		}
	}
	return list
}

// memoryBytes returns the size in bytes of a tensor in memory, where each row is padded to a
// multiple of 64 bytes.
func memoryBytes(s layer.Shape) int {
	const line = 64
	return s.N * s.C * s.H * ((fp16Bytes*s.W + line - 1) / line * line)
}
