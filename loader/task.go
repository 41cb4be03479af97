package loader

import "anesim/hw/regs"

// A task is a descriptor in the making: header and registers with the words that every
// real program has already set.
type task struct {
	h regs.Header
	g regs.Groups
}

// Header words 6 by what the task moves (bytes: 104 descriptors; the bits' own meanings
// are decompiled names only).
const (
	drainBoth   = 0x00009800
	drainSource = 0x0000d800 // a preparation whose result stays in the L2
	drainResult = 0x0000b800 // a compute task whose source is there
)

// Words whose bits are not all named (bytes).
const (
	cfgBase         = 1       // Common.Cfg of every task
	macCfgBase      = 1 << 20 // MACCfg of every task
	twoSourceBit    = 1 << 24 // L2.SourceCfg with a second source
	kernelWord      = 0x40    // KernelDMASrc word 0 of a task with coefficients
	commonWord8     = 0x2041
	sourceWord16    = 0x100
	describedSource = 1 << 18 // SrcDMAConfig of a source that is off and has strides: 0x48880
	laneTailFirst   = 0x80    // KernelDMASrc words 50-53
	laneTailLast    = 0x40    // words 58-61, from compilers of 2023 on
)

// BlankRegisters are the words that every task of every real program has, whatever it
// does: fp16 in and out, one group, a 1x1 window, all DMA off (bytes: 104 descriptors).
func BlankRegisters() (g regs.Groups) {
	k := &g.KernelDMASrc
	for i := range k.CoeffDMAConfig {
		k.CoeffDMAConfig[i] = k.CoeffDMAConfig[i].WithCacheHint(2)
	}
	for i := range 4 {
		k.CoeffTail[i], k.CoeffTail[8+i] = laneTailFirst, laneTailLast
	}
	c := &g.Common
	c.Cfg = cfgBase
	c.InDepth, c.OutDepth, c.Reserved08 = 1, 1, commonWord8
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatFP16).WithOutFmt(regs.FormatFP16)
	c.ConvCfg = c.ConvCfg.WithKw(1).WithKh(1).WithSx(1).WithSy(1).WithOx(1).WithOy(1)
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(1).WithUnicastCin(1)

	s := &g.TileDMASrc
	off := regs.SrcDMAConfig(0).WithCacheHint(8).WithCHReuse(8).WithCHNoReuse(8)
	s.Src1DMAConfig, s.Src2DMAConfig = off, off
	s.Src1Fmt = s.Src1Fmt.WithInterleave(1)
	s.Reserved16 = sourceWord16

	d := &g.TileDMADst
	d.DstDMAConfig = d.DstDMAConfig.WithCacheHint(12)
	d.DstFmt = d.DstFmt.WithInterleave(1)

	g.NE.KernelCfg = g.NE.KernelCfg.WithPalBits(8)
	g.NE.MACCfg = macCfgBase
	return g
}

// newTask makes a task of the MAC engines over surfaces in memory.
func newTask() *task {
	t := &task{g: BlankRegisters()}
	c := &t.g.Common
	c.TileCfg = c.TileCfg.WithTileHeight(1)
	c.TaskInfo = c.TaskInfo.WithTaskNID(1)

	s := &t.g.TileDMASrc
	s.Src1Fmt = s.Src1Fmt.WithFmtMode(1).WithTruncate(3).WithMemFmt(2)
	t.g.TileDMADst.DstFmt = s.Src1Fmt.WithZeroPadLast(true).WithZeroPadFirst(true)

	n := &t.g.NE
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatFP16)
	n.MACCfg = n.MACCfg.WithBinaryPoint(14)
	n.PostScale = n.PostScale.WithPostScale(halfOne)
	t.h.DebugLogEvents = t.h.DebugLogEvents.WithDebugLogEvents(0xfff86a)
	return t
}

// halfOne is 1 in fp16.
const halfOne = 0x3c00

// shape sets channels, height and width; the result is the source's size.
func (t *task) shape(cin, cout, height, width uint32) {
	c := &t.g.Common
	c.Cin, c.Cout = c.Cin.WithCin(cin), c.Cout.WithCout(cout)
	c.InDim = c.InDim.WithWin(width).WithHin(height)
	c.OutDim = c.OutDim.WithWout(width).WithHout(height)
}

// engines sets log2 of the MAC engines at work.
func (t *task) engines(log2 uint32) {
	t.g.Common.Cfg = t.g.Common.Cfg.WithActiveNE(log2)
	t.h.Bases = t.h.Bases.WithENE(log2 + 1)
}

// passThrough makes the task a copy, channel by channel.
func (t *task) passThrough() {
	t.g.Common.GroupConvCfg = t.g.Common.GroupConvCfg.WithUnicastEn(true)
	t.g.NE.MACCfg = t.g.NE.MACCfg.WithOpMode(regs.PassThrough)
}

// A stride is a surface's strides in bytes: multiples of 64.
type stride struct{ row, plane, depth, group uint32 }

// source1 describes the first source; on reads it from buffer bar.
func (t *task) source1(s stride, on bool, bar uint32) {
	d := &t.g.TileDMASrc
	d.Src1RowStride = d.Src1RowStride.WithBytes(s.row)
	d.Src1PlaneStride = d.Src1PlaneStride.WithBytes(s.plane)
	d.Src1DepthStride = d.Src1DepthStride.WithBytes(s.depth)
	d.Src1GroupStride = d.Src1GroupStride.WithBytes(s.group)
	if on {
		d.Src1DMAConfig = d.Src1DMAConfig.WithEn(true).WithCHNoReuse(3).WithDepMode(3)
		t.h.Bases = t.h.Bases.WithRBase0(bar).WithRBE0(true)
		t.h.Control = t.h.Control.WithSrcLoc(true)
	}
}

// source2 reads the second source from buffer bar; its enable bit stays clear, as in
// every real program.
func (t *task) source2(s stride, bar uint32) {
	d := &t.g.TileDMASrc
	d.Src2RowStride = d.Src2RowStride.WithBytes(s.row)
	d.Src2PlaneStride = d.Src2PlaneStride.WithBytes(s.plane)
	d.Src2DepthStride = d.Src2DepthStride.WithBytes(s.depth)
	d.Src2GroupStride = d.Src2GroupStride.WithBytes(s.group)
	d.Src2DMAConfig = d.Src2DMAConfig.WithCHNoReuse(3).WithDepMode(3)
	d.Src2Fmt = d.Src2Fmt.WithTruncate(3).WithMemFmt(2)
	t.h.Bases = t.h.Bases.WithRBase1(bar).WithRBE1(true)
}

// destination describes the result; on writes it to buffer bar, base bytes in.
func (t *task) destination(s stride, on bool, bar, base uint32) {
	d := &t.g.TileDMADst
	d.DstBase = d.DstBase.WithBytes(base)
	d.DstRowStride = d.DstRowStride.WithBytes(s.row)
	d.DstPlaneStride = d.DstPlaneStride.WithBytes(s.plane)
	d.DstDepthStride = d.DstDepthStride.WithBytes(s.depth)
	d.DstGroupStride = d.DstGroupStride.WithBytes(s.group)
	if on {
		d.DstDMAConfig = d.DstDMAConfig.WithEn(true)
		t.h.Bases = t.h.Bases.WithWBase(bar).WithWBE(true)
		t.h.Control = t.h.Control.WithDstLoc(true)
	}
}

// streamed sends the result from the L2 to memory as it comes: bit 26 of the
// destination goes with bit 3 of the L2 result (bytes: 83 of 83).
func (t *task) streamed(base uint32) {
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(2)
	l.ResultBase = l.ResultBase.WithBytes(base)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(true)
}

// throughMemory is the route of a surface that also stands in memory: 0x500172.
func throughMemory() regs.L2Route { return inL2().WithType(2) }

// inL2 is the route of a surface that stays in the L2: 0x500170.
func inL2() regs.L2Route {
	return regs.L2Route(0).WithAConvSrc(true).WithAConvRslt(true).WithDMAFmt(1).WithDMAIntl(1).
		WithAPlnrSrc(true).WithAPlnrRslt(true)
}

// tile places the first source in the L2: channels of width bytes, skew bytes between rows.
func (t *task) tile(base, channel, channels, skew uint32) {
	l := &t.g.L2
	l.SourceCfg = throughMemory()
	l.Src1Base = l.Src1Base.WithBytes(base)
	l.Src1ChannelStride = l.Src1ChannelStride.WithBytes(channel)
	l.Src1RowStride = l.Src1RowStride.WithBytes(channel*channels + skew)
	l.Src1DepthStride = l.Src1DepthStride.WithBytes(channel * channels)
	l.Src1GroupStride = l.Src1GroupStride.WithBytes(channel * channels)
}

// kernel turns the coefficient lanes on.
func (t *task) kernel(k *Kernel) {
	d := &t.g.KernelDMASrc
	d.Reserved00 = kernelWord
	for i := range d.CoeffBfrSize {
		d.CoeffBfrSize[i] = d.CoeffBfrSize[i].WithBytes(TileSize)
	}
	for i, l := range k.Lanes {
		d.CoeffDMAConfig[i] = d.CoeffDMAConfig[i].WithEn(true)
		d.CoeffBaseAddr[i] = d.CoeffBaseAddr[i].WithBytes(l.Base)
		d.CoeffBfrSize[i] = d.CoeffBfrSize[i].WithBytes(l.Size)
	}
	t.h.KernelBases = t.h.KernelBases.WithKBase0(regs.BARWeights).WithKBE0(true)
}

// descriptor encodes the task.
func (t *task) descriptor() *regs.Descriptor { return NewDescriptor(t.h, &t.g) }
