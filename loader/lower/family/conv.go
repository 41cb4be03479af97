package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/task"
)

// convolution lowers a convolution: one descriptor while its coefficients fit the
// engines, else one for each share of the output channels.
//
//	x --DMA--> source tile (L2) --> 16 engines, a share of the output channels each --> y
//	                                  ^ coefficients, a lane an engine
func (p *Plan) convolution() error {
	l := p.Layer
	if w := &l.Window; max(w.Sy, w.Sx) > layer.MaxStride {
		return p.longStride()
	}
	c := p.widen()
	in, out := l.In, l.Out()
	x, y := p.input("x", in), p.output("y", out)
	if err := p.checkTile(p.ConvSource(), min(l.Window.Kh, in.H)); err != nil {
		return err
	}
	to := p.behind(y, out)
	shares, err := c.Shares()
	if err != nil {
		return err
	}
	made := kernels{}
	for n := range in.N {
		if paired(l) {
			p.pairs(made, x.Element(n), to.Element(n))
		} else {
			p.convolve(c, made, shares, x.Element(n), to.Element(n))
		}
	}
	return p.finishActivation(out, to, y)
}

// widen enlarges a window that lies in the padding alone by taps of zero weight, and returns
// the convolution with the taps that its weights have. (The compiler pads with a task of its
// own: 1/1.)
func (p *Plan) widen() *coeff.Convolution {
	l := p.Layer
	c := &coeff.Convolution{Layer: l, Weights: p.Weights, Rows: l.TapRows(), Columns: l.TapColumns()}
	w := &l.Window
	y, x := max(0, w.Py+1-w.Kh), max(0, w.Px+1-w.Kw)
	w.Kh, w.Kw = w.Kh+y, w.Kw+x
	w.Qy, w.Qx = w.Qy+y, w.Qx+x
	if p.rides() {
		c.Table = p.Weights.Table
	}
	return c
}

// ConvSource is the part of the source a task works on at a time: a group.
func (p *Plan) ConvSource() regs.Shape {
	l := p.Layer
	groups := (&coeff.Convolution{Layer: l}).TaskGroups()
	return regs.Shape{Groups: groups, Channels: l.In.C / groups, Height: l.In.H, Width: l.In.W}
}

// convolve appends the tasks of one element of the batch.
func (p *Plan) convolve(c *coeff.Convolution, made kernels, shares []coeff.Share, x, y task.Memory) {
	l := p.Layer
	whole, out := p.ConvSource(), l.Out()
	w := &l.Window
	first := p.ConvTask(whole, p.convResult(shares[0]))
	at := first.SourceTile()
	resident := at.Row*whole.Height <= p.Layer.LargestTile()
	// A source that stands in the L2 whole is loaded once for all the channels made
	// from it.
	shared := resident && whole.Groups == 1 && !l.Depthwise() && len(shares) > 1
	x.Group, y.Group = x.Depth/whole.Groups, y.Depth/whole.Groups
	var loaded *task.Tile
	for _, s := range shares {
		src, from, at := whole, x, at
		src.Groups = s.Groups
		from.Base += s.Group * x.Group
		if l.Depthwise() && s.Channels < src.Channels {
			src.Channels = s.Channels
			from.Base += s.First * x.Plane
		}
		t := p.ConvTask(src, p.convResult(s))
		if src != whole && resident {
			at = t.SourceTile()
		}
		rows, result := whole.Height, task.Layout{}
		if !resident {
			at, result, rows = p.tiled(t, src, out, w)
		}
		p.attach(made, t, s, t.PlaneWidth(w.Kh*w.Kw*src.Channels), func(s coeff.Share, width int) *coeff.Kernel {
			return c.Kernel(s, width, p.Constants.Room)
		})
		if loaded != nil && shared {
			t.Reads(loaded, at)
		} else {
			loaded = t.Source1(from, at, shared)
			loaded.Bytes = at.Row * rows
		}
		to := y
		to.Base += s.Group*y.Group + s.First*y.Plane
		if result.Row > 0 {
			t.Stages(to, result)
			p.add(t)
			continue
		}
		t.Writes(to, layer.RoundUp(at.Row*rows, 16))
		p.add(t)
	}
}

// convResult is what the task of a share computes.
func (p *Plan) convResult(s coeff.Share) regs.Shape {
	out := p.Layer.Out()
	return regs.Shape{Groups: s.Groups, Channels: s.Channels, Height: out.H, Width: out.W}
}

// ConvTask is a multiply-accumulate task of the layer, without its operands.
func (p *Plan) ConvTask(src, dst regs.Shape) *task.Task {
	return p.multiplied(task.MAC{In: src, Out: dst, Window: &p.Layer.Window, Alone: p.Layer.Depthwise()}).Task()
}

// multiplied is a multiply-accumulate of the layer, with what follows the accumulator: the
// bias stream, and ReLU or a table.
func (p *Plan) multiplied(m task.MAC) task.MAC {
	m.Op = regs.MultiplyAccumulate
	m.Bias, m.ReLU = p.Layer.Bias, p.Layer.Activation == layer.ReLU
	if p.rides() {
		m.Table = p.Weights.Table
	}
	return m
}

// rides reports whether the convolution's own descriptor looks its results up: with one
// table that takes them as they are, and room for it in every lane.
func (p *Plan) rides() bool {
	l := p.Layer
	if l.Op != layer.Convolution || !l.Activation.Rides() || len(p.Weights.Table) != coeff.TableBytes || paired(l) {
		return false
	}
	return (&coeff.Convolution{Layer: l, Weights: p.Weights}).HoldsTable()
}
