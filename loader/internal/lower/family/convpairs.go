package family

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// pairedPixels is the number of outputs that a paired depthwise convolution computes in one
// step.
const pairedPixels = 2

// computesOutputPairs reports whether the engines compute two outputs of a convolution per step.
// They do so for depthwise convolutions of a single row whose source and result tiles both fit in
// L2. This is inferred from seven programs: the one with a single row computes pairs, and the six
// with several rows do not.
func computesOutputPairs(l *layer.Layer) bool {
	w := &l.Window
	if !l.IsDepthwise() || l.In.H != 1 || w.Kh != 1 || w.Sx != 1 || w.Sy != 1 || l.Out().W < pairedPixels {
		return false
	}
	source, result := outputPairLayouts(l)
	return source.Row+result.Row <= l.LargestTile()
}

// outputPairLayouts returns the layouts in L2 of the source and the result of a convolution that
// computes two outputs per step. The source is divided into pieces of columns, each read by one
// patch, the block of pixels that the engines compute at the same time.
func outputPairLayouts(l *layer.Layer) (source, result place.Layout) {
	steps := (l.Out().W + pairedPixels - 1) / pairedPixels
	columns := layer.RoundUp(task.PatchPixels*pairedPixels+l.Window.Kw-1, 64/layer.ElementBytes)
	source = place.PackedColumns(regs.Shape{Channels: l.In.C}, min(l.In.W, columns))
	result = place.Packed(regs.Shape{Channels: l.In.C, Width: steps * pairedPixels})
	return source.Rebase(result.Row), result
}

// convolveOutputPairs appends two tasks for one element of the batch: a convolution that computes
// two outputs per step, and a copy to y. If the number of columns is odd, the convolution computes
// one column too many, which the copy leaves out.
func convolveOutputPairs(o *Output, c *coeff.Convolution, packed kernels, x, y place.Memory) {
	l := c.Layer
	out := l.Out()
	in := regs.Shape{Groups: 1, Channels: l.In.C, Height: 1, Width: l.In.W}
	steps := in
	steps.Width = (out.W + pairedPixels - 1) / pairedPixels
	source, result := outputPairLayouts(l)

	t := newMACTask(l, task.MAC{In: in, Out: steps, Window: &l.Window, PerChannel: true, Pixels: pairedPixels})
	attachKernel(o, packed, t, coeff.Share{Group: 0, Groups: 1, First: 0, Channels: l.Cout}, pairedPixels, c.PackPairs)
	t.LoadSource1(x, source, false)
	kept := t.KeepResult(result)
	o.addTask(t)

	row := in
	row.Width = out.W
	move := task.Planar{Form: regs.FormConstant, In: row}.Task()
	move.ReadTile(kept, result)
	move.WaitsForPairs = true
	move.WriteResult(y, source.Base+source.Row)
	o.addTask(move)
}
