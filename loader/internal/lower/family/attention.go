package family

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// An Attention is a matmul of queries and keys, a softmax over the scores of each query, and a
// matmul of the result and values.
//
//	scores = Scores(q, k)    [head][query][key]
//	y      = Values(softmax(scores), v)
//
// Networks that store tensors with a row for each channel compute the transposes of these products
// instead, so that keys or values are on the left side.
type Attention struct {
	Scores, Values layer.Layer // matmuls of two inputs
	Softmax        layer.Layer
	Weights        *layer.Weights // tables of the softmax
	KeysLeft       bool           // scores = Scores(k, q), [head][key][query], and the softmax is over rows
	ValuesLeft     bool           // y = Values(v, softmax(scores)), [head][value][query]
}

// queryBlock is the number of queries whose scores are in L2 at a time if the result has a row for
// each query. More would need another layout of the weights of the second matmul, see [lanes.Most].
const queryBlock = task.PatchPixels

// IsLarge reports whether the scores of all heads do not fit in L2, so that they would go through
// memory between the layers.
func (a *Attention) IsLarge() bool {
	return a.Softmax.In.Elements()*layer.ElementBytes > a.Softmax.LargestTile()
}

// LowerAttention lowers a for queries in blocks, so that scores never leave L2. The scores are
// computed as columns, with a channel for each key and a pixel for each query: keys are the weights,
// and the queries are transposed to be the source. The softmax is then over channels, and its result
// is the source of the second matmul, whose weights are the transposed values. Apple's compiler
// has the values as weights and the probabilities as source too, in a chain of GPT-2; the blocks are
// inferred.
//
//	k --interleave--> scratch                     once for each head
//	v --transpose--> L2 --interleave--> scratch
//	q --transpose--> columns --matmul--> scores --softmax--> powers --matmul--> rows of y
//
// A tensor whose rows are already those that the engines read, queries or values with a row for each
// channel and keys with a row for each position, is not transposed.
//
// The ports are x, z and v, for the queries, the keys and the values, and y. LowerAttention reports
// false if it does not support the layers or if they do not fit.
func LowerAttention(a *Attention) (*Output, bool) {
	first, second, soft := &a.Scores, &a.Values, &a.Softmax
	l := newAttention(a)
	p := layer.Shape{N: first.In.N, C: first.In.C, H: l.m, W: l.n}
	axis := layer.AxisW
	if a.KeysLeft {
		p.H, p.W, axis = l.n, l.m, layer.AxisH
	}
	switch {
	case first.Second != layer.Runtime || second.Second != layer.Runtime || soft.Axes != axis,
		// The scores must be read as they are stored.
		!a.ValuesLeft && (second.TransposeX != a.KeysLeft || second.In.H != l.m || second.In.W != l.n),
		a.ValuesLeft && (second.TransposeY == a.KeysLeft || second.In.W != l.n || second.Columns != l.m),
		first.Activation != 0 || second.Activation != 0 || soft.Activation != 0,
		// Only the release of 2023 does not divide attention.
		first.Release == layer.Release2023 || len(a.Weights.Table) != coeff.TableBytes || len(a.Weights.Reciprocal) != coeff.TableBytes,
		soft.In != p || second.In.N*second.In.C != p.N*p.C, checkMaximumChannels(l.n) != nil:
		return nil, false
	}
	o := &Output{Constants: coeff.Section{SizesOnly: a.Weights.SizesOnly}, target: first.Target}
	l.output = o
	port := func(name string, dir loader.Direction, bar uint32, rows, columns int, swap bool) place.Memory {
		s := layer.Shape{N: first.In.N, C: first.In.C, H: rows, W: columns}
		if swap {
			s.H, s.W = s.W, s.H
		}
		return o.placePort(job{}, name, dir, bar, s, place.Surface(bar, s))
	}
	// Buffers are numbered in this order, as for single matmuls: the result comes first.
	l.y = port("y", loader.Output, place.Bar4, l.m, l.e, a.ValuesLeft)
	l.q = port("x", loader.Input, place.Bar5, l.m, l.d, l.queryColumns)
	l.k = port("z", loader.Input, place.Bar6, l.n, l.d, l.keyColumns)
	l.v = port("v", loader.Input, place.Bar6+1, l.n, l.e, l.valueColumns)
	if !l.chooseBlock() {
		return nil, false
	}
	for head := range p.N * p.C {
		if !l.lowerHead(head) || len(o.Tasks) > task.MaxTasks {
			return nil, false
		}
	}
	return o, task.FirstError(o.Tasks) == nil
}

// An attention holds the state of LowerAttention: the extents of a head, which has m queries and n
// keys of d elements and n values of e elements, and the places of its inputs and its result.
type attention struct {
	*Attention
	output     *Output
	m, d, n, e int
	block      int // queries whose scores are in L2 at a time
	// queryColumns, keyColumns and valueColumns say which inputs are stored with a column, not a
	// row, for each position.
	queryColumns, keyColumns, valueColumns bool

	y, q, k, v place.Memory
}

// newAttention returns an attention with the extents of a.
func newAttention(a *Attention) *attention {
	first, second := &a.Scores, &a.Values
	l := &attention{Attention: a, m: first.In.H, d: first.In.W, n: first.Columns, e: second.Columns}
	l.queryColumns, l.keyColumns, l.valueColumns = first.TransposeX, !first.TransposeY, second.TransposeY
	if a.KeysLeft {
		l.m, l.n = l.n, l.m
		l.queryColumns, l.keyColumns = l.keyColumns, l.queryColumns
	}
	if a.ValuesLeft {
		l.e, l.valueColumns = second.In.H, !second.TransposeX
	}
	return l
}

// columnsAt returns the layout at the given address of a tile with a row of the given width for each
// channel.
func columnsAt(base, channels, width int) place.Layout {
	return place.Packed(regs.Shape{Channels: channels, Width: width}).Rebase(base)
}

// chooseBlock sets the number of queries in a block and reports whether L2 has room for one. If the
// result has a column for each query, blocks are as large as L2 permits, and all but the last are
// equal. Fewer blocks read the weights less often: with 4096 keys of 40 elements, 19 blocks in place
// of 32 take 9% less time in the model.
func (l *attention) chooseBlock() bool {
	l.block = queryBlock
	if !l.ValuesLeft || !l.fits() {
		return l.fits()
	}
	for l.block = layer.RoundUp(l.m, blockColumns); !l.fits(); l.block -= blockColumns {
	}
	blocks := (l.m + l.block - 1) / l.block
	l.block = layer.RoundUp((l.m+blocks-1)/blocks, blockColumns)
	return true
}

// blockColumns divides the number of queries in a block, so that blocks begin at multiples of 64
// bytes in memory.
const blockColumns = 32

// fits reports whether L2 has room for the tiles of a block of queries, and for the tiles that
// prepare the keys and the values.
func (l *attention) fits() bool {
	width := min(l.m, l.block)
	block := columnsAt(0, l.n+1+l.d+l.e, width).Row
	if !l.queryColumns {
		block += place.TransposeSource(width, l.d).Row
	}
	keys, values := columnsAt(0, l.n, l.d).Row, columnsAt(0, l.e, l.n).Row
	if l.keyColumns {
		keys += place.TransposeSource(l.d, l.n).Row
	}
	if !l.valueColumns {
		values += place.TransposeSource(l.n, l.e).Row
	}
	return max(block, keys, values) <= l.Scores.LargestTile()
}

// A weightPart holds the weights of consecutive output channels that one task computes.
type weightPart struct {
	first, channels int
	lanes           []coeff.Lane
}

// lowerHead appends the tasks of one head. It reports false if the values of a head cannot be
// divided into parts whose results begin at multiples of 64 bytes.
func (l *attention) lowerHead(head int) bool {
	o := l.output
	scratch := 0
	weights := func(m place.Memory, columns bool, rows, k int) []weightPart {
		if columns { // stored as k rows
			return l.interleaveParts(l.addTransposeToL2(head, m, k, rows), place.Memory{}, rows, k, &scratch)
		}
		from := place.Matrix(m.Bar, rows, k)
		from.Base = m.Base + head*m.Plane
		return l.interleaveParts(nil, from, rows, k, &scratch)
	}
	left, right := weights(l.k, l.keyColumns, l.n, l.d), weights(l.v, !l.valueColumns, l.e, l.n)
	o.Scratch = max(o.Scratch, scratch)
	if !l.ValuesLeft {
		for _, p := range right {
			if p.first*layer.ElementBytes%64 != 0 {
				return false
			}
		}
	}
	for first := 0; first < l.m; first += l.block {
		l.lowerBlock(head, first, min(l.block, l.m-first), left, right)
	}
	return true
}

// addTransposeToL2 appends the task that transposes the matrix of a head, which has the given
// extents in memory, to a tile at address 0. It returns the tile.
func (l *attention) addTransposeToL2(head int, m place.Memory, rows, columns int) *task.Tile {
	from := place.Matrix(m.Bar, rows, columns)
	from.Base = m.Base + head*m.Plane
	t := task.NewTranspose(regs.Shape{Groups: 1, Channels: rows, Height: 1, Width: columns})
	at := columnsAt(0, columns, rows)
	tile := t.KeepResult(at)
	t.LoadSource1(from, t.SourceTile().Rebase(at.Row), false)
	l.output.addTask(t)
	return tile
}

// interleaveParts appends the tasks that write the rows of a matrix to the scratch buffer as
// weights. They read the rows from tile or, if it is nil, from memory. scratch is the number of
// bytes of the buffer that are in use, which interleaveParts increases.
func (l *attention) interleaveParts(tile *task.Tile, from place.Memory, rows, k int, scratch *int) (parts []weightPart) {
	for first := 0; first < rows; {
		n := rowsPerPair(rows-first, k, min(l.m, l.block), l.Scores.LaneBytes())
		lanes := addInterleavingTask(l.output, *scratch, n, k, func(t *task.Task, at place.Layout) int {
			if tile != nil {
				t.ReadTile(tile, tile.At.Rebase(first*tile.At.Channel))
				return tile.At.Row
			}
			part := from
			part.Base += first * from.Plane
			t.LoadSource1(part, at, false)
			return at.Row
		})
		parts = append(parts, weightPart{first, n, lanes})
		last := lanes[len(lanes)-1]
		*scratch = last.Base + last.Size
		first += n
	}
	return parts
}

// lowerBlock appends the tasks of width queries of one head, from query first on. left and right are
// the weights of the two matmuls.
func (l *attention) lowerBlock(head, first, width int, left, right []weightPart) {
	o := l.output
	scores := columnsAt(0, l.n, width)
	single := columnsAt(scores.Row, 1, width)
	columns := columnsAt(single.Base+single.Row, l.d, width)
	free := columns.Base + columns.Row

	var queries *task.Tile
	if !l.queryColumns {
		from := place.Matrix(l.q.Bar, width, l.d)
		from.Base = l.q.Base + head*l.q.Plane + first*l.q.Row
		turn := task.NewTranspose(regs.Shape{Groups: 1, Channels: width, Height: 1, Width: l.d})
		queries = turn.KeepResult(columns)
		turn.LoadSource1(from, turn.SourceTile().Rebase(free), false)
		o.addTask(turn)
	}

	multiply := func(m *layer.Layer, channels int, p weightPart, transpose bool, tile *task.Tile) *task.Task {
		in := regs.Shape{Groups: 1, Channels: channels, Height: 1, Width: width}
		out := in
		out.Channels = p.channels
		t := newMACTask(m, task.MAC{In: in, Out: out, Window: task.Pointwise, Transpose: transpose})
		t.SetKernelInBuffer(place.BarScratch, p.lanes)
		if tile != nil {
			t.ReadTile(tile, tile.At)
		}
		return t
	}
	var tile *task.Tile
	for _, p := range left {
		t := multiply(&l.Scores, l.d, p, false, queries)
		if queries == nil {
			from := place.Matrix(l.q.Bar, l.d, l.m)
			from.Base = l.q.Base + head*l.q.Plane + first*layer.ElementBytes
			queries = t.LoadSource1(from, columns, true)
		}
		before := tile
		tile = t.KeepResult(scores.Rebase(p.first * scores.Channel))
		tile.Previous = before
		o.addTask(t)
	}
	tile.At, tile.Bytes = scores, scores.Row // all parts

	// The second matmul reads the probabilities in the place of the scores. Its results pass through L2 after
	// them, where the maxima and sums are no longer needed.
	powers := l.addSoftmax(tile, scores, single, width)
	for _, p := range right {
		t := multiply(&l.Values, l.n, p, !l.ValuesLeft, powers)
		row, column, rowLength := first, p.first, l.e
		if l.ValuesLeft {
			row, column, rowLength = p.first, first, l.m
		}
		to := place.Matrix(l.y.Bar, width, rowLength)
		to.Base = l.y.Base + head*l.y.Plane + row*l.y.Row + column*layer.ElementBytes
		t.WriteResult(to, single.Base)
		o.addTask(t)
	}
}

// addSoftmax appends the tasks of a softmax over the channels of a tile with the given layout, which
// its result overwrites, and returns the tile of the result. single is the place of a value for each
// of the given number of columns.
func (l *attention) addSoftmax(tile *task.Tile, at, single place.Layout, width int) *task.Tile {
	o, j := l.output, job{layer: &l.Softmax, weights: l.Weights}
	s := regs.Shape{Groups: 1, Channels: l.n, Height: 1, Width: width}
	top := task.NewChannelMaximum(s)
	top.ReadTile(tile, at)
	largest := top.KeepResult(single)
	o.addTask(top)

	sub := newDifferenceTask(s, task.SourceView{Repeat: task.C}, false).Task()
	sub.ReadTile(tile, at)
	sub.ReadSecondTile(largest, single)
	sub.SetPatch(task.LinkedPatch(task.LinkedPatchLog2(s)))
	differences := sub.KeepResult(at)
	o.addTask(sub)
	powers := addPowerTask(o, j, s, differences, at).KeepResult(at)
	reciprocals := addReciprocalSum(o, j, s, powers, single, false)

	mul := newQuotientTask(s, task.SourceView{Repeat: task.C}, false).Task()
	mul.ReadTile(reciprocals, single)
	mul.ReadSecondTile(powers, at)
	result := mul.KeepResult(at)
	o.addTask(mul)
	return result
}
