package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// pairedPixels is how many outputs a step of a depthwise convolution over one row makes.
const pairedPixels = 2

// paired reports whether a convolution makes two outputs a step: channels by themselves
// over a single row (1/1; none of the six over several rows does). Both tiles have to
// fit the L2.
func paired(l *layer.Layer) bool {
	w := &l.Window
	if !l.IsDepthwise() || l.In.H != 1 || w.Kh != 1 || w.Sx != 1 || w.Sy != 1 || l.Out().W < pairedPixels {
		return false
	}
	source, result := pairTiles(l)
	return source.Row+result.Row <= l.LargestTile()
}

// pairTiles returns the tiles of such a convolution: the source in pieces of the columns that
// a patch of steps needs, in units of 64 bytes, and the result.
func pairTiles(l *layer.Layer) (source, result place.Layout) {
	steps := (l.Out().W + pairedPixels - 1) / pairedPixels
	source = place.Packed(regs.Shape{Channels: l.In.C, Width: l.In.W})
	columns := layer.RoundUp((task.PatchPixels*pairedPixels+l.Window.Kw-1)*layer.ElementBytes, 64)
	if columns < source.Channel {
		source.Channel = columns
		source.Row = columns * l.In.C
		source.Depth, source.Group = source.Row, source.Row
	}
	result = place.Packed(regs.Shape{Channels: l.In.C, Width: steps * pairedPixels})
	return source.Rebase(result.Row), result
}

// convolvePairs appends the convolution, whose steps of two pixels may write one too many, and
// the planar copy that leaves it out.
func convolvePairs(o *Output, j job, made kernels, x, y place.Memory) {
	l := j.layer
	out := l.Out()
	in := regs.Shape{Groups: 1, Channels: l.In.C, Height: 1, Width: l.In.W}
	steps := in
	steps.Width = (out.W + pairedPixels - 1) / pairedPixels
	source, result := pairTiles(l)

	t := newMACTask(l, task.MAC{In: in, Out: steps, Window: &l.Window, PerChannel: true, Pixels: pairedPixels})
	attachKernel(o, made, t, coeff.Share{Group: 0, Groups: 1, First: 0, Channels: l.Cout}, pairedPixels, func(_ coeff.Share, width int) *coeff.Kernel {
		return coeff.PackPairs(l, j.weights, width)
	})
	t.LoadSource1(x, source, false)
	kept := t.KeepResult(result, result.Row)
	o.add(t)

	row := in
	row.Width = out.W
	move := task.Planar{Form: regs.FormConstant, In: row}.Task()
	move.ReadTile(kept, result)
	move.WaitsForPairs = true
	move.WriteResult(y, source.Base+source.Row)
	o.add(move)
}
