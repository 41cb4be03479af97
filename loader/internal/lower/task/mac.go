package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// A MAC describes a task of the MAC (multiply-accumulate) engines: its operation, its shapes, and
// the steps that follow the sums. It does not hold the addresses of operands and weights.
type MAC struct {
	Op         regs.MACOp
	In, Out    regs.Shape
	Window     *layer.Window // nil passes the source through
	PerChannel bool          // each result channel reads only its own source channel
	Pixels     int           // pixels computed per step; 0 means 1
	Transpose  bool          // exchange channels and columns of the result
	Blocks     bool          // the source holds columns in blocks
	Bias       bool          // each plane of weights starts with a row of biases
	Scale      Factor        // multiplies the accumulated sums
	Addend     uint16        // fp16, added before the table lookup
	ReLU       bool
	Table      []byte // looked up with the results; stored before the weights of every lane
}

// Task returns a new task that computes m. The caller must set its sources, its result and its
// weights.
func (m MAC) Task() *Task {
	t := newEngineTask(m.Op, m.In, m.Out)
	c, n := &t.g.Common, &t.g.NE
	if w := m.Window; w != nil {
		c.ConvCfg = c.ConvCfg.WithKw(uint32(w.Kw)).WithKh(uint32(w.Kh)).
			WithSx(uint32(w.Sx)).WithSy(uint32(w.Sy)).WithPx(uint32(w.Px)).WithPy(uint32(w.Py))
	}
	// The horizontal stride is also the number of adjacent pixels that one position of the window
	// computes.
	if m.Pixels > 1 {
		c.ConvCfg = c.ConvCfg.WithSx(uint32(m.Pixels)).WithOx(uint32(m.Pixels))
	}
	if m.PerChannel {
		t.setUnicast()
	}
	c.Cfg = c.Cfg.WithTranspose(m.Transpose)
	t.setActiveEngines(m.Out.Channels)
	if m.Window == nil {
		// A task without weights is bound by moving data. The compiler gives it a patch by other rules
		// than a sum.
		setCopyPatch(c, m.Out)
	} else {
		setDensePatch(c, m.Out, m.PerChannel, m.Window)
		if m.Blocks {
			setBlockPatch(c, m.In.Height)
		}
		setOutputGroupSize(c, m.Out.Channels, m.PerChannel)
	}
	n.MACCfg = n.MACCfg.WithBiasMode(m.Bias)
	n.PostScale = n.PostScale.WithPostScale(m.Scale.fp16Bits())
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

// NewCopy returns a task that copies a tensor of shape s through the MAC engines. The caller must
// set its source and result.
func NewCopy(s regs.Shape) *Task {
	return MAC{Op: regs.PassThrough, In: s, Out: s, PerChannel: true}.Task()
}

// NewChannelMaximum returns a MAC task that computes the maximum over the channels of each pixel.
// The source has shape in, and the result has one channel.
func NewChannelMaximum(in regs.Shape) *Task {
	out := in
	out.Channels = 1
	t := MAC{Op: regs.ChannelMaximum, In: in, Out: out, PerChannel: true}.Task()
	c := &t.g.Common
	c.GroupConvCfg = c.GroupConvCfg.WithUnicastCin(uint32(in.Channels))
	t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
	return t
}

// maximumPadding is the padding mode of every maximum over channels (seen in 2 of 2 tasks).
const maximumPadding = 1

// elementProduct is the operation that multiplies neighboring channels, as in the one program
// with a power.
const elementProduct regs.MACOp = 10

// NewChannelProduct returns a MAC task that multiplies two tensors of shape out element by element.
// Its source holds both tensors, with alternating channels: channel i of the result is the product
// of channels 2i and 2i+1 of the source.
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

// NewTranspose returns a MAC task that exchanges the channels and columns of a source of shape in.
// The caller must set its source and result.
func NewTranspose(in regs.Shape) *Task {
	t := MAC{Op: regs.PassThrough, In: in, Out: in, PerChannel: true, Transpose: true}.Task()
	// As many engines as result channels are active, at least 8, the number of values in a unit
	// of the L2 (seen in 22 of 22 tasks).
	t.setActiveEngines(max(in.Width, place.UnitBytes/layer.ElementBytes))
	c := &t.g.Common
	if in.Height == 1 && in.Channels <= place.UnitBytes/layer.ElementBytes {
		// If the pixels of a channel fit in its 16 bytes, a patch of 8 rows is preferred (seen in
		// 7 of 7 tasks). With several channels, the lowest patch is as high as the columns leave
		// room for (seen in 2 of 2 tasks).
		c.Cfg = c.Cfg.WithShMax(3).WithShPref(3)
		if in.Channels > 1 {
			c.Cfg = c.Cfg.WithShMin(min(3, 7-min(7, Log2Ceil(in.Width))))
		}
	}
	return t
}

// MarkPlanarNeighbours records in the task's registers whether the previous and the next task run
// on the planar engine. It returns t.
func (t *Task) MarkPlanarNeighbours(previous, next bool) *Task {
	t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithPreviousPlanar(previous).WithNextPlanar(next)
	return t
}

// Pointwise is a window of one tap.
var Pointwise = &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}
