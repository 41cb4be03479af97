package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// pairedPixels is the number of outputs that a paired depthwise convolution computes in one
// step.
const pairedPixels = 2

// isPaired reports whether a convolution computes two outputs in one step. It must be depthwise
// and have a single row, and both tiles must fit L2. (The only program with one row does so, and
// none of six with several rows.)
func isPaired(l *layer.Layer) bool {
	w := &l.Window
	if !l.IsDepthwise() || l.In.H != 1 || w.Kh != 1 || w.Sx != 1 || w.Sy != 1 || l.Out().W < pairedPixels {
		return false
	}
	source, result := pairLayouts(l)
	return source.Row+result.Row <= l.LargestTile()
}

// pairLayouts returns the layouts of the source and the result of a paired convolution. The
// source is divided into pieces with the columns that a patch of steps reads, in units of 64
// bytes.
func pairLayouts(l *layer.Layer) (source, result place.Layout) {
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

// convolvePairs appends a paired convolution and a planar copy. The convolution may compute one
// column too many, which the copy leaves out.
func convolvePairs(o *Output, j job, made kernels, x, y place.Memory) {
	l := j.layer
	out := l.Out()
	in := regs.Shape{Groups: 1, Channels: l.In.C, Height: 1, Width: l.In.W}
	steps := in
	steps.Width = (out.W + pairedPixels - 1) / pairedPixels
	source, result := pairLayouts(l)

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
