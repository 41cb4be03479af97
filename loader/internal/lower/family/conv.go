package family

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerConvolution appends the tasks of a convolution: one if the weights fit in the memories of
// the engines, and otherwise one for each share of the output channels.
//
//	x --DMA--> source tile (L2) --> 16 engines, a share of the output channels each --> y
//	                                  ^ weights, one lane for each engine
func lowerConvolution(o *Output, j job) error {
	l := j.layer
	if w := &l.Window; max(w.Sy, w.Sx) > layer.MaxStride {
		return lowerLongStrideConvolution(o, j)
	}
	in, out := l.In, l.Out()
	x, y := o.placeInput(j, "x", in), o.placeOutput(j, "y", out)
	to := placeBeforeActivation(o, j, y, out)
	made := kernels{}
	phases := rowPhases(l)
	if phases != nil && !phasesTakeFewerSteps(l, phases) {
		if _, err := newWidenedConvolution(j).Shares(); err == nil {
			phases = nil
		}
	}
	if phases != nil {
		for _, p := range phases {
			if l.NeedsTable() && !canFuseTable(j) {
				p.layer.Activation = 0 // lowerActivation applies it to the whole result
			}
			if err := convolveTensor(o, job{layer: &p.layer, weights: j.weights}, made, p.rowsOf(l, x, p.in), p.rowsOf(l, to, p.out)); err != nil {
				return err
			}
		}
	} else if err := convolveTensor(o, j, made, x, to); err != nil {
		return err
	}
	return lowerActivation(o, j, out, to, y)
}

// phasesTakeFewerSteps reports whether the engines multiply by fewer taps in the phases of convolution
// l than in the whole. They compute patches of 128 pixels, which a phase of a small image does not
// fill, and load all weights for each phase.
func phasesTakeFewerSteps(l *layer.Layer, phases []*rowPhase) bool {
	steps := func(l *layer.Layer) int {
		out := l.Out()
		return (out.H*out.W + task.PatchPixels - 1) / task.PatchPixels * l.Window.Kh * l.Window.Kw
	}
	sum := 0
	for _, p := range phases {
		sum += steps(&p.layer)
	}
	return sum < steps(l)
}

// convolveTensor appends the tasks that convolve the tensor at x and write y.
func convolveTensor(o *Output, j job, made kernels, x, y place.Memory) error {
	c := newWidenedConvolution(j)
	l := c.Layer
	shares, err := c.Shares()
	if err != nil {
		return err
	}
	if err := checkRowsFit(l, ConvTask(c, ConvSource(l), shareResultShape(l, shares[0])).SourceTile(), min(l.Window.Kh, l.In.H)); err != nil {
		return err
	}
	for n := range l.In.N {
		if computesOutputPairs(l) {
			convolveOutputPairs(o, c, made, x.BatchElement(n), y.BatchElement(n))
		} else {
			convolveBatchElement(o, c, made, shares, x.BatchElement(n), y.BatchElement(n))
		}
	}
	return nil
}

// A rowPhase is a part of a dilated convolution: a convolution with adjacent rows of taps that
// computes every row of the result that is Dilation rows after another one, from rows of the source
// that are as far apart. in and out are the first rows of the source and of the result.
type rowPhase struct {
	layer   layer.Layer
	in, out int
}

// rowsOf returns the place of the rows of a tensor at m that a phase of l reads or writes, from the
// given row on.
func (p *rowPhase) rowsOf(l *layer.Layer, m place.Memory, first int) place.Memory {
	m.Base += first * m.Row
	m.Row *= l.Dilation
	return m
}

// rowPhases returns the phases of a dilated convolution with stride 1 along rows, or nil if l is not
// one or has fewer rows than phases. Strides make the rows of a phase neighbors, so that the window
// needs no rows of zeros between its taps: 3x3 taps that are 4 apart cost 3x9 multiplications in
// place of 9x9. Columns stay dilated, because DMA has no stride between the elements of a row. (How
// Apple's compiler lowers a dilated window is not known.)
func rowPhases(l *layer.Layer) []*rowPhase {
	w, d := &l.Window, l.Dilation
	out := l.Out()
	if d <= 1 || l.DenseRows || l.TapRows() == 1 || w.Sy != 1 || max(w.Py, w.Qy) >= w.Kh || min(l.In.H, out.H) < d {
		return nil
	}
	var phases []*rowPhase
	for q := range d {
		// Tap t of result row q+d*i reads source row q+d*i-Py+d*t, which is row r+d*(i+t-before).
		r := ((q-w.Py)%d + d) % d
		before := (w.Py + r - q) / d
		p := &rowPhase{layer: *l, in: r, out: q}
		results, sources := (out.H-q+d-1)/d, (l.In.H-r+d-1)/d
		p.layer.DenseRows = true
		p.layer.Window.Kh, p.layer.Window.Py = l.TapRows(), before
		p.layer.Window.Qy = max(0, results-1+p.layer.Window.Kh-before-sources)
		p.layer.In.H = results - 1 + p.layer.Window.Kh - before - p.layer.Window.Qy
		phases = append(phases, p)
	}
	return phases
}

// newWidenedConvolution returns the convolution of a job with the taps of its weights. Its layer is
// a copy with the window that widenWindow returns.
func newWidenedConvolution(j job) *coeff.Convolution {
	l := j.layer
	widened := *l
	widened.Window = widenWindow(l.Window)
	// The weights have the taps of the layer's own window.
	c := &coeff.Convolution{Layer: &widened, Weights: j.weights, Rows: l.TapRows(), Columns: l.TapColumns()}
	if canFuseTable(j) {
		c.Table = j.weights.Table
	}
	return c
}

// widenWindow returns w, with taps of zero weight added if the padding is so wide that some outputs
// read nothing but padding. (Apple's compiler uses a separate task in the one such program seen.)
func widenWindow(w layer.Window) layer.Window {
	y, x := max(0, w.Py+1-w.Kh), max(0, w.Px+1-w.Kw)
	w.Kh, w.Kw = w.Kh+y, w.Kw+x
	w.Qy, w.Qx = w.Qy+y, w.Qx+x
	return w
}

// ConvSource returns the shape of the source as the tasks of convolution l read it, with the
// channels divided into the groups that are convolved separately. A depthwise convolution counts as
// one group.
func ConvSource(l *layer.Layer) regs.Shape {
	groups := (&coeff.Convolution{Layer: l}).TaskGroups()
	return regs.Shape{Groups: groups, Channels: l.In.C / groups, Height: l.In.H, Width: l.In.W}
}

// convolveBatchElement appends the tasks that convolve one element of the batch, from x to y. There
// is one task for each of shares.
func convolveBatchElement(o *Output, c *coeff.Convolution, packed kernels, shares []coeff.Share, x, y place.Memory) {
	l := c.Layer
	whole, out := ConvSource(l), l.Out()
	w := &l.Window
	first := ConvTask(c, whole, shareResultShape(l, shares[0]))
	// A source that fits L2 in whole rows is loaded once for all shares of the output channels.
	// Otherwise each share loads it again, in slices of 128 columns.
	at, kept := first.SourceTile(), first.KeptTile()
	shared := kept.Row*whole.Height <= l.LargestTile() && whole.Groups == 1 && !l.IsDepthwise() && len(shares) > 1
	if shared {
		at = kept
	}
	resident := at.Row*whole.Height <= l.LargestTile()
	x.Group, y.Group = x.Depth/whole.Groups, y.Depth/whole.Groups
	var loaded *task.Tile
	pack := func(s coeff.Share, width int) *coeff.Kernel { return c.Pack(s, width, o.Constants.Reserve) }
	for _, s := range shares {
		src, from, at := whole, x, at
		src.Groups = s.Groups
		from.Base += s.Group * x.Group
		if l.IsDepthwise() && s.Channels < src.Channels {
			src.Channels = s.Channels
			from.Base += s.First * x.Plane
		}
		t := ConvTask(c, src, shareResultShape(l, s))
		if src != whole && resident {
			at = t.SourceTile()
		}
		rows, result := whole.Height, place.Layout{}
		if !resident {
			at, result, rows = placeLargeSource(l, t, src, out, w)
		}
		attachKernel(o, packed, t, s, t.PlaneWidth(w.Kh*w.Kw*src.Channels), pack)
		if loaded != nil && shared {
			t.ReadTile(loaded, at)
		} else {
			loaded = t.LoadSource1(from, at, shared)
		}
		to := y
		to.Base += s.Group*y.Group + s.First*y.Plane
		if result.Row > 0 {
			t.StageResult(to, result)
			o.addTask(t)
			continue
		}
		t.WriteResult(to, layer.RoundUp(at.Row*rows, 16))
		o.addTask(t)
	}
}

// shareResultShape returns the shape of the result of the task that computes share s of the layer.
func shareResultShape(l *layer.Layer, s coeff.Share) regs.Shape {
	out := l.Out()
	return regs.Shape{Groups: s.Groups, Channels: s.Channels, Height: out.H, Width: out.W}
}

// ConvTask returns a task that computes convolution c, or a share of it. src is the shape of the
// task's source, and dst is the shape of its result. The caller must set the places of both, and
// the weights.
func ConvTask(c *coeff.Convolution, src, dst regs.Shape) *task.Task {
	return newMACTask(c.Layer, task.MAC{In: src, Out: dst, Window: &c.Layer.Window, PerChannel: c.Layer.IsDepthwise(), Table: c.Table})
}

// newMACTask returns a multiply-accumulate task for m, with the factor, the bias and the ReLU of
// the layer added.
func newMACTask(l *layer.Layer, m task.MAC) *task.Task {
	m.Op = regs.MultiplyAccumulate
	m.Bias, m.ReLU = l.Bias, l.Activation == layer.ReLU
	if l.Factor != 0 {
		m.Scale = task.NewFactor(uint16(l.Factor))
	}
	return m.Task()
}

// fusedTable returns the activation table that the layer's own tasks apply to their sums, or nil if
// they apply none.
func fusedTable(j job) []byte {
	if !canFuseTable(j) {
		return nil
	}
	return j.weights.Table
}

// canFuseTable reports whether the layer's own tasks can apply its activation. The activation must
// be a single table lookup, and every engine must have room for the table next to its weights.
func canFuseTable(j job) bool {
	return j.layer.Activation.IsSingleTable() && len(j.weights.Table) == coeff.TableBytes && hasRoomForTable(j)
}

// hasRoomForTable reports whether the layer multiplies by constants and every engine has room for
// an activation table next to its weights.
func hasRoomForTable(j job) bool {
	switch l := j.layer; {
	case l.Op == layer.Convolution:
		widened := *l
		widened.Window = widenWindow(l.Window)
		return !computesOutputPairs(&widened) && (&coeff.Convolution{Layer: &widened, Weights: j.weights}).FitsTable()
	case l.Op == layer.MatMul && l.Second == layer.Constant || l.Op == layer.Linear:
		return l.In.N*l.In.C*l.In.H <= task.PatchPixels || columnBytes(l)+coeff.TableBytes <= l.LaneBytes()
	}
	return false
}
