package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
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
	c := newWidenedConvolution(j)
	in, out := l.In, l.Out()
	x, y := o.placeInput(j, "x", in), o.placeOutput(j, "y", out)
	shares, err := c.Shares()
	if err != nil {
		return err
	}
	if err := checkRowsFit(l, ConvTask(c, ConvSource(l), shareResultShape(l, shares[0])).SourceTile(), min(l.Window.Kh, in.H)); err != nil {
		return err
	}
	to := placeBeforeActivation(o, j, y, out)
	made := kernels{}
	for n := range in.N {
		if computesOutputPairs(l) {
			convolveOutputPairs(o, c, made, x.BatchElement(n), to.BatchElement(n))
		} else {
			convolveBatchElement(o, c, made, shares, x.BatchElement(n), to.BatchElement(n))
		}
	}
	return lowerActivation(o, j, out, to, y)
}

// newWidenedConvolution returns the convolution of a job with the taps of its weights. If padding
// is so wide that some outputs read nothing but padding, newWidenedConvolution first enlarges the
// window of the layer by taps of zero weight. (The vendor's compiler uses a separate task in the
// one such program seen.)
func newWidenedConvolution(j job) *coeff.Convolution {
	l := j.layer
	c := &coeff.Convolution{Layer: l, Weights: j.weights, Rows: l.TapRows(), Columns: l.TapColumns()}
	w := &l.Window
	y, x := max(0, w.Py+1-w.Kh), max(0, w.Px+1-w.Kw)
	w.Kh, w.Kw = w.Kh+y, w.Kw+x
	w.Qy, w.Qx = w.Qy+y, w.Qx+x
	if canFuseTable(j) {
		c.Table = j.weights.Table
	}
	return c
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
		attachKernel(o, packed, t, s, t.PlaneWidth(w.Kh*w.Kw*src.Channels), func(s coeff.Share, width int) *coeff.Kernel {
			return c.Pack(s, width, o.Constants.Reserve)
		})
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
		return !computesOutputPairs(l) && (&coeff.Convolution{Layer: l, Weights: j.weights}).FitsTable()
	case l.Op == layer.MatMul && l.Second == layer.Constant || l.Op == layer.Linear:
		return l.In.N*l.In.C*l.In.H <= task.PatchPixels || columnBytes(l)+coeff.TableBytes <= l.LaneBytes()
	}
	return false
}
