package randomprogram

import "slices"

// emitSlice emits a slice_by_index. The definition is that of Python's slices.
func (g *generator) emitSlice() {
	x := g.pickVariable(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	n := len(d)
	begin, end, stride := make([]int, n), make([]int, n), make([]int, n)
	first, last, drop := make([]bool, n), make([]bool, n), make([]bool, n)
	start, step := make([]int, n), make([]int, n)
	out := []int{}
	strided := g.tossCoin()
	for i, e := range d {
		stride[i] = 1
		if strided {
			stride[i] = []int{1, 1, 2, 3, -1, -2}[g.IntN(6)]
		}
		begin[i], end[i] = g.IntN(e), e
		first[i], last[i], drop[i] = g.IntN(4) == 0, g.IntN(4) == 0, g.IntN(6) == 0
		if drop[i] {
			start[i], step[i] = begin[i], 0
			if first[i] = false; g.tossCoin() {
				begin[i] -= e
			}
			end[i] = g.IntN(e + 1)
			if stride[i] < 0 {
				stride[i] = 1
			}
			continue
		}
		if start[i], step[i] = begin[i], stride[i]; first[i] {
			if start[i] = 0; stride[i] < 0 {
				start[i] = e - 1
			}
		}
		size := 0
		if stride[i] > 0 {
			stop := e
			if !last[i] {
				stop = start[i] + 1 + g.IntN(e-start[i])
				if end[i] = stop; stop < e && g.tossCoin() {
					end[i] -= e
				} else if stop == e && g.IntN(4) == 0 {
					end[i] += 3
				}
			}
			size = (stop - start[i] + stride[i] - 1) / stride[i]
		} else {
			stop := -1 // before the first element
			if !last[i] {
				if start[i] == 0 {
					last[i] = true
				} else {
					stop = g.IntN(start[i])
					if end[i] = stop; g.tossCoin() {
						end[i] -= e
					}
				}
			}
			size = (start[i] - stop - stride[i] - 1) / -stride[i]
		}
		if g.tossCoin() {
			begin[i] -= e
		}
		out = append(out, size)
	}
	args := []string{g.formatInts("begin", begin), g.formatInts("end", end)}
	if !allEqual(stride, 1) || g.tossCoin() {
		args = append(args, g.formatInts("stride", stride))
	}
	for i, mask := range [][]bool{first, last, drop} {
		if slices.Contains(mask, true) {
			args = append(args, g.formatBools([]string{"begin_mask", "end_mask", "squeeze_mask"}[i], mask))
		}
	}
	g.emitMove("slice_by_index", x, out, args, newCopyFunc(d, out, func(at []int) []int {
		from, k := make([]int, n), 0
		for i := range n {
			if from[i] = start[i]; !drop[i] {
				from[i] += step[i] * at[k]
				k++
			}
		}
		return from
	}))
}

func (g *generator) emitSliceBySize() {
	x := g.pickVariable(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	start, begin, size, out := make([]int, len(d)), make([]int, len(d)), make([]int, len(d)), make([]int, len(d))
	for i, e := range d {
		start[i] = g.IntN(e)
		begin[i] = g.maybeNegativeAxis(start[i], e)
		out[i] = 1 + g.IntN(e-start[i])
		if size[i] = out[i]; g.IntN(3) == 0 {
			size[i], out[i] = -1, e-start[i]
		}
	}
	g.emitMove("slice_by_size", x, out, []string{g.formatInts("begin", begin), g.formatInts("size", size)}, newCopyFunc(d, out, func(at []int) []int {
		for i := range at {
			at[i] += start[i]
		}
		return at
	}))
}

func (g *generator) emitCrop() {
	x := g.pickFloatValue(3, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	n := len(d)
	rows, columns := g.IntN(d[n-2]), g.IntN(d[n-1])
	below, right := g.IntN(d[n-2]-rows), g.IntN(d[n-1]-columns)
	out := concatenate(d[:n-2], []int{d[n-2] - rows - below, d[n-1] - columns - right})
	g.emitMove("crop", x, out, []string{g.formatInts("crop_height", []int{rows, below}), g.formatInts("crop_width", []int{columns, right})}, newCopyFunc(d, out, func(at []int) []int {
		at[n-2] += rows
		at[n-1] += columns
		return at
	}))
}
