package lower

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
)

// convolution lowers a convolution: one descriptor while its coefficients fit the
// engines, else one for each share of the output channels.
//
//	x --DMA--> source tile (L2) --> 16 engines, a share of the output channels each --> y
//	                                  ^ coefficients, a lane an engine
func (p *plan) convolution() error {
	l := p.layer
	if w := &l.Window; max(w.Sy, w.Sx) > layer.MaxStride {
		return p.longStride()
	}
	p.widen()
	in, out := l.In, l.Out()
	x, y := p.input("x", in), p.output("y", out)
	if err := p.checkTile(p.convSource(), min(l.Window.Kh, in.H)); err != nil {
		return err
	}
	to := p.behind(y, out)
	shares, err := p.weighed().Shares()
	if err != nil {
		return err
	}
	for n := range in.N {
		if paired(l) {
			p.pairs(x.element(n), to.element(n))
		} else {
			p.convolve(shares, x.element(n), to.element(n))
		}
	}
	return p.finishActivation(out, to, y)
}

// widen makes a window that stands before the input by itself or more larger by taps of
// zero weight. (The compiler pads with a task of its own: 1/1.)
func (p *plan) widen() {
	w := &p.layer.Window
	p.taps = [2]int{p.layer.TapRows(), p.layer.TapColumns()}
	y, x := max(0, w.Py+1-w.Kh), max(0, w.Px+1-w.Kw)
	w.Kh, w.Kw = w.Kh+y, w.Kw+x
	w.Qy, w.Qx = w.Qy+y, w.Qx+x
}

// element is one element of the batch.
func (m memory) element(n int) memory {
	m.base += n * m.depth
	return m
}

// convSource is the part of the source a task works on at a time: a group.
func (p *plan) convSource() regs.Shape {
	l := p.layer
	groups := p.weighed().TaskGroups()
	return regs.Shape{Groups: groups, Channels: l.In.C / groups, Height: l.In.H, Width: l.In.W}
}

// weighed is the convolution as its coefficients are packed.
func (p *plan) weighed() *coeff.Convolution {
	return &coeff.Convolution{Layer: p.layer, Weights: p.weights, Rows: p.taps[0], Columns: p.taps[1]}
}

// convolve appends the tasks of one element of the batch.
func (p *plan) convolve(shares []coeff.Share, x, y memory) {
	l := p.layer
	whole, out := p.convSource(), l.Out()
	w := &l.Window
	first := p.convTask(whole, p.convResult(shares[0]))
	at := first.sourceTile()
	resident := at.row*whole.Height <= p.maxTile()
	// A source that stands in the L2 whole is loaded once for all the channels made
	// from it.
	shared := resident && whole.Groups == 1 && !l.Depthwise() && len(shares) > 1
	x.group, y.group = x.depth/whole.Groups, y.depth/whole.Groups
	var loaded *tile
	for _, s := range shares {
		src, from, at := whole, x, at
		src.Groups = s.Groups
		from.base += s.Group * x.group
		if l.Depthwise() && s.Channels < src.Channels {
			src.Channels = s.Channels
			from.base += s.First * x.plane
		}
		t := p.convTask(src, p.convResult(s))
		if src != whole && resident {
			at = t.sourceTile()
		}
		rows, result := whole.Height, layout{}
		if !resident {
			at, result, rows = p.tiled(t, src, out, w)
		}
		p.attach(t, s, t.planeWidth(w.Kh*w.Kw*src.Channels), func(s coeff.Share, width int) *coeff.Kernel {
			c := p.weighed()
			if p.rides() {
				c.Table = p.weights.Table
			}
			return c.Kernel(s, width, p.constants.Room)
		})
		if loaded != nil && shared {
			t.reads(loaded, at)
		} else {
			loaded = t.source1(from, at, shared)
			loaded.bytes = at.row * rows
		}
		to := y
		to.base += s.Group*y.group + s.First*y.plane
		if result.row > 0 {
			t.stages(to, result)
			p.add(t)
			continue
		}
		t.writes(to, layer.RoundUp(at.row*rows, 16))
		p.add(t)
	}
}

// tiled is where the source of a task stands that does not fit the L2 whole, and so many
// of its rows; result is where the result does, zero of one that streams out.
func (p *plan) tiled(t *task, src regs.Shape, out layer.Shape, w *layer.Window) (at, result layout, rows int) {
	if at, result, ok := t.takesColumns(w, p.l2()); ok {
		return at, result, src.Height
	}
	at = t.sourceTile()
	c := &t.g.Common
	rows, tile := p.tileHeight(src, out, w, &at, c.Cfg.ShMin() > 0 && c.Cfg.ShMin() == c.Cfg.ShMax())
	t.tileRows(tile)
	return at, result, min(rows, src.Height)
}

// convResult is what the task of a share computes.
func (p *plan) convResult(s coeff.Share) regs.Shape {
	out := p.layer.Out()
	return regs.Shape{Groups: s.Groups, Channels: s.Channels, Height: out.H, Width: out.W}
}

// convTask is a multiply-accumulate task of the layer, without its operands.
func (p *plan) convTask(src, dst regs.Shape) *task {
	l := p.layer
	w := &l.Window
	t := engineTask(regs.MultiplyAccumulate, src, dst)
	c := &t.g.Common
	c.ConvCfg = c.ConvCfg.WithKw(uint32(w.Kw)).WithKh(uint32(w.Kh)).
		WithSx(uint32(w.Sx)).WithSy(uint32(w.Sy)).WithPx(uint32(w.Px)).WithPy(uint32(w.Py))
	if l.Depthwise() {
		t.unicast()
	}
	t.engines(dst.Channels)
	t.patch(dst, l.Depthwise(), w)
	t.outputGroups(dst.Channels, l.Depthwise())
	p.post(t)
	return t
}

// post turns on what follows the accumulator: the bias stream, and ReLU.
func (p *plan) post(t *task) {
	if p.layer.Bias {
		t.g.NE.MACCfg = t.g.NE.MACCfg.WithBiasMode(true)
	}
	if p.layer.Activation == layer.ReLU {
		t.activate(regs.ReLU)
	}
	if p.rides() {
		t.table = p.weights.Table
		t.activate(regs.ActivationTable)
	}
}

// rides reports whether the convolution's own descriptor looks its results up: with one
// table that takes them as they are, and room for it in every lane.
func (p *plan) rides() bool {
	l := p.layer
	if l.Op != layer.Convolution || !l.Activation.Rides() || len(p.weights.Table) != coeff.TableBytes || paired(l) {
		return false
	}
	return p.weighed().HoldsTable()
}

// outputGroups sets OCGSize: log2 of the channels an engine takes in one pass, at most
// 4, or 5 where the source is small; 0 for channels by themselves (104/104, the 5 from
// the coefficients' layout only).
func (t *task) outputGroups(channels int, unicast bool) {
	c := &t.g.Common
	if unicast || channels <= engines {
		return
	}
	most := uint32(4)
	if c.Cfg.SmallSourceMode() && !c.Cfg.Transpose() {
		most = 5
	}
	n := min(most, log2Ceil((channels+engines-1)/engines))
	c.ConvCfg = c.ConvCfg.WithOCGSize(n)
}

// patch sets the shape of a patch: 128 pixels, 1<<ShMax of them high, between ShMin and
// ShMax as the engines see fit unless the two are the same. w is nil of a task that
// passes its source through.
func (t *task) patch(out regs.Shape, unicast bool, w *layer.Window) {
	if w == nil {
		t.passPatch(out)
		return
	}
	t.densePatch(out, unicast, w)
}

// densePatch is the patch of a multiply-accumulate: the small source mode up to 8
// columns, 7 - log2 of the columns above (95/96), 0 in a single row. A long reduction
// fixes it, unless every channel is convolved by itself.
func (t *task) densePatch(out regs.Shape, unicast bool, w *layer.Window) {
	c := &t.g.Common
	if out.Width <= 8 {
		c.Cfg = c.Cfg.WithSmallSourceMode(true).WithShPref(4).WithShMin(4).WithShMax(4)
		return
	}
	top := uint32(0)
	if out.Height > 1 {
		top = 7 - min(7, log2Ceil(out.Width))
	}
	c.Cfg = c.Cfg.WithShMax(top)
	if !unicast && t.longReduction(out.Width, out.Channels, w) {
		c.Cfg = c.Cfg.WithShMin(top).WithShPref(top)
	}
}

// longReduction reports whether a reduction is long enough to fix the patch of a result of
// so many columns and channels (81/84; any threshold from 289 to 512 fits up to 32
// columns, above them one between 576 and 2304). Few channels at a stride, or of more than
// 32 columns, leave it open (6/6).
func (t *task) longReduction(columns, channels int, w *layer.Window) bool {
	long := 512
	if columns > 32 {
		long = 1024
	}
	few := channels <= 64 && (max(w.Sy, w.Sx) > 1 || columns > 32)
	return !few && int(t.g.Common.Cin.Cin())*w.Kh*w.Kw >= long
}

// passPatch is the patch of a task that passes its source through: 7 - log2 of the
// columns, but no higher than the source (44/52), and fixed where that is 4 at up to 8
// columns (6/6). Columns that are no whole patches of 128 take the highest (2/2, both
// copies without a table), a single row none.
func (t *task) passPatch(out regs.Shape) {
	c := &t.g.Common
	if out.Height == 1 {
		return
	}
	top := min(7-min(7, log2Ceil(out.Width)), 4, uint32(bits.Len(uint(out.Height))-1))
	c.Cfg = c.Cfg.WithShMax(top)
	if top == 4 && out.Width <= 8 {
		c.Cfg = c.Cfg.WithShMin(4).WithShPref(4)
	}
}

// keptPatch is the patch of a pass-through or maximum whose source a planar task reads
// after it: a row higher than passPatch where the source is lower than the patch, and
// fixed (6/6).
func (t *task) keptPatch(s regs.Shape) {
	if s.Height > 1 {
		t.fixPatch(min(7-min(7, log2Ceil(s.Width)), 4, uint32(bits.Len(uint(s.Height)))))
	}
}

// passedFixed is log2 of the rows of a patch that a planar task hands over tile by tile
// (14/15).
func passedFixed(s regs.Shape) uint32 {
	if s.Height > 1 {
		return 4
	}
	return 7 - min(7, log2Ceil(s.Width))
}

// fixPatch leaves a task on the MAC engines one patch.
func (t *task) fixPatch(sh uint32) {
	c := &t.g.Common
	c.Cfg = c.Cfg.WithShMax(sh).WithShMin(sh).WithShPref(sh)
}

// tilePatch makes a planar task's patch that of the next task, which takes its tiles one
// by one (15/15).
func (t *task) tilePatch(sh uint32) {
	c := &t.g.Common
	c.PlanarPatch = c.PlanarPatch.WithLog2W(max(4, 7-sh)).WithLog2H(sh)
}

// tileHeight is how many source rows stand in the L2 at a time and how many output rows
// they make. A source up to maxTile bytes stands there whole. A larger one comes in whole
// patches, as many as leave room for 256 pixels, or 16 rows, of every result channel; the
// skew stays unless it makes them fewer (11/11, of the heights 7/11). One that the L2 holds
// by itself, but not beside its result, comes a patch at a time for one row of taps. For
// several, without a stride, it comes in two halves, but as high as fits where the patch is
// fixed and that takes no more runs of 256 pixels (5/5, all of 2 MiB to the byte: that
// smaller ones which do not fit beside the result are such is inferred).
func (p *plan) tileHeight(src regs.Shape, out layer.Shape, w *layer.Window, at *layout, fixed bool) (rows, tile int) {
	if at.row*src.Height <= p.maxTile() {
		return src.Height, out.H
	}
	patch := 1 << min(4, 7-min(7, log2Ceil(out.W)))
	unit := 16
	if w.Sy == 1 && w.Sx == 1 && src.Channels != out.C || p.layer.Op == layer.Convolution && !p.layer.Depthwise() {
		unit = min(unit, max(1, 256/out.W))
	}
	room := p.l2() - unit*out.C*layer.RoundUp(out.W*layer.ElementBytes, unitBytes)
	most := func(row int) int {
		n := (room/row - (w.Kh - 1)) / w.Sy
		if n > patch {
			n = n / patch * patch
		}
		return n
	}
	if tile = most(at.row); tile < most(at.depth) {
		at.row = at.depth
		tile = most(at.row)
	}
	if whole := at.depth*src.Height <= p.l2(); whole && w.Kh == 1 {
		tile = patch
	} else if whole && w.Sy == 1 {
		half := layer.RoundUp((out.H+1)/2, patch)
		runs := func(rows int) int { return (rows*out.W + 255) / 256 }
		if !fixed || tile < half || runs(tile)+runs(out.H-tile) > runs(half)+runs(out.H-half) {
			tile = half
		}
	}
	tile = min(max(tile, 1), out.H)
	// The first tile starts with the padding, which takes no memory.
	return min(src.Height, layer.RoundUp((tile-1)*w.Sy+w.Kh-w.Py, w.Sy)), tile
}

// checkTile refuses a source of which not even the rows of one window fit the L2.
func (p *plan) checkTile(src regs.Shape, kh int) error {
	return layer.Within("bytes of one window's rows in the L2", packed(src).row*kh, p.maxTile(),
		"split the width or the input channels until it is at most %d")
}
