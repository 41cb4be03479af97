package family

import (
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/rows"
	"anesim/loader/lower/task"
)

// lowerMatMul lowers the product of a rows x k input and a constant matrix: the input's rows
// become channels, then a 1x1 convolution over one row of pixels writes rows again.
//
//	x [m][k] --DMA--> tile: m channels of k pixels
//	         pass-through, channel and x transposed
//	                  tile: k channels of m pixels
//	         16 engines, a share of the n columns each, transposed again --> y [m][n]
//
// The input is taken in parts of so many rows as both tiles fit the L2 (the examples
// take one part; more is assumed). Leading axes are more rows.
func lowerMatMul(o *Output, j job) error {
	l := j.layer
	count, k, n := l.In.N*l.In.C*l.In.H, l.In.W, l.Columns
	// The result stands below the input.
	y := o.port(j, "y", loader.Output, place.Bar4, l.Out(), place.Surface(place.Bar4, l.Out()))
	x := o.port(j, "x", loader.Input, place.Bar5, l.In, place.Surface(place.Bar5, l.In))
	to, made := placeBeforeActivation(o, j, y, l.Out()), kernels{}
	if rows.BlockRows(count) && o.Constants.Bytes == 0 && (!l.NeedsTable() || fusesTable(j)) {
		if done := tryBlockProduct(o, j, count, x, y); done {
			return nil
		}
	}
	if part := min(count, maxColumnRows(l)); count > task.PatchPixels && productTiles(min(count, layer.MaxExtent), k) > l.LargestTile() && k*place.SliceColumns*layer.ElementBytes <= l.LargestTile() {
		columns := o.held
		for first := 0; first < count; first += part {
			m := min(part, count-first)
			src, dst := place.Matrix(x.Bar, m, k), place.Matrix(to.Bar, m, n)
			src.Base, dst.Base = x.Base+first*x.Row, to.Base+first*to.Row
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
	for part > 1 && productTiles(part, k) > l.LargestTile() {
		part = (part + 1) / 2
	}
	if err := layer.CheckLimit("bytes of a row transposed in the L2", productTiles(part, k), l.LargestTile(),
		"split the reduction until they are at most %d and add the parts"); err != nil {
		return err
	}
	for first := 0; first < count; first += part {
		m := min(part, count-first)
		src, dst := place.Matrix(x.Bar, m, k), place.Matrix(to.Bar, m, n)
		src.Base, dst.Base = x.Base+first*x.Row, to.Base+first*to.Row
		if err := multiplyRows(o, j, made, m, k, n, src, dst); err != nil {
			return err
		}
	}
	return lowerActivation(o, j, l.Out(), to, y)
}

// maxColumnRows returns the most rows that a task transposes on their way to memory: their
// slices of 128 pixels fit the L2.
func maxColumnRows(l *layer.Layer) int {
	return l.LargestTile() / (place.SliceColumns * layer.ElementBytes)
}

// transposeToMemory writes m rows of k as k rows of m to memory.
func transposeToMemory(o *Output, m, k int, src, dst place.Memory) {
	t := task.NewTranspose(regs.Shape{Groups: 1, Channels: m, Height: 1, Width: k})
	at := place.TransposeSource(m, k)
	t.LoadSource1(src, at, false)
	t.WriteResult(dst, at.Row)
	o.add(t)
}

// multiplyColumns multiplies a left side that stands in memory as k rows of m. Every share of
// the columns reads it anew, a slice of 128 rows at a time, but where it fits the L2.
// (1 + K*N/2^19 tasks at 256 and 512 rows with the preparation, K*N/2^19 at 256 without,
// counts of a public table; that the former goes through memory is inferred.)
func multiplyColumns(o *Output, j job, made kernels, m, k, n int, src, dst place.Memory) error {
	shares := []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: n}}
	if m > task.PatchPixels {
		var err error
		if shares, err = splitColumns(j); err != nil {
			return err
		}
	}
	src.Row = src.Depth // a row is all channels
	var kept *task.Tile
	for _, s := range shares {
		t := newProductTask(j, m, k, s)
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
		attachKernel(o, made, t, s, t.PlaneWidth(k), func(s coeff.Share, width int) *coeff.Kernel { return packProduct(o, j, s, width) })
		to := dst
		to.Base += s.First * layer.ElementBytes
		t.WriteResult(to, bytes)
		o.add(t)
	}
	return nil
}

// newProductTask returns the multiply-accumulate of a share of a product's columns by m pixels of k
// channels, whose result is transposed.
func newProductTask(j job, m, k int, s coeff.Share) *task.Task {
	in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: m}
	out := in
	out.Channels = s.Channels
	return newMACTask(j.layer, task.MAC{In: in, Out: out, Window: task.Pointwise, Transpose: true, Table: fusedTable(j)})
}

// tryBlockProduct lowers the product as a chain of one: a transpose to columns of blocks, the
// product, and a copy of the rows of blocks to memory. It reports false where that does not
// fit the L2.
func tryBlockProduct(o *Output, j job, count int, x, y place.Memory) bool {
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

// productTiles returns the bytes of the two tiles of a transpose.
func productTiles(m, k int) int {
	return transposed(m, k).Row + m*place.TransposeSource(m, k).Channel
}

// transposed returns the layout of a tile with k channels of m pixels that a transpose writes:
// 16 bytes more a channel where it would fill a power of two of banks (5/5).
func transposed(m, k int) place.Layout {
	l := place.Packed(regs.Shape{Channels: k, Width: m})
	if w := m * layer.ElementBytes; w == 128 || w == 256 {
		l.Channel += 16
		l.Row = l.Channel * k
		l.Depth, l.Group = l.Row, l.Row
	}
	return l
}

// multiplyRows appends the tasks of m rows.
func multiplyRows(o *Output, j job, made kernels, m, k, n int, src, dst place.Memory) error {
	before := regs.Shape{Groups: 1, Channels: m, Height: 1, Width: k}
	after := transposed(m, k)
	staged := place.Matrix(place.BarScratch, k, m)
	staged.Row, staged.Base = staged.Plane, o.held
	o.Scratch = max(o.Scratch, o.held+staged.Depth)

	prep := task.NewTranspose(before)
	prep.LoadSource1(src, place.TransposeSource(m, k).Rebase(after.Row), false)
	kept := prep.KeepDescribedResult(after, after.Row, staged)
	o.add(prep)

	shares := []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: n}}
	if m > task.PatchPixels {
		var err error
		if shares, err = splitColumns(j); err != nil {
			return err
		}
	}
	for i, s := range shares {
		t := newProductTask(j, m, k, s)
		if i == 0 {
			t.ReadDescribedTile(kept, kept.At, staged)
		} else {
			t.ReadTile(kept, kept.At)
		}
		attachKernel(o, made, t, s, t.PlaneWidth(k), func(s coeff.Share, width int) *coeff.Kernel { return packProduct(o, j, s, width) })
		at := dst
		at.Base += s.First * layer.ElementBytes
		t.WriteResult(at, after.Row)
		o.add(t)
	}
	return nil
}

// productBytes returns what a column of a product with constants takes of a lane.
func productBytes(l *layer.Layer) int { return (l.In.W + coeff.BiasRows(l.Bias)) * layer.ElementBytes }

// splitColumns splits a product's columns so that a lane, its table included, fits an engine.
func splitColumns(j job) ([]coeff.Share, error) {
	return coeff.SplitChannels(j.layer.Columns, productBytes(j.layer), j.layer.LaneBytes()-len(fusedTable(j)))
}

// packProduct packs the columns of a share.
func packProduct(o *Output, j job, s coeff.Share, width int) *coeff.Kernel {
	table, room := fusedTable(j), o.Constants.Reserve
	if table != nil {
		room = nil // the weights are copied behind the table of each lane
	}
	return coeff.PackProduct(j.layer, j.weights, s, width, room).PrependTable(table)
}

// TakesColumns reports whether a product with constants takes its rows transposed as they
// stand: the engines do where a slice of them fits the L2, but for the few rows that the compiler
// has in blocks.
func TakesColumns(l *layer.Layer) bool {
	return !rows.BlockRows(l.In.H) && l.In.W*place.SliceColumns*layer.ElementBytes <= l.LargestTile()
}

// lowerTransposedProduct turns the sides of a product that are given the other way round, then
// multiplies.
func lowerTransposedProduct(o *Output, j job) error {
	l := *j.layer
	l.TransposeX, l.TransposeY = false, false
	turn := func(s layer.Shape) layer.Shape { s.H, s.W = s.W, s.H; return s }
	left := l.In
	if j.layer.TransposeX {
		left = turn(left)
	}
	y := o.port(j, "y", loader.Output, place.Bar4, l.Out(), place.Surface(place.Bar4, l.Out()))
	to := ports{"y": y}
	bar := uint32(place.Bar5)
	if l.Second == layer.Runtime && l.Op == layer.MatMul {
		right := layer.Shape{N: l.In.N, C: l.In.C, H: l.In.W, W: l.Columns}
		given := right
		if j.layer.TransposeY {
			given = turn(right)
		}
		to["z"] = o.port(j, "z", loader.Input, bar, given, place.Surface(bar, given))
		bar = place.Bar6
		if j.layer.TransposeY {
			if !j.layer.TransposeX && !direct(&l) {
				to["x"] = o.port(j, "x", loader.Input, bar, left, place.Surface(bar, left))
				if tryPairedRows(o, j, to["x"], to["z"], y) {
					return nil
				}
			}
			turned := o.allocate(right)
			if err := transposeSide(o, j.layer, given, to["z"], turned); err != nil {
				return err
			}
			to["z"] = turned
		}
	} else if j.layer.TransposeY {
		return l.Unsupportedf("a constant right side is given as it is multiplied; linear takes it as rows of k")
	}
	if _, given := to["x"]; !given {
		to["x"] = o.port(j, "x", loader.Input, bar, left, place.Surface(bar, left))
	}
	if m, k := l.In.H, l.In.W; j.layer.TransposeX && l.Second == layer.Constant && l.In.N*l.In.C == 1 && TakesColumns(&l) {
		// It stands there as the engines take it.
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
		turned := o.allocate(l.In)
		if err := transposeSide(o, j.layer, left, to["x"], turned); err != nil {
			return err
		}
		to["x"] = turned
	}
	return lowerPieces(o, j.layer, piece{l, j.weights, to})
}

// transposeSide turns the matrices of a side: one that the L2 does not hold together with its
// transpose goes through it in slices of 128 columns, a task each (2 tasks at 16 rows and 3
// at 128 of 2048 by 2048, counts of a public table).
func transposeSide(o *Output, l *layer.Layer, s layer.Shape, x, y place.Memory) error {
	if movedBytes(place.NewView(x, s).SwapChannelsAndRows().S, s.C) <= l.L2Bytes()-place.UnitBytes || s.H > maxColumnRows(l) || s.W < place.SliceColumns {
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
