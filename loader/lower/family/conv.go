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
	p.widen()
	in, out := l.In, l.Out()
	x, y := p.input("x", in), p.output("y", out)
	if err := p.checkTile(p.ConvSource(), min(l.Window.Kh, in.H)); err != nil {
		return err
	}
	to := p.behind(y, out)
	shares, err := p.weighed().Shares()
	if err != nil {
		return err
	}
	for n := range in.N {
		if paired(l) {
			p.pairs(x.Element(n), to.Element(n))
		} else {
			p.convolve(shares, x.Element(n), to.Element(n))
		}
	}
	return p.finishActivation(out, to, y)
}

// widen makes a window that stands before the input by itself or more larger by taps of
// zero weight. (The compiler pads with a task of its own: 1/1.)
func (p *Plan) widen() {
	w := &p.Layer.Window
	p.taps = [2]int{p.Layer.TapRows(), p.Layer.TapColumns()}
	y, x := max(0, w.Py+1-w.Kh), max(0, w.Px+1-w.Kw)
	w.Kh, w.Kw = w.Kh+y, w.Kw+x
	w.Qy, w.Qx = w.Qy+y, w.Qx+x
}

// ConvSource is the part of the source a task works on at a time: a group.
func (p *Plan) ConvSource() regs.Shape {
	l := p.Layer
	groups := p.weighed().TaskGroups()
	return regs.Shape{Groups: groups, Channels: l.In.C / groups, Height: l.In.H, Width: l.In.W}
}

// weighed is the convolution as its coefficients are packed.
func (p *Plan) weighed() *coeff.Convolution {
	return &coeff.Convolution{Layer: p.Layer, Weights: p.Weights, Rows: p.taps[0], Columns: p.taps[1]}
}

// convolve appends the tasks of one element of the batch.
func (p *Plan) convolve(shares []coeff.Share, x, y task.Memory) {
	l := p.Layer
	whole, out := p.ConvSource(), l.Out()
	w := &l.Window
	first := p.ConvTask(whole, p.convResult(shares[0]))
	at := first.SourceTile()
	resident := at.Row*whole.Height <= p.maxTile()
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
		p.attach(t, s, t.PlaneWidth(w.Kh*w.Kw*src.Channels), func(s coeff.Share, width int) *coeff.Kernel {
			c := p.weighed()
			c.Table = p.table()
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
// factor, the bias stream, and ReLU or a table.
func (p *Plan) multiplied(m task.MAC) task.MAC {
	m.Op = regs.MultiplyAccumulate
	m.Bias, m.ReLU = p.Layer.Bias, p.Layer.Activation == layer.ReLU
	if f := p.Layer.Factor; f != 0 {
		m.Scale = task.By(uint16(f))
	}
	m.Table = p.table()
	return m
}

// table is the table that the layer's own descriptors look their results up in, nil for none.
func (p *Plan) table() []byte {
	if !p.rides() {
		return nil
	}
	return p.Weights.Table
}

// rides reports whether the layer's own descriptor looks its results up: with one table that
// takes them as they are, and room for it in every lane.
func (p *Plan) rides() bool {
	return p.Layer.Activation.Rides() && len(p.Weights.Table) == coeff.TableBytes && p.holdsTable()
}

// holdsTable reports whether the tasks of a product with constants have room for a table.
func (p *Plan) holdsTable() bool {
	switch l := p.Layer; {
	case l.Op == layer.Convolution:
		return !paired(l) && p.weighed().HoldsTable()
	case l.Op == layer.MatMul && l.Second == layer.Constant || l.Op == layer.Linear:
		return l.In.N*l.In.C*l.In.H <= task.PatchPixels || productBytes(l)+coeff.TableBytes <= l.LaneBytes()
	}
	return false
}
