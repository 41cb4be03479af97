package lower

import (
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
)

// matmul lowers the product of a rows x k input and a constant matrix: the input's rows
// become channels, then a 1x1 convolution over one row of pixels writes rows again.
//
//	x [m][k] --DMA--> tile: m channels of k pixels
//	         pass-through, channel and x transposed
//	                  tile: k channels of m pixels
//	         16 engines, a share of the n columns each, transposed again --> y [m][n]
//
// The input is taken in parts of so many rows as both tiles fit the L2 (the examples
// take one part; more is assumed). Leading axes are more rows.
func (p *plan) matmul() error {
	l := p.layer
	rows, k, n := l.In.N*l.In.C*l.In.H, l.In.W, l.Columns
	// The result stands below the input.
	y := p.port("y", loader.Output, bar4, l.Out(), surface(bar4, l.Out()))
	x := p.port("x", loader.Input, bar5, l.In, surface(bar5, l.In))
	to := p.behind(y, l.Out())
	if blockRows(rows) && p.constants.Bytes == 0 && !l.Tabulated() {
		if done := p.blockProduct(rows, x, y); done {
			return nil
		}
	}
	if part := min(rows, p.columnRows()); rows > patchPixels && productTiles(min(rows, layer.MaxExtent), k) > p.maxTile() && k*sliceColumns*layer.ElementBytes <= p.maxTile() {
		columns := p.held
		for first := 0; first < rows; first += part {
			m := min(part, rows-first)
			src, dst := matrix(x.bar, m, k), matrix(to.bar, m, n)
			src.base, dst.base = x.base+first*x.row, to.base+first*to.row
			staged := matrix(barScratch, k, m)
			staged.row, staged.base = staged.plane, columns
			p.scratch = max(p.scratch, layer.RoundUp(columns+staged.depth, scratchPage))
			p.turnColumns(m, k, src, staged)
			if err := p.columnProduct(m, k, n, staged, dst); err != nil {
				return err
			}
		}
		return p.finishActivation(l.Out(), to, y)
	}
	part := min(rows, layer.MaxExtent)
	for part > 1 && productTiles(part, k) > p.maxTile() {
		part = (part + 1) / 2
	}
	if err := layer.Within("bytes of a row transposed in the L2", productTiles(part, k), p.maxTile(),
		"split the reduction until they are at most %d and add the parts"); err != nil {
		return err
	}
	for first := 0; first < rows; first += part {
		m := min(part, rows-first)
		src, dst := matrix(x.bar, m, k), matrix(to.bar, m, n)
		src.base, dst.base = x.base+first*x.row, to.base+first*to.row
		if err := p.product(m, k, n, src, dst); err != nil {
			return err
		}
	}
	return p.finishActivation(l.Out(), to, y)
}

// columnRows is the most rows that a task turns to columns on their way to memory: their
// slices of 128 pixels fit the L2.
func (p *plan) columnRows() int { return p.maxTile() / (sliceColumns * layer.ElementBytes) }

// turnColumns writes m rows of k as k rows of m to memory.
func (p *plan) turnColumns(m, k int, src, dst memory) {
	t := transposing(regs.Shape{Groups: 1, Channels: m, Height: 1, Width: k})
	at := transposeSource(m, k)
	t.source1(src, at, false)
	t.writes(dst, at.row)
	p.add(t)
}

// columnProduct multiplies a left side that stands in memory as k rows of m. Every share of
// the columns reads it anew, a slice of 128 rows at a time, but where it fits the L2.
// (1 + K*N/2^19 tasks at 256 and 512 rows with the preparation, K*N/2^19 at 256 without,
// counts of a public table; that the former goes through memory is inferred.)
func (p *plan) columnProduct(m, k, n int, src, dst memory) error {
	l := p.layer
	shares := []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: n}}
	if m > patchPixels {
		var err error
		if shares, err = coeff.SplitChannels(n, (k+coeff.BiasRows(l.Bias))*layer.ElementBytes, l.LaneBytes()); err != nil {
			return err
		}
	}
	src.row = src.depth // a row is all channels
	var kept *tile
	for _, s := range shares {
		t := p.productTask(m, k, s)
		at := t.sourceTile()
		bytes := at.row
		switch {
		case kept != nil:
			t.reads(kept, kept.at)
		case len(shares) > 1 && m <= sliceColumns:
			kept = t.source1(src, at, true)
		default:
			t.source1(src, at, false)
		}
		p.attach(t, s, t.planeWidth(k), p.productKernel)
		to := dst
		to.base += s.First * layer.ElementBytes
		t.writes(to, bytes)
		p.add(t)
	}
	return nil
}

// productTask is the multiply-accumulate of a share of a product's columns by m pixels of k
// channels, whose result is transposed.
func (p *plan) productTask(m, k int, s coeff.Share) *task {
	in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: m}
	out := in
	out.Channels = s.Channels
	t := engineTask(regs.MultiplyAccumulate, in, out)
	t.g.Common.Cfg = t.g.Common.Cfg.WithTranspose(true)
	t.engines(s.Channels)
	t.patch(out, false, &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
	t.outputGroups(s.Channels, false)
	p.post(t)
	return t
}

// blockRows reports whether a product of so many rows works on blocks of eight pixels
// whatever its width: the compiler takes three tasks at 16 and 32 rows, in blocks two and
// four high, and two at 1, 8, 64 and 128 (counts of a public table; 24 is inferred).
func blockRows(rows int) bool { return rows >= 16 && rows <= 32 && rows%blockWidth == 0 }

// blockProduct lowers the product as a chain of one: a transpose to columns of blocks, the
// product, and a copy of the rows of blocks to memory. It reports false where that does not
// fit the L2.
func (p *plan) blockProduct(rows int, x, y memory) bool {
	l, w := p.layer, *p.weights
	g := rowGroup{
		kind: rowProduct, layer: *l, weights: w, inputs: []string{"x"}, output: "y",
		heads: 1, rows: rows, width: l.Columns, block: true, activation: l.Activation,
	}
	if l.Bias {
		if g.weights.Bias == nil {
			g.weights.Bias = make([]float16.Float16, l.Columns)
		}
		g.bias = g.weights.Bias
	}
	groups := []rowGroup{g}
	c := &rowChain{
		l2: l.L2Bytes(), groups: groups, uses: usesOf(groups), reads: map[string]int{"x": 1}, tables: map[string]int{}, output: y,
		constants: coeff.Section{SizesOnly: w.SizesOnly},
	}
	c.values = map[string]*rowValue{"x": {name: "x", rows: rows, width: l.In.W, mem: &x}}
	if !c.emit(&c.groups[0], true) || !c.finish() {
		return false
	}
	p.tasks, p.constants = append(p.tasks, c.tasks...), c.constants
	p.scratch = max(p.scratch, c.described)
	return true
}

// productTiles is the bytes of the two tiles of a transpose.
func productTiles(m, k int) int {
	return transposed(m, k).row + m*transposeSource(m, k).channel
}

// transposed is the layout of a tile with k channels of m pixels that a transpose writes:
// 16 bytes more a channel where it would fill a power of two of banks (5/5).
func transposed(m, k int) layout {
	l := packed(regs.Shape{Channels: k, Width: m})
	if w := m * layer.ElementBytes; w == 128 || w == 256 {
		l.channel += 16
		l.row = l.channel * k
		l.depth, l.group = l.row, l.row
	}
	return l
}

// transposeSource is the layout of the tile a transpose reads: pieces of at most 128
// pixels (7/7).
func transposeSource(m, k int) layout {
	return packed(regs.Shape{Channels: m, Width: min(k, 128)})
}

// product appends the tasks of m rows.
func (p *plan) product(m, k, n int, src, dst memory) error {
	l := p.layer
	before := regs.Shape{Groups: 1, Channels: m, Height: 1, Width: k}
	after := transposed(m, k)
	staged := matrix(barScratch, k, m)
	staged.row, staged.base = staged.plane, p.held
	p.scratch = max(p.scratch, p.held+staged.depth)

	prep := transposing(before)
	prep.source1(src, transposeSource(m, k).moved(after.row), false)
	kept := prep.leavesScratch(after, after.row, staged)
	p.add(prep)

	shares := []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: n}}
	if m > patchPixels {
		var err error
		if shares, err = coeff.SplitChannels(n, (k+coeff.BiasRows(l.Bias))*layer.ElementBytes, l.LaneBytes()); err != nil {
			return err
		}
	}
	for i, s := range shares {
		t := p.productTask(m, k, s)
		if i == 0 {
			t.readsScratch(kept, staged)
		} else {
			t.reads(kept, kept.at)
		}
		p.attach(t, s, t.planeWidth(k), p.productKernel)
		at := dst
		at.base += s.First * layer.ElementBytes
		t.writes(at, after.row)
		p.add(t)
	}
	return nil
}

// transposing is a pass-through that makes pixels channels and channels pixels.
func transposing(in regs.Shape) *task {
	t := engineTask(regs.PassThrough, in, in)
	t.unicast()
	// The channels it writes, 8 at least: as many as a unit of the L2 holds (22/22).
	t.engines(max(in.Width, unitBytes/layer.ElementBytes))
	c := &t.g.Common
	c.Cfg = c.Cfg.WithTranspose(true)
	t.patch(in, true, nil)
	if in.Height == 1 && in.Channels <= unitBytes/layer.ElementBytes {
		// Few enough pixels of a source by DMA for the 16 bytes of a channel: a patch 8
		// high is preferred (7/7), and of several channels the lowest is as high as the
		// columns leave room for (2/2).
		c.Cfg = c.Cfg.WithShMax(3).WithShPref(3)
		if in.Channels > 1 {
			c.Cfg = c.Cfg.WithShMin(min(3, 7-min(7, log2Ceil(in.Width))))
		}
	}
	return t
}

// productKernel packs the columns of a share.
func (p *plan) productKernel(s coeff.Share, width int) *coeff.Kernel {
	return coeff.Product(p.layer, p.weights, s, width, p.constants.Room)
}

// TakesColumns reports whether a product of m rows of k with constants takes them transposed
// as they stand: the engines do, but for the few rows that the compiler has in blocks.
func TakesColumns(m, k int) bool {
	return !blockRows(m) && k*sliceColumns*layer.ElementBytes <= layer.MaxTile
}

// turnedProduct turns the sides of a product that are given the other way round, then
// multiplies.
func (p *plan) turnedProduct() error {
	l := *p.layer
	l.TransposeX, l.TransposeY = false, false
	turn := func(s layer.Shape) layer.Shape { s.H, s.W = s.W, s.H; return s }
	left := l.In
	if p.layer.TransposeX {
		left = turn(left)
	}
	y := p.port("y", loader.Output, bar4, l.Out(), surface(bar4, l.Out()))
	to := ports{"y": y}
	bar := uint32(bar5)
	if l.Second == layer.Runtime && l.Op == layer.MatMul {
		right := layer.Shape{N: l.In.N, C: l.In.C, H: l.In.W, W: l.Columns}
		given := right
		if p.layer.TransposeY {
			given = turn(right)
		}
		to["z"] = p.port("z", loader.Input, bar, given, surface(bar, given))
		bar = bar6
		if p.layer.TransposeY {
			if !p.layer.TransposeX && !direct(&l) {
				to["x"] = p.port("x", loader.Input, bar, left, surface(bar, left))
				if p.pairedRows(to["x"], to["z"], y) {
					return nil
				}
			}
			turned := p.intermediate(right)
			if err := p.turnSide(given, to["z"], turned); err != nil {
				return err
			}
			to["z"] = turned
		}
	} else if p.layer.TransposeY {
		return l.Unsupported("a constant right side is given as it is multiplied; linear takes it as rows of k")
	}
	if _, given := to["x"]; !given {
		to["x"] = p.port("x", loader.Input, bar, left, surface(bar, left))
	}
	if m, k := l.In.H, l.In.W; p.layer.TransposeX && l.Second == layer.Constant && l.In.N*l.In.C == 1 && !blockRows(m) && k*sliceColumns*layer.ElementBytes <= p.maxTile() {
		// It stands there as the engines take it.
		src, out := matrix(bar, k, m), p.behind(y, l.Out())
		src.bar, src.base = to["x"].bar, to["x"].base
		dst := matrix(out.bar, m, l.Columns)
		dst.base = out.base
		if err := p.columnProduct(m, k, l.Columns, src, dst); err != nil {
			return err
		}
		return p.finishActivation(l.Out(), out, y)
	}
	if p.layer.TransposeX {
		turned := p.intermediate(l.In)
		if err := p.turnSide(left, to["x"], turned); err != nil {
			return err
		}
		to["x"] = turned
	}
	return p.pieces(piece{l, p.weights, to})
}

// turnSide turns the matrices of a side: one that the L2 does not hold together with its
// transpose goes through it in slices of 128 columns, a task each (2 tasks at 16 rows and 3
// at 128 of 2048 by 2048, counts of a public table).
func (p *plan) turnSide(s layer.Shape, x, y memory) error {
	if movedBytes(viewOf(x, s).swapped().s, s.C) <= p.l2()-unitBytes || s.H > p.columnRows() || s.W < sliceColumns {
		return p.turnRows(s, x, y)
	}
	for b := range s.N * s.C {
		src, dst := matrix(x.bar, s.H, s.W), matrix(y.bar, s.W, s.H)
		src.base, dst.base = x.base+b*x.plane, y.base+b*y.plane
		dst.row = dst.plane
		p.turnColumns(s.H, s.W, src, dst)
	}
	return nil
}
