package family

import (
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/rows"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerMatMul lowers the product of an m x k input and a constant k x n matrix. The input's rows
// become channels. A 1x1 convolution over one row of pixels then turns them into rows again.
//
//	x [m][k] --DMA--> tile: m channels of k pixels
//	         pass-through, channel and x transposed
//	                  tile: k channels of m pixels
//	         16 engines, a share of the n columns each, transposed again --> y [m][n]
//
// The input is split into parts with as many rows as both tiles can hold in L2. Known programs have
// one part; that others are split in this way is assumed. Leading axes count as more rows.
func lowerMatMul(o *Output, j job) error {
	l := j.layer
	count, k, n := l.In.N*l.In.C*l.In.H, l.In.W, l.Columns
	// The buffer of the result comes before the one of the input.
	y := o.placePort(j, "y", loader.Output, place.Bar4, l.Out(), place.Surface(place.Bar4, l.Out()))
	x := o.placePort(j, "x", loader.Input, place.Bar5, l.In, place.Surface(place.Bar5, l.In))
	to, made := placeBeforeActivation(o, j, y, l.Out()), kernels{}
	if rows.UsesBlocks(count, k, n) && x.Row == place.Matrix(x.Bar, count, k).Plane && o.Constants.Bytes == 0 && (!l.NeedsTable() || canFuseTable(j)) {
		if tryLowerBlockMatMul(o, j, count, x, y) {
			return nil
		}
	}
	// Too large for L2 as tiles of whole rows, but not as columns: the transpose then goes through memory.
	if part := min(count, maxColumnRows(l)); count > task.PatchPixels && bytesForTransposeTiles(min(count, layer.MaxExtent), k) > l.LargestTile() && k*place.SliceColumns*layer.ElementBytes <= l.LargestTile() {
		columns := o.held
		for first := 0; first < count; first += part {
			m := min(part, count-first)
			src, dst := rowsAsChannels(x, first, m), rowsAsChannels(to, first, m)
			staged := place.Matrix(place.BarScratch, k, m)
			staged.Row, staged.Base = staged.Plane, columns
			o.Scratch = max(o.Scratch, layer.RoundUp(columns+staged.Depth, place.ScratchPage))
			transposeToMemory(o, m, k, src, staged)
			if err := multiplyColumns(o, j, made, m, k, n, staged, dst); err != nil {
				return err
			}
		}
		return lowerActivation(o, j, l.Out(), to, y)
	}
	part := min(count, layer.MaxExtent)
	for part > 1 && bytesForTransposeTiles(part, k) > l.LargestTile() {
		// Halved, not divided exactly: equal parts share their kernel.
		part = (part + 1) / 2
	}
	if err := layer.CheckLimit("size in bytes of a row and its transpose in L2", bytesForTransposeTiles(part, k), l.LargestTile(),
		"split the reduction until they have at most %d bytes and add the results"); err != nil {
		return err
	}
	for first := 0; first < count; first += part {
		m := min(part, count-first)
		src, dst := rowsAsChannels(x, first, m), rowsAsChannels(to, first, m)
		if err := multiplyRows(o, j, made, m, k, n, src, dst); err != nil {
			return err
		}
	}
	return lowerActivation(o, j, l.Out(), to, y)
}

// rowsAsChannels returns the place of n rows of the matrices at m, from row first on. Each row is a
// separate channel, and rows are as far apart as those of m.
func rowsAsChannels(m place.Memory, first, n int) place.Memory {
	depth := m.Row * n
	return place.Memory{Bar: m.Bar, Base: m.Base + first*m.Row, Row: depth, Plane: m.Row, Depth: depth, Group: depth}
}

// maxColumnRows returns the largest number of rows that one task can transpose from memory to
// memory, in slices of 128 columns each of which fits in L2.
func maxColumnRows(l *layer.Layer) int {
	return l.LargestTile() / (place.SliceColumns * layer.ElementBytes)
}

// transposeToMemory appends the task that reads m rows of k values from src and writes them to dst
// transposed, as k rows of m values.
func transposeToMemory(o *Output, m, k int, src, dst place.Memory) {
	t := task.NewTranspose(regs.Shape{Groups: 1, Channels: m, Height: 1, Width: k})
	at := place.TransposeSource(m, k)
	t.LoadSource1(src, at, false)
	t.WriteResult(dst, at.Row)
	o.addTask(t)
}

// multiplyColumns appends the tasks that multiply a left side which is stored in memory as k
// rows of m values. The task of each share of the columns loads the left side again, 128 rows at
// a time, unless it fits L2. In a public table there are 1 + K*N/2^19 tasks at 256 and 512 rows
// if the left side must be transposed first, and K*N/2^19 at 256 rows if not. It is inferred
// that the transposed side goes through memory.
func multiplyColumns(o *Output, j job, packed kernels, m, k, n int, src, dst place.Memory) error {
	shares, err := splitColumns(j, m)
	if err != nil {
		return err
	}
	src.Row = src.Depth // one row with all channels
	var kept *task.Tile
	for _, s := range shares {
		t := newMatMulTask(j, m, k, s)
		at := t.SourceTile()
		bytes := at.Row
		switch {
		case kept != nil:
			t.ReadTile(kept, kept.At)
		case len(shares) > 1 && m <= place.SliceColumns:
			kept = t.LoadSource1(src, at, true)
		default:
			t.LoadSource1(src, at, false)
		}
		attachKernel(o, packed, t, s, t.PlaneWidth(k), func(s coeff.Share, width int) *coeff.Kernel { return packColumns(o, j, s, width) })
		to := dst
		to.Base += s.First * layer.ElementBytes
		t.WriteResult(to, bytes)
		o.addTask(t)
	}
	return nil
}

// newMatMulTask returns the task that multiplies m pixels of k channels by the columns of share s.
// It transposes the result back to rows.
func newMatMulTask(j job, m, k int, s coeff.Share) *task.Task {
	in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: m}
	out := in
	out.Channels = s.Channels
	return newMACTask(j.layer, task.MAC{In: in, Out: out, Window: task.Pointwise, Transpose: true, Table: fusedTable(j)})
}

// tryLowerBlockMatMul appends the tasks of a matmul over blocks of eight pixels: a transpose to
// columns, the matmul, and a copy of the result to memory. count is the number of rows. It reports
// false, and appends nothing, if that does not fit in L2.
func tryLowerBlockMatMul(o *Output, j job, count int, x, y place.Memory) bool {
	l, w := j.layer, *j.weights
	g := rows.Group{
		Kind: rows.Product, Layer: *l, Weights: w, Inputs: []string{"x"}, Output: "y",
		Heads: 1, Rows: count, Width: l.Columns, Block: true, Activation: l.Activation, Scale: l.Factor, Table: fusedTable(j),
	}
	if l.Bias {
		if g.Weights.Bias == nil {
			g.Weights.Bias = make([]float16.Float16, l.Columns)
		}
		g.Bias = g.Weights.Bias
	}
	low, ok := rows.LowerGroup(g, []rows.Matrix{{Rows: count, Width: l.In.W, At: x}}, y)
	if !ok {
		return false
	}
	o.Tasks, o.Constants = append(o.Tasks, low.Tasks...), low.Constants
	o.Scratch = max(o.Scratch, low.Scratch)
	return true
}

// bytesForTransposeTiles returns how many bytes of L2 the two tiles of a transpose of m rows of k
// values occupy.
func bytesForTransposeTiles(m, k int) int {
	return transposedLayout(m, k).Row + m*place.TransposeSource(m, k).Channel
}

// transposedLayout returns the layout of a tile with k channels of m pixels that a transpose writes
// to L2. Channels of 128 or 256 bytes are 16 bytes further apart, so that they begin in different
// banks (seen in 5 of 5 programs).
func transposedLayout(m, k int) place.Layout {
	l := place.Packed(regs.Shape{Channels: k, Width: m})
	if w := m * layer.ElementBytes; w == 128 || w == 256 {
		l.Channel += 16
		l.Row = l.Channel * k
		l.Depth, l.Group = l.Row, l.Row
	}
	return l
}

// multiplyRows appends the tasks that multiply m rows of k values at src by a constant k x n matrix
// and write the products to dst.
func multiplyRows(o *Output, j job, packed kernels, m, k, n int, src, dst place.Memory) error {
	before := regs.Shape{Groups: 1, Channels: m, Height: 1, Width: k}
	after := transposedLayout(m, k)
	staged := place.Matrix(place.BarScratch, k, m)
	staged.Row, staged.Base = staged.Plane, o.held
	o.Scratch = max(o.Scratch, o.held+staged.Depth)

	var kept *task.Tile
	// A transpose makes channels of the k columns, but a task reads at most MaxExtent of these. All parts
	// fill one tile.
	for first := 0; first < k; first += layer.MaxExtent {
		part, to, described := before, after, staged
		part.Width = min(layer.MaxExtent, k-first)
		to.Base, described.Base = first*after.Channel, staged.Base+first*staged.Plane
		prep := task.NewTranspose(part)
		from := src
		from.Base += first * layer.ElementBytes
		prep.LoadSource1(from, place.TransposeSource(m, k).Rebase(after.Row), false)
		kept = prep.KeepDescribedResult(to, described)
		o.addTask(prep)
	}

	shares, err := splitColumns(j, m)
	if err != nil {
		return err
	}
	for i, s := range shares {
		t := newMatMulTask(j, m, k, s)
		// Only the task right after the transpose describes its source in memory, as the transpose does
		// with its result.
		if i == 0 {
			t.ReadDescribedTile(kept, after, staged)
		} else {
			t.ReadTile(kept, after)
		}
		attachKernel(o, packed, t, s, t.PlaneWidth(k), func(s coeff.Share, width int) *coeff.Kernel { return packColumns(o, j, s, width) })
		at := dst
		at.Base += s.First * layer.ElementBytes
		t.WriteResult(at, after.Row)
		o.addTask(t)
	}
	return nil
}

// columnBytes returns how many bytes one column of the weights occupies in an engine's memory,
// including its bias.
func columnBytes(l *layer.Layer) int { return (l.In.W + coeff.BiasRows(l.Bias)) * layer.ElementBytes }

// splitColumns divides the result columns of a matmul of m rows into shares. If the rows need several
// patches, the weights of a share, and its table if there is one, fit in an engine's memory.
// Otherwise all columns are one share, unless they are more than a task can have.
func splitColumns(j job, m int) ([]coeff.Share, error) {
	if m <= task.PatchPixels {
		var shares []coeff.Share
		for n := j.layer.Columns; n > 0; n -= layer.MaxChannels {
			shares = append(shares, coeff.Share{Groups: 1, First: j.layer.Columns - n, Channels: min(n, layer.MaxChannels)})
		}
		return shares, nil
	}
	return coeff.SplitChannels(j.layer.Columns, columnBytes(j.layer), j.layer.LaneBytes()-len(fusedTable(j)))
}

// packColumns packs the weights of a share of the columns.
func packColumns(o *Output, j job, s coeff.Share, width int) *coeff.Kernel {
	return coeff.PackProduct(j.layer, j.weights, s, width, fusedTable(j), o.Constants.Reserve)
}

// CanReadColumns reports whether the engines can read the transposed left side of matmul l directly
// from memory, so that no separate task has to transpose it. This is the case if a slice of 128
// rows fits in L2 and the compiler does not divide the rows into blocks; see [rows.UsesBlocks]. The
// right side of l must be constant.
func CanReadColumns(l *layer.Layer) bool {
	return !rows.UsesBlocks(l.In.H, l.In.W, l.Columns) && l.In.W*place.SliceColumns*layer.ElementBytes <= l.LargestTile()
}

// lowerTransposedMatMul appends the tasks that transpose the sides of a matmul that TransposeX and
// TransposeY name, and then multiply them.
func lowerTransposedMatMul(o *Output, j job) error {
	l := *j.layer
	l.TransposeX, l.TransposeY = false, false
	swap := func(s layer.Shape) layer.Shape { s.H, s.W = s.W, s.H; return s }
	left := l.In
	if j.layer.TransposeX {
		left = swap(left)
	}
	y := o.placePort(j, "y", loader.Output, place.Bar4, l.Out(), place.Surface(place.Bar4, l.Out()))
	to := ports{"y": y}
	bar := uint32(place.Bar5)
	if l.Second == layer.Runtime && l.Op == layer.MatMul {
		right := layer.Shape{N: l.In.N, C: l.In.C, H: l.In.W, W: l.Columns}
		given := right
		if j.layer.TransposeY {
			given = swap(right)
		}
		to["z"] = o.placePort(j, "z", loader.Input, bar, given, place.Surface(bar, given))
		bar = place.Bar6
		// A row chain transposes in its own tasks, which saves a pass over either side.
		if j.layer.TransposeX || !canReadLeftRows(&l) {
			to["x"] = o.placePort(j, "x", loader.Input, bar, left, place.Surface(bar, left))
			if tryLowerAsRowChain(o, j, to["x"], to["z"], y) {
				return nil
			}
		}
		if j.layer.TransposeY {
			transposed := o.allocateTensor(right)
			if err := transposeMatrices(o, j.layer, given, to["z"], transposed); err != nil {
				return err
			}
			to["z"] = transposed
		}
	} else if j.layer.TransposeY {
		return l.Unsupportedf("cannot transpose a constant right side; use linear, whose weights are rows of k values")
	}
	if _, given := to["x"]; !given {
		to["x"] = o.placePort(j, "x", loader.Input, bar, left, place.Surface(bar, left))
	}
	if m, k := l.In.H, l.In.W; j.layer.TransposeX && l.Second == layer.Constant && l.In.N*l.In.C == 1 && CanReadColumns(&l) {
		// The left side is stored as the engines read it.
		src, out := place.Matrix(bar, k, m), placeBeforeActivation(o, j, y, l.Out())
		src.Bar, src.Base = to["x"].Bar, to["x"].Base
		dst := place.Matrix(out.Bar, m, l.Columns)
		dst.Base = out.Base
		if err := multiplyColumns(o, j, kernels{}, m, k, l.Columns, src, dst); err != nil {
			return err
		}
		return lowerActivation(o, j, l.Out(), out, y)
	}
	if j.layer.TransposeX {
		transposed := o.allocateTensor(l.In)
		if err := transposeMatrices(o, j.layer, left, to["x"], transposed); err != nil {
			return err
		}
		to["x"] = transposed
	}
	return lowerSublayers(o, j.layer, sublayer{l, j.weights, to})
}

// transposeMatrices appends the tasks that transpose each matrix of x, of shape s, to y. If L2
// cannot hold a matrix and its transpose, each matrix gets one task that works in slices of 128
// columns. (For a 2048 x 2048 matrix, a public table counts 2 tasks at 16 rows and 3 at 128.)
func transposeMatrices(o *Output, l *layer.Layer, s layer.Shape, x, y place.Memory) error {
	if bytesForTranspose(place.NewView(x, s).SwapChannelsAndRows().S, s.C) <= l.L2Bytes()-place.UnitBytes || s.H > maxColumnRows(l) || s.W < place.SliceColumns {
		return transposeRows(o, l, s, x, y)
	}
	for b := range s.N * s.C {
		src, dst := place.Matrix(x.Bar, s.H, s.W), place.Matrix(y.Bar, s.W, s.H)
		src.Base, dst.Base = x.Base+b*x.Plane, y.Base+b*y.Plane
		dst.Row = dst.Plane
		transposeToMemory(o, s.H, s.W, src, dst)
	}
	return nil
}
