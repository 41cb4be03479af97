package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// A MAC is what a task of the MAC engines computes, without the places of its operands and
// coefficients.
type MAC struct {
	Op         regs.MACOp
	In, Out    regs.Shape
	Window     *layer.Window // nil passes the source through
	PerChannel bool          // every result channel reads its own source channel alone
	Pixels     int           // that a step makes; 0 as 1
	Transpose  bool          // channels and columns of the result
	Blocks     bool          // the source is columns in blocks
	Bias       bool          // a row of biases ahead of the weights
	Scale      Factor        // behind the accumulator
	Addend     uint16        // fp16, to what a table looks up
	ReLU       bool
	Table      []byte // looked up with the results, ahead of the weights of every lane
}

// Task is the task, with everything but its operands and coefficients.
func (m MAC) Task() *Task {
	t := newEngineTask(m.Op, m.In, m.Out)
	c, n := &t.g.Common, &t.g.NE
	if w := m.Window; w != nil {
		c.ConvCfg = c.ConvCfg.WithKw(uint32(w.Kw)).WithKh(uint32(w.Kh)).
			WithSx(uint32(w.Sx)).WithSy(uint32(w.Sy)).WithPx(uint32(w.Px)).WithPy(uint32(w.Py))
	}
	if m.Pixels > 1 {
		c.ConvCfg = c.ConvCfg.WithSx(uint32(m.Pixels)).WithOx(uint32(m.Pixels))
	}
	if m.PerChannel {
		t.setUnicast()
	}
	c.Cfg = c.Cfg.WithTranspose(m.Transpose)
	t.setActiveEngines(m.Out.Channels)
	if m.Window == nil {
		setPassPatch(c, m.Out)
	} else {
		setDensePatch(c, m.Out, m.PerChannel, m.Window)
		if m.Blocks {
			setBlockPatch(c, m.In.Height)
		}
		setOutputGroups(c, m.Out.Channels, m.PerChannel)
	}
	n.MACCfg = n.MACCfg.WithBiasMode(m.Bias)
	n.PostScale = n.PostScale.WithPostScale(m.Scale.halfBits())
	n.AccBias = n.AccBias.WithAccBias(m.Addend)
	switch {
	case m.Table != nil:
		t.Table = m.Table
		t.setNonlinear(regs.ActivationTable)
	case m.ReLU:
		t.setNonlinear(regs.ReLU)
	}
	return t
}

// Copy passes a source through the engines unchanged.
func NewCopy(s regs.Shape) *Task {
	return MAC{Op: regs.PassThrough, In: s, Out: s, PerChannel: true}.Task()
}

// Maximum is the maximum over all channels.
func NewChannelMaximum(in regs.Shape) *Task {
	out := in
	out.Channels = 1
	t := MAC{Op: regs.ChannelMaximum, In: in, Out: out, PerChannel: true}.Task()
	c := &t.g.Common
	c.GroupConvCfg = c.GroupConvCfg.WithUnicastCin(uint32(in.Channels))
	t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
	return t
}

// maximumPadding is the padding mode of every maximum over channels (2/2).
const maximumPadding = 1

// elementProduct multiplies neighbouring channels (bytes: the one program of pow).
const elementProduct regs.MACOp = 10

// ChannelPairs multiplies each channel of one tensor by the one of another that stands beside
// it: twice as many channels as the result has.
func NewChannelProduct(out regs.Shape) *Task {
	in := out
	in.Channels *= 2
	t := MAC{Op: elementProduct, In: in, Out: out, PerChannel: true}.Task()
	c := &t.g.Common
	c.GroupConvCfg = c.GroupConvCfg.WithUnicastCin(2).WithElemMultMode(true)
	c.DPE = c.DPE.WithCategory(2)
	c.Cfg = c.Cfg.WithShPref(min(1, c.Cfg.ShMax())).WithShMin(min(1, c.Cfg.ShMax())) // 1/1
	return t
}

// Transposing is a pass-through that makes pixels channels and channels pixels.
func NewTranspose(in regs.Shape) *Task {
	t := MAC{Op: regs.PassThrough, In: in, Out: in, PerChannel: true, Transpose: true}.Task()
	// The channels it writes, 8 at least: as many as a unit of the L2 holds (22/22).
	t.setActiveEngines(max(in.Width, place.UnitBytes/layer.ElementBytes))
	c := &t.g.Common
	if in.Height == 1 && in.Channels <= place.UnitBytes/layer.ElementBytes {
		// Few enough pixels of a source by DMA for the 16 bytes of a channel: a patch 8
		// high is preferred (7/7), and of several channels the lowest is as high as the
		// columns leave room for (2/2).
		c.Cfg = c.Cfg.WithShMax(3).WithShPref(3)
		if in.Channels > 1 {
			c.Cfg = c.Cfg.WithShMin(min(3, 7-min(7, Log2Ceil(in.Width))))
		}
	}
	return t
}

// Aside marks that a task's neighbours on both sides run on the planar engine too.
func (t *Task) MarkPlanarNeighbours(previous, next bool) *Task {
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithPreviousPlanar(previous).WithNextPlanar(next)
	return t
}

// Pointwise is the window of one tap.
var Pointwise = &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}
