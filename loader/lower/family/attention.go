package family

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// An Attention is a matmul of queries and keys, a softmax over the scores of each query, and a
// matmul of the result and values.
//
//	scores = Scores(q, k)    [head][query][key]
//	y      = Values(softmax(scores), v)
type Attention struct {
	Scores, Values layer.Layer // matmuls of two inputs
	Softmax        layer.Layer
	Weights        *layer.Weights // tables of the softmax
}

// queryBlock limits the number of queries whose scores are in L2 at a time. A result with more
// columns would need another layout of the weights, see [lanes.Most].
const queryBlock = task.PatchPixels

// IsLarge reports whether the scores of all heads do not fit in L2, so that they would go through
// memory between the layers.
func (a *Attention) IsLarge() bool {
	return a.Softmax.In.Elements()*layer.ElementBytes > a.Softmax.LargestTile()
}

// LowerAttention lowers a for queries in blocks, so that scores never leave L2. The scores are
// computed as columns, with a channel for each key and a pixel for each query: keys are the weights,
// and the queries are transposed to be the source. The softmax is then over channels, and its result
// is the source of the second matmul, whose weights are the transposed values. The vendor's compiler
// has the values as weights and the probabilities as source too, in a chain of GPT-2; the blocks are
// inferred.
//
//	k --interleave--> scratch                     once for each head
//	v --transpose--> L2 --interleave--> scratch
//	q --transpose--> columns --matmul--> scores --softmax--> powers --matmul--> rows of y
//
// The ports are x, z and v, for the queries, the keys and the values, and y. LowerAttention reports
// false if it does not support the layers or if they do not fit.
func LowerAttention(a *Attention) (*Output, bool) {
	first, second, soft := &a.Scores, &a.Values, &a.Softmax
	heads, m, d, n, e := first.In.N*first.In.C, first.In.H, first.In.W, first.Columns, second.Columns
	switch {
	case first.Second != layer.Runtime || second.Second != layer.Runtime || soft.Axes != layer.AxisW,
		first.TransposeX || second.TransposeX || second.TransposeY,
		first.Activation != 0 || second.Activation != 0 || soft.Activation != 0,
		first.Release != 0 || len(a.Weights.Table) != coeff.TableBytes || len(a.Weights.Reciprocal) != coeff.TableBytes,
		first.Out() != soft.In || second.In != soft.In, checkMaximumChannels(n) != nil:
		return nil, false
	}
	o := &Output{Constants: coeff.Section{SizesOnly: a.Weights.SizesOnly}, target: first.Target}
	keys := layer.Shape{N: first.In.N, C: first.In.C, H: d, W: n}
	if first.TransposeY {
		keys.H, keys.W = n, d
	}
	values := layer.Shape{N: first.In.N, C: first.In.C, H: n, W: e}
	port := func(name string, dir loader.Direction, bar uint32, s layer.Shape) place.Memory {
		return o.placePort(job{}, name, dir, bar, s, place.Surface(bar, s))
	}
	l := &attention{
		Attention: a, output: o, m: m, d: d, n: n, e: e,
		y: port("y", loader.Output, place.Bar4, second.Out()),
		q: port("x", loader.Input, place.Bar5, first.In),
		k: port("z", loader.Input, place.Bar6, keys), v: port("v", loader.Input, place.Bar6+1, values),
	}
	if !l.fits() {
		return nil, false
	}
	for head := range heads {
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
	y, q, k, v place.Memory
}

// columnsAt returns the layout at the given address of a tile with a row of the given width for each
// channel.
func columnsAt(base, channels, width int) place.Layout {
	return place.Packed(regs.Shape{Channels: channels, Width: width}).Rebase(base)
}

// fits reports whether L2 has room for the tiles of a block of queries, and for the tiles that
// prepare the keys and the values.
func (l *attention) fits() bool {
	width := min(l.m, queryBlock)
	block := columnsAt(0, l.n+1+l.d+l.e, width).Row + place.TransposeSource(width, l.d).Row
	keys := columnsAt(0, l.n, l.d).Row + place.TransposeSource(l.d, l.n).Row
	values := columnsAt(0, l.e, l.n).Row + place.TransposeSource(l.n, l.e).Row
	return max(block, keys, values) <= l.Scores.LargestTile()
}

// A weightPart holds the weights of consecutive output channels that one task computes.
type weightPart struct {
	first, channels int
	lanes           []coeff.Lane
}

// lowerHead appends the tasks of one head. It reports false if the values of a head cannot be
// divided into parts that begin at multiples of 64 bytes.
func (l *attention) lowerHead(head int) bool {
	o := l.output
	scratch := 0
	keys, tile := place.Matrix(l.k.Bar, l.n, l.d), (*task.Tile)(nil)
	keys.Base = l.k.Base + head*l.k.Plane
	if !l.Scores.TransposeY { // stored as d rows of n
		tile = l.addTransposeToL2(head, l.k, l.d, l.n)
	}
	left := l.interleaveParts(tile, keys, l.n, l.d, &scratch)
	right := l.interleaveParts(l.addTransposeToL2(head, l.v, l.n, l.e), place.Memory{}, l.e, l.n, &scratch)
	o.Scratch = max(o.Scratch, scratch)
	for _, p := range right {
		if p.first*layer.ElementBytes%64 != 0 {
			return false
		}
	}
	for first := 0; first < l.m; first += queryBlock {
		l.lowerBlock(head, first, min(queryBlock, l.m-first), left, right)
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
		n := rowsPerPair(rows-first, k, queryBlock, l.Scores.LaneBytes())
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

	from := place.Matrix(l.q.Bar, width, l.d)
	from.Base = l.q.Base + head*l.q.Plane + first*l.q.Row
	turn := task.NewTranspose(regs.Shape{Groups: 1, Channels: width, Height: 1, Width: l.d})
	queries := turn.KeepResult(columns)
	turn.LoadSource1(from, turn.SourceTile().Rebase(free), false)
	o.addTask(turn)

	multiply := func(m *layer.Layer, channels int, p weightPart, transpose bool, tile *task.Tile) *task.Task {
		in := regs.Shape{Groups: 1, Channels: channels, Height: 1, Width: width}
		out := in
		out.Channels = p.channels
		t := newMACTask(m, task.MAC{In: in, Out: out, Window: task.Pointwise, Transpose: transpose})
		t.SetKernelInBuffer(place.BarScratch, p.lanes)
		t.ReadTile(tile, tile.At)
		return t
	}
	var tile *task.Tile
	for _, p := range left {
		t := multiply(&l.Scores, l.d, p, false, queries)
		before := tile
		tile = t.KeepResult(scores.Rebase(p.first * scores.Channel))
		tile.Previous = before
		o.addTask(t)
	}
	tile.At, tile.Bytes = scores, scores.Row // all parts

	powers := l.addSoftmax(tile, scores, single, width)
	for _, p := range right {
		t := multiply(&l.Values, l.n, p, true, powers)
		to := place.Matrix(l.y.Bar, width, l.e)
		to.Base = l.y.Base + head*l.y.Plane + first*l.y.Row + p.first*layer.ElementBytes
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
