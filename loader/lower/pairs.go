package lower

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
)

// pairedPixels is how many outputs a step of a depthwise convolution over one row makes.
const pairedPixels = 2

// paired reports whether a convolution makes two outputs a step: channels by themselves
// over a single row (1/1; none of the six over several rows does). Both tiles have to
// fit the L2.
func paired(l *layer.Layer) bool {
	w := &l.Window
	if !l.Depthwise() || l.In.H != 1 || w.Kh != 1 || w.Sx != 1 || w.Sy != 1 || l.Out().W < pairedPixels {
		return false
	}
	source, result := pairTiles(l)
	return source.row+result.row <= layer.LargestTile(l.L2Bytes())
}

// pairTiles are the tiles of such a convolution: the source in pieces of the columns that
// a patch of steps needs, in units of 64 bytes, and the result.
func pairTiles(l *layer.Layer) (source, result layout) {
	steps := (l.Out().W + pairedPixels - 1) / pairedPixels
	source = packed(regs.Shape{Channels: l.In.C, Width: l.In.W})
	columns := layer.RoundUp((patchPixels*pairedPixels+l.Window.Kw-1)*layer.ElementBytes, 64)
	if columns < source.channel {
		source.channel = columns
		source.row = columns * l.In.C
		source.depth, source.group = source.row, source.row
	}
	result = packed(regs.Shape{Channels: l.In.C, Width: steps * pairedPixels})
	return source.moved(result.row), result
}

// pairs appends the convolution, whose steps of two pixels may write one too many, and
// the planar copy that leaves it out.
func (p *plan) pairs(x, y memory) {
	l := p.layer
	w, out := &l.Window, l.Out()
	in := regs.Shape{Groups: 1, Channels: l.In.C, Height: 1, Width: l.In.W}
	steps := in
	steps.Width = (out.W + pairedPixels - 1) / pairedPixels
	source, result := pairTiles(l)

	t := engineTask(regs.MultiplyAccumulate, in, steps)
	c := &t.g.Common
	c.ConvCfg = c.ConvCfg.WithKw(uint32(w.Kw)).WithPx(uint32(w.Px)).WithSx(pairedPixels).WithOx(pairedPixels)
	t.unicast()
	t.engines(l.In.C)
	t.patch(steps, true, w)
	p.post(t)
	p.attach(t, coeff.Share{Group: 0, Groups: 1, First: 0, Channels: l.Cout}, pairedPixels, func(_ coeff.Share, width int) *coeff.Kernel {
		return coeff.Pairs(l, p.weights, width)
	})
	t.source1(x, source, false)
	kept := t.leaves(result, result.row)
	p.add(t)

	row := in
	row.Width = out.W
	move := planarTask(regs.FormConstant, row, row)
	move.reads(kept, result)
	move.waitsForPairs = true
	move.writes(y, source.base+source.row)
	p.add(move)
}
