package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// EightBit makes a pass-through one of 8-bit elements (1/1).
func (t *Task) EightBit(halves layer.Shape) {
	c, n := &t.G.Common, &t.G.NE
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatInt8A).WithOutFmt(regs.FormatInt8A)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	t.passPatch(regs.Shape{Height: halves.H, Width: halves.W})
}

// ByteTile is sourceTile for 8-bit elements.
func (t *Task) ByteTile(halves layer.Shape) Layout {
	s := t.G.InShape()
	s.Width = halves.W
	l := PackedColumns(s, EngineColumns(s.Width))
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skewed(1, engineFetches(&t.G.Common)...)
}

// Aside marks that a task's neighbours on both sides run on the planar engine too.
func (t *Task) Aside(previous, next bool) *Task {
	t.G.NE.KernelCfg = t.G.NE.KernelCfg.WithPreviousPlanar(previous).WithNextPlanar(next)
	return t
}

// Transposing is a pass-through that makes pixels channels and channels pixels.
func Transposing(in regs.Shape) *Task {
	t := EngineTask(regs.PassThrough, in, in)
	t.Unicast()
	// The channels it writes, 8 at least: as many as a unit of the L2 holds (22/22).
	t.Engines(max(in.Width, UnitBytes/layer.ElementBytes))
	c := &t.G.Common
	c.Cfg = c.Cfg.WithTranspose(true)
	t.Patch(in, true, nil)
	if in.Height == 1 && in.Channels <= UnitBytes/layer.ElementBytes {
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

// PassTask passes a source through the engines unchanged.
func PassTask(s regs.Shape) *Task {
	t := EngineTask(regs.PassThrough, s, s)
	t.Unicast()
	t.Engines(s.Channels)
	t.Patch(s, true, nil)
	return t
}

// Pointwise is the window of one tap.
var Pointwise = &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}

// Stages writes a result to memory by way of a tile that has a layout of its own (tasks
// that move data only: slice, transpose, tile, 4/4).
func (t *Task) Stages(m Memory, at Layout) {
	t.Writes(m, at.Base)
	l := &t.G.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(0)
	t.Place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.G.TileDMADst.DstDMAConfig = t.G.TileDMADst.DstDMAConfig.WithB26(false)
	t.staged = true
	t.Result.Bytes = at.Row * t.G.OutShape().Height
}

// Deep gives a task's source and result a depth.
func (t *Task) Deep(depth int) {
	if depth < 1 || depth > maxField {
		t.refuse("depth", depth, maxField)
		return
	}
	c := &t.G.Common
	c.InDepth, c.OutDepth = c.InDepth.WithDin(uint32(depth)), c.OutDepth.WithDout(uint32(depth))
}

// TakesMaximum makes a planar reduction a maximum.
func (t *Task) TakesMaximum() {
	t.G.PE.Cfg = t.G.PE.Cfg.WithMaximum(true)
	t.G.L2.Cfg = t.G.L2.Cfg.WithPaddingMode(MaximumPadding)
}

// WritesTile writes the result to memory by way of a tile in the L2.
func (t *Task) WritesTile(m Memory, at Layout) {
	t.Writes(m, at.Base)
	l := &t.G.L2
	l.ResultCfg = l.ResultCfg.WithType(1).WithDep_or_BfrMode(0)
	t.Place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.G.TileDMADst.DstDMAConfig = t.G.TileDMADst.DstDMAConfig.WithB26(false)
}

// paddingMode of L2.Cfg belongs to the maximum over channels (2/2).
const MaximumPadding = 1

// MaximumTask is the MAC engines' maximum over all channels.
func MaximumTask(in regs.Shape) *Task {
	out := in
	out.Channels = 1
	t := EngineTask(regs.ChannelMaximum, in, out)
	t.Unicast()
	c := &t.G.Common
	c.GroupConvCfg = c.GroupConvCfg.WithUnicastCin(uint32(in.Channels))
	t.Engines(1)
	t.Patch(out, true, nil)
	t.G.L2.Cfg = t.G.L2.Cfg.WithPaddingMode(MaximumPadding)
	return t
}

// Besides says that so many channels of the first source stand side by side in memory.
func (t *Task) Besides(n int) {
	f := &t.G.TileDMASrc.Src1Fmt
	*f = f.WithInterleave(uint32(n))
	t.G.L2.SourceCfg = t.G.L2.SourceCfg.WithDMAIntl(uint32(n))
}
