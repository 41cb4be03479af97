package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerConvolution lowers a convolution: one descriptor while its coefficients fit the
// engines, else one for each share of the output channels.
//
//	x --DMA--> source tile (L2) --> 16 engines, a share of the output channels each --> y
//	                                  ^ coefficients, a lane an engine
func lowerConvolution(o *Output, j job) error {
	l := j.layer
	if w := &l.Window; max(w.Sy, w.Sx) > layer.MaxStride {
		return lowerLongStride(o, j)
	}
	c := widenWindow(j)
	in, out := l.In, l.Out()
	x, y := o.input(j, "x", in), o.output(j, "y", out)
	if err := checkTile(l, ConvSource(l), min(l.Window.Kh, in.H)); err != nil {
		return err
	}
	to := placeBeforeActivation(o, j, y, out)
	shares, err := c.Shares()
	if err != nil {
		return err
	}
	made := kernels{}
	for n := range in.N {
		if paired(l) {
			convolvePairs(o, j, made, x.BatchElement(n), to.BatchElement(n))
		} else {
			convolveElement(o, c, made, shares, x.BatchElement(n), to.BatchElement(n))
		}
	}
	return lowerActivation(o, j, out, to, y)
}

// widenWindow enlarges a window that lies in the padding alone by taps of zero weight, and returns
// the convolution with the taps that its weights have. (The compiler pads with a task of its
// own: 1/1.)
func widenWindow(j job) *coeff.Convolution {
	l := j.layer
	c := &coeff.Convolution{Layer: l, Weights: j.weights, Rows: l.TapRows(), Columns: l.TapColumns()}
	w := &l.Window
	y, x := max(0, w.Py+1-w.Kh), max(0, w.Px+1-w.Kw)
	w.Kh, w.Kw = w.Kh+y, w.Kw+x
	w.Qy, w.Qx = w.Qy+y, w.Qx+x
	if fusesTable(j) {
		c.Table = j.weights.Table
	}
	return c
}

// ConvSource returns the part of the source that a task works on at a time: a group.
func ConvSource(l *layer.Layer) regs.Shape {
	groups := (&coeff.Convolution{Layer: l}).TaskGroups()
	return regs.Shape{Groups: groups, Channels: l.In.C / groups, Height: l.In.H, Width: l.In.W}
}

// convolveElement appends the tasks of one element of the batch.
func convolveElement(o *Output, c *coeff.Convolution, made kernels, shares []coeff.Share, x, y place.Memory) {
	l := c.Layer
	whole, out := ConvSource(l), l.Out()
	w := &l.Window
	first := ConvTask(c, whole, shareResult(l, shares[0]))
	at := first.SourceTile()
	resident := at.Row*whole.Height <= l.LargestTile()
	// A source that stands in the L2 whole is loaded once for all the channels made
	// from it.
	shared := resident && whole.Groups == 1 && !l.IsDepthwise() && len(shares) > 1
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
		t := ConvTask(c, src, shareResult(l, s))
		if src != whole && resident {
			at = t.SourceTile()
		}
		rows, result := whole.Height, place.Layout{}
		if !resident {
			at, result, rows = tileSource(l, t, src, out, w)
		}
		attachKernel(o, made, t, s, t.PlaneWidth(w.Kh*w.Kw*src.Channels), func(s coeff.Share, width int) *coeff.Kernel {
			return c.Pack(s, width, o.Constants.Reserve)
		})
		if loaded != nil && shared {
			t.ReadTile(loaded, at)
		} else {
			loaded = t.LoadSource1(from, at, shared)
			loaded.Bytes = at.Row * rows
		}
		to := y
		to.Base += s.Group*y.Group + s.First*y.Plane
		if result.Row > 0 {
			t.StageResult(to, result)
			o.add(t)
			continue
		}
		t.WriteResult(to, layer.RoundUp(at.Row*rows, 16))
		o.add(t)
	}
}

// shareResult returns the shape that the task of a share computes.
func shareResult(l *layer.Layer, s coeff.Share) regs.Shape {
	out := l.Out()
	return regs.Shape{Groups: s.Groups, Channels: s.Channels, Height: out.H, Width: out.W}
}

// ConvTask returns a multiply-accumulate task of the convolution, without its operands.
func ConvTask(c *coeff.Convolution, src, dst regs.Shape) *task.Task {
	return newMACTask(c.Layer, task.MAC{In: src, Out: dst, Window: &c.Layer.Window, PerChannel: c.Layer.IsDepthwise(), Table: c.Table})
}

// newMACTask returns a multiply-accumulate task with the layer's factor, its bias and its ReLU.
func newMACTask(l *layer.Layer, m task.MAC) *task.Task {
	m.Op = regs.MultiplyAccumulate
	m.Bias, m.ReLU = l.Bias, l.Activation == layer.ReLU
	if l.Factor != 0 {
		m.Scale = task.NewFactor(uint16(l.Factor))
	}
	return m.Task()
}

// fusedTable returns the table that the layer's own descriptors look their results up in, nil for
// none.
func fusedTable(j job) []byte {
	if !fusesTable(j) {
		return nil
	}
	return j.weights.Table
}

// fusesTable reports whether the layer's own descriptors look their results up: with one table that
// takes them as they are, and room for it in every lane.
func fusesTable(j job) bool {
	return j.layer.Activation.IsSingleTable() && len(j.weights.Table) == coeff.TableBytes && holdsTable(j)
}

// holdsTable reports whether the layer's tasks multiply by constants and have room for a table.
func holdsTable(j job) bool {
	switch l := j.layer; {
	case l.Op == layer.Convolution:
		return !paired(l) && (&coeff.Convolution{Layer: l, Weights: j.weights}).FitsTable()
	case l.Op == layer.MatMul && l.Second == layer.Constant || l.Op == layer.Linear:
		return l.In.N*l.In.C*l.In.H <= task.PatchPixels || productBytes(l)+coeff.TableBytes <= l.LaneBytes()
	}
	return false
}
