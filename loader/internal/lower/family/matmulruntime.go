package family

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/rows"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerRuntimeMatMul lowers the product of two inputs. If the left side has at most sixteen rows, or
// 48, and the size of a row is a multiple of 64 bytes, the engines read the rows as weights directly
// from memory, one row for each engine and task. Otherwise each part of the rows takes a pair of tasks:
// the planar engine interleaves the rows in the order in which the engines read weights, then a 1x1
// convolution reads the rows of the right side as channels.
//
//	x [m][k] --DMA--> planar copy --DMA, interleaved--> scratch
//	y [k][n] --DMA--> tile: k channels of n pixels --> engines --> result [m][n]
//	                                 scratch --weights-------^
func lowerRuntimeMatMul(o *Output, j job) error {
	l := j.layer
	m, k, n := l.In.H, l.In.W, l.Columns
	right := layer.Shape{N: l.In.N, C: l.In.C, H: k, W: n}
	// Result, right side, left side.
	result := o.placePort(j, "y", loader.Output, place.Bar4, l.Out(), place.Surface(place.Bar4, l.Out()))
	rhs := o.placePort(j, "z", loader.Input, place.Bar5, right, place.Surface(place.Bar5, right))
	lhs := o.placePort(j, "x", loader.Input, place.Bar6, l.In, place.Surface(place.Bar6, l.In))
	fromMemory := canReadLeftRows(l)
	if !fromMemory && tryLowerAsRowChain(o, j, lhs, rhs, result) {
		return nil
	}
	to := placeBeforeActivation(o, j, result, l.Out())
	interleaved := o.Scratch           // address of the weights
	bytesOf := func(columns int) int { // of the right side in L2
		return k * place.PackedColumns(regs.Shape{Channels: 1, Width: columns}, place.EngineColumns(columns)).Channel
	}
	// Slices of columns begin at multiples of 32, or 64 bytes, to which rows in memory are padded too. (It
	// is assumed: no known program has a right side that is too large for L2.)
	columns := n
	for columns > 32 && bytesOf(columns) > l.LargestTile() {
		columns = (columns/2 + 31) &^ 31
	}
	if err := layer.CheckLimit("size in bytes of 32 columns in L2", bytesOf(columns), l.LargestTile(),
		"split the reduction until they have at most %d bytes and add the results"); err != nil {
		return err
	}
	// The right side stays in L2 between the tasks of a matrix if it fits next to the rows of the
	// left side that a task interleaves. (It is inferred: no program has several such tasks.) Up to
	// sixteen rows are a single task, which has no other to keep it for.
	whole := place.Packed(regs.Shape{Channels: k, Width: n}).Row
	room := task.Engines * task.MaxInterleave * place.Packed(regs.Shape{Channels: 1, Width: k}).Row
	keep := columns == n && m > task.Engines && whole+room <= l.LargestTile()
	for b := range l.In.N * l.In.C {
		var kept *task.Tile
		for first := 0; first < m; {
			height := min(task.Engines, m-first) // of the part, in rows
			if !fromMemory {
				height = rowsPerPair(m-first, k, min(n, columns), l.LaneBytes())
			}
			if err := layer.CheckLimit("size in bytes of the rows of the left side in L2", height*place.Packed(regs.Shape{Channels: 1, Width: k}).Channel, l.LargestTile(),
				"split the reduction until they have at most %d bytes and add the results"); err != nil {
				return err
			}
			part := place.Matrix(lhs.Bar, height, k)
			part.Base = lhs.Base + b*lhs.Plane + first*lhs.Row
			var lanes []coeff.Lane
			if fromMemory {
				lanes = rowLanes(part, height, k)
			} else {
				lanes = addInterleavingTask(o, interleaved, height, k, func(t *task.Task, at place.Layout) int {
					if kept != nil {
						at = at.Rebase(whole) // the right side is at address 0
					}
					t.LoadSource1(part, at, false)
					return at.Base + at.Row
				})
			}
			for c := 0; c < n; c += columns {
				width := min(columns, n-c)
				src, dst := place.Matrix(rhs.Bar, k, n), place.Matrix(to.Bar, height, n)
				src.Base = rhs.Base + b*rhs.Plane + c*layer.ElementBytes
				dst.Base = to.Base + b*to.Plane + first*to.Row + c*layer.ElementBytes
				bar := uint32(place.BarScratch)
				if fromMemory {
					bar = lhs.Bar
				}
				kept = multiplyInputs(o, l, src, dst, lanes, bar, height, k, width, keep, kept)
			}
			first += height
		}
	}
	return lowerActivation(o, j, l.Out(), to, result)
}

// canReadLeftRows reports whether the engines read the rows of the left side from memory as weights
// without a task that reorders them. A row must have a multiple of 64 bytes. There must be at most
// one row for each engine, or three: two pairs, for 32 and 16 rows, would be four tasks, and 16 rows a
// task are three. (In a public table, 48 rows by a transposed right side have four tasks, where 32
// and 64 have three. That these are a transpose and three of 16 rows is inferred.)
func canReadLeftRows(l *layer.Layer) bool {
	m := l.In.H
	return (m <= task.Engines || m == 3*task.Engines) && l.In.W*layer.ElementBytes%64 == 0
}

// tryLowerAsRowChain appends the tasks of a matmul of two tensors in the form of a row chain: one
// task reorders all rows of the left side, a transpose follows if the right side needs it, and each
// further task multiplies 128 rows. It reports false, and appends nothing, if that does not fit in
// L2. In a public table, [1,S,D] by transposed [1,S,D] has 3 tasks at 64 and 128 rows, 4 at 256 and
// 6 at 512, and [1,S,S] by [1,S,D] has 2, 2, 3 and 5.
func tryLowerAsRowChain(o *Output, j job, x, z, y place.Memory) bool {
	l := j.layer
	heads := l.In.N * l.In.C
	// A chain places its tiles and its scratch from address 0, so it must be the whole program. Of what it
	// makes, constants are not appended below, so a table cannot follow it. It interleaves the rows of a
	// left side that is stored as its columns for one matrix only.
	if j.at != nil || o.Scratch > 0 || l.NeedsTable() || l.TransposeX && heads > 1 {
		return false
	}
	g := rows.Group{
		Kind: rows.PairProduct, Layer: *l, Inputs: []string{"x", "z"}, Output: "y",
		Heads: heads, Rows: l.In.H, Width: l.Columns, Activation: l.Activation, Transposed: l.TransposeY,
		LeftColumns: l.TransposeX, Scale: l.Factor,
	}
	right := l.In.W
	if l.TransposeY {
		right = l.Columns
	}
	if heads*max(l.In.H, right) > layer.MaxChannels {
		return false
	}
	low, ok := rows.LowerGroup(g, []rows.Matrix{{Rows: heads * l.In.H, Width: l.In.W, At: x}, {Rows: heads * right, Width: l.In.W + l.Columns - right, At: z}}, y)
	if !ok {
		return false
	}
	o.Tasks = append(o.Tasks, low.Tasks...)
	o.Scratch = low.Scratch
	return true
}

// rowLanes returns the lanes (the weights of one engine each) for rows of k values that are stored
// at m, one row for each engine. The engines read the values of a row in the order in which memory
// holds them, as in the one known program.
func rowLanes(m place.Memory, rows, k int) []coeff.Lane {
	lanes := make([]coeff.Lane, rows)
	for i := range lanes {
		lanes[i] = coeff.Lane{Base: m.Base + i*m.Plane, Size: k * layer.ElementBytes}
	}
	return lanes
}

// rowsPerPair returns how many of the m rows of the left side one pair of tasks multiplies, at most 8
// for each engine. k is the length of a row, columns the number of result columns, and lane the size
// of an engine's memory in bytes. The only known program has 64 rows, and 4 for each engine.
func rowsPerPair(m, k, columns, lane int) int {
	if m < task.Engines {
		return m
	}
	most := task.MaxInterleave
	if columns > task.PatchPixels {
		for most > 1 && most*k*layer.ElementBytes > lane {
			most /= 2
		}
	}
	each := 1
	for 2*each <= min(most, m/task.Engines) {
		each *= 2
	}
	return each * task.Engines
}

// addInterleavingTask appends the task that copies rows of k values to the scratch buffer at offset
// base and interleaves the rows of each engine. It returns the weights of each engine. It calls
// setSource to set the source of the task. Argument at of setSource has the layout of the rows in L2
// for a source that is loaded. setSource returns the address in L2 of the buffer through which the
// result passes.
func addInterleavingTask(o *Output, base, rows, k int, setSource func(t *task.Task, at place.Layout) int) []coeff.Lane {
	in := regs.Shape{Groups: 1, Channels: rows, Height: 1, Width: k}
	each := max(1, rows/task.Engines)
	dst := place.Memory{Bar: place.BarScratch, Plane: layer.RoundUp(each*k*layer.ElementBytes, 64)}
	dst.Row = dst.Plane
	dst.Depth = dst.Plane * (rows / each)
	dst.Group = dst.Depth
	dst.Base = base
	o.Scratch = max(o.Scratch, dst.Base+dst.Depth)
	t := task.Planar{Form: regs.FormConstant, In: in}.Task()
	t.WriteInterleaved(dst, setSource(t, place.Packed(in)), each)
	o.addTask(t)
	lanes := make([]coeff.Lane, rows/each)
	for i := range lanes {
		lanes[i] = coeff.Lane{Base: dst.Base + i*dst.Plane, Size: dst.Plane}
	}
	return lanes
}

// multiplyInputs appends the task that multiplies the k x n matrix at src by the given number of
// rows and writes the products to dst. The engines load the rows as weights from buffer bar, where
// lanes says which bytes each engine loads. If keep is true, the matrix stays in L2, and
// multiplyInputs returns its tile; the next call gets it as kept.
func multiplyInputs(o *Output, l *layer.Layer, src, dst place.Memory, lanes []coeff.Lane, bar uint32, rows, k, n int, keep bool, kept *task.Tile) *task.Tile {
	in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: n}
	out := in
	out.Channels = rows
	t := newMACTask(l, task.MAC{In: in, Out: out, Window: task.Pointwise})
	t.SetKernelInBuffer(bar, lanes)
	at := t.SourceTile()
	switch {
	case kept != nil:
		at = t.KeptTile()
		t.ReadTile(kept, at)
	case keep:
		at = t.KeptTile()
		kept = t.LoadSource1(src, at, true)
	default:
		t.LoadSource1(src, at, false)
	}
	t.WriteResult(dst, at.Row)
	o.addTask(t)
	return kept
}
