package lower

import (
	"fmt"
	"math/bits"

	"anesim/hw/lanes"
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A task is a descriptor in the making: header and registers, and where its operands
// stand in the L2, from which finish takes the routing words.
type task struct {
	h regs.Header
	g regs.Groups

	first, second, result *tile
	// Both of a pair of tasks describe a surface in the scratch buffer that stays in
	// the L2: the first as a destination, the second as a source.
	describesResult, describesSource bool
	waitsForPairs                    bool   // reads the result of steps of several pixels
	continues                        bool   // reads in memory what the task before wrote, in its run
	staged                           bool   // its result goes to memory by way of a tile
	table                            []byte // activation table, nil for none
	columns                          int    // of a source's slice side by side, 0 for the usual
	kernelFrom                       *task  // wrote the coefficients into the scratch buffer
	err                              error  // the first word that does not fit
}

// A tile is a surface in the L2. A source tile is loaded by the task that owns it, a
// result tile computed.
type tile struct {
	at     layout
	bytes  int
	owner  *task
	result bool
}

// What a task has at most.
const (
	maxField    = 1<<15 - 1 // height and width
	patchPixels = lanes.PatchPixels
	engines     = lanes.Count
)

// Words whose bits are not all named (bytes).
const (
	twoSourceBit   = 1 << 24 // L2.SourceCfg with a second source in memory
	twoSourceChCfg = 1 << 3  // ChCfg of a planar task with two sources: 0x2a (18/18)
	bothInMemory   = 1 << 1  // Common.Cfg of two sources in memory: 0x33 (8/8)
	kernelWord     = 0x40    // KernelDMASrc word 0 of a task with coefficients
	sparseWord     = 0x20    // the same, zero-skipping (3/3)
	keptTile       = 1       // L2.SourceCfg type of a source that later tasks read (22/22)
	halfOne        = 0x3c00
	singleOne      = 0x3f800000
)

// newTask is what every task has: everything off.
func newTask() *task { return &task{g: blankRegisters()} }

// dma writes an offset, stride or size in memory.
func (t *task) dma(w *regs.DMAWord, n int) {
	if n < 0 || n > layer.MaxSurface {
		t.refuse("offset or stride in memory in bytes", n, layer.MaxSurface)
		return
	}
	if n%64 != 0 {
		t.refuse("bytes of an offset in memory beyond a multiple of 64", n%64, 0)
		return
	}
	*w = w.WithBytes(uint32(n))
}

// l2 writes an address or stride in the L2.
func (t *task) l2(w *regs.L2Word, n int) {
	if n < 0 || n >= layer.MaxL2 {
		t.refuse("address or stride in the L2 in bytes", n, layer.MaxL2-16)
		return
	}
	*w = w.WithBytes(uint32(n))
}

// place writes a tile's layout; group is nil where it is not written: only tiles that
// the DMA fills have one.
func (t *task) place(at layout, base, channel, row, depth, group *regs.L2Word) {
	t.l2(base, at.base)
	t.l2(channel, at.channel)
	t.l2(row, at.row)
	t.l2(depth, at.depth)
	if group != nil {
		t.l2(group, at.group)
	}
}

// refuse notes the first word that does not fit; the layer is then refused.
func (t *task) refuse(what string, got, most int) {
	if t.err == nil {
		t.err = &layer.LimitError{Limit: what, Got: got, Max: most, Nearest: "split the layer into smaller ones"}
	}
}

// engineTask is a task of the MAC engines from in to out.
func engineTask(op regs.MACOp, in, out regs.Shape) *task {
	t := newTask()
	t.shape(in, out)
	c, n := &t.g.Common, &t.g.NE
	c.TaskInfo = c.TaskInfo.WithTaskNID(1)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatFP16)
	n.MACCfg = n.MACCfg.WithBinaryPoint(14).WithOpMode(op)
	n.PostScale = n.PostScale.WithPostScale(halfOne)
	if op == regs.MantissaTable {
		c.DPE = c.DPE.WithCategory(1) // 2/2
	}
	return t
}

// planarTask is a task of the planar engine with neutral scales.
func planarTask(form regs.PlanarForm, in, out regs.Shape) *task {
	t := newTask()
	t.shape(in, out)
	c, p := &t.g.Common, &t.g.PE
	c.Cfg = c.Cfg.WithPlanarForm(form)
	w, h := planarPatch(form, in.Width, in.Height)
	c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
	switch form {
	case regs.FormTwoSources, regs.FormBiasScale, regs.FormTwoReduced:
		c.ChCfg |= twoSourceChCfg
	}
	p.BiasScale = p.BiasScale.WithScale(halfOne)
	p.PreScale = p.PreScale.WithScale(halfOne)
	p.FinalScale = p.FinalScale.WithFinalScale(singleOne)
	return t
}

func (t *task) shape(in, out regs.Shape) {
	for _, s := range [...]regs.Shape{in, out} {
		if s.Width > maxField || s.Height > maxField || s.Channels > layer.MaxChannels || s.Groups > layer.MaxGroups {
			t.refuse(fmt.Sprintf("task of %d groups, %d channels, %dx%d: an extent", s.Groups, s.Channels, s.Height, s.Width),
				max(s.Width, s.Height, s.Channels, s.Groups), maxField)
			return
		}
	}
	c := &t.g.Common
	c.Cin, c.Cout = c.Cin.WithCin(uint32(in.Channels)), c.Cout.WithCout(uint32(out.Channels))
	c.InDim = c.InDim.WithWin(uint32(in.Width)).WithHin(uint32(in.Height))
	c.OutDim = c.OutDim.WithWout(uint32(out.Width)).WithHout(uint32(out.Height))
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(uint32(in.Groups))
	c.TileCfg = c.TileCfg.WithTileHeight(uint32(out.Height))
}

// engines spreads the task's output channels over the MAC engines (62/62).
func (t *task) engines(channels int) {
	log2 := log2Ceil(min(engines, channels))
	t.g.Common.Cfg = t.g.Common.Cfg.WithActiveNE(log2)
	t.h.Bases = t.h.Bases.WithENE(log2 + 1)
}

// unicast makes every result channel read its own source channel alone.
func (t *task) unicast() {
	t.g.Common.GroupConvCfg = t.g.Common.GroupConvCfg.WithUnicastEn(true)
}

// A memory is a surface in a buffer, in bytes.
type memory struct {
	bar                            uint32
	base, row, plane, depth, group int
}

// source1 reads the first source from memory into the L2 at a tile, which it keeps for
// later tasks when keep is set.
func (t *task) source1(m memory, at layout, keep bool) *tile {
	t.describe1(m)
	d := &t.g.TileDMASrc
	t.dma(&d.Src1Base, m.base)
	d.Src1DMAConfig = d.Src1DMAConfig.WithEn(true).WithCHNoReuse(3).WithDepMode(3)
	t.h.Bases = t.h.Bases.WithRBase0(m.bar).WithRBE0(true)
	t.h.Control = t.h.Control.WithSrcLoc(true)
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(2).WithDMAFmt(1).WithDMAIntl(1)
	if keep {
		if width := int(t.g.Common.InDim.Win()) * layer.ElementBytes; at.channel < width && !t.g.Common.PlanarOperands.Src1BroadcastW() {
			t.refuse("bytes of a row that is kept", width, at.channel)
		}
		l.SourceCfg = l.SourceCfg.WithType(keptTile)
	}
	t.place(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.first = &tile{at: at, owner: t, bytes: at.row * int(t.g.Common.InDim.Hin())}
	return t.first
}

// describe1 writes a first source's strides without turning its DMA on.
func (t *task) describe1(m memory) {
	d := &t.g.TileDMASrc
	t.dma(&d.Src1RowStride, m.row)
	t.dma(&d.Src1PlaneStride, m.plane)
	t.dma(&d.Src1DepthStride, m.depth)
	t.dma(&d.Src1GroupStride, m.group)
	d.Src1Fmt = surfaceFmt
}

// surfaceFmt is the format of an fp16 surface in memory.
var surfaceFmt = regs.SurfaceFmt(0).WithFmtMode(1).WithTruncate(3).WithMemFmt(2).WithInterleave(1)

// source2 reads the second source from memory; its enable bit stays clear.
func (t *task) source2(m memory, at layout) {
	d := &t.g.TileDMASrc
	t.dma(&d.Src2Base, m.base)
	t.dma(&d.Src2RowStride, m.row)
	t.dma(&d.Src2PlaneStride, m.plane)
	t.dma(&d.Src2DepthStride, m.depth)
	t.dma(&d.Src2GroupStride, m.group)
	d.Src2DMAConfig = d.Src2DMAConfig.WithCHNoReuse(3).WithDepMode(3)
	d.Src2Fmt = d.Src2Fmt.WithTruncate(3).WithMemFmt(2)
	t.h.Bases = t.h.Bases.WithRBase1(m.bar).WithRBE1(true)
	t.h.Control = t.h.Control.WithSrcLoc(true) // any source (346/346)
	l := &t.g.L2
	l.SourceCfg |= twoSourceBit
	t.place(at, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, &l.Src2GroupStride)
	t.g.Common.Cfg |= bothInMemory
}

// reads takes the first source from a tile of an earlier task.
func (t *task) reads(from *tile, at layout) {
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithDMAIntl(1)
	t.place(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, nil)
	t.first = from
}

// joins takes the second source from a tile of an earlier task.
func (t *task) joins(from *tile, at layout) {
	l := &t.g.L2
	t.place(at, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, nil)
	t.second = from
}

// readsScratch is reads of a surface the task before described in the scratch buffer.
func (t *task) readsScratch(from *tile, m memory) {
	t.reads(from, from.at)
	t.describe1(m)
	t.describesSource = true
	t.g.TileDMASrc.Src1DMAConfig |= fromPrevious
	t.h.Bases = t.h.Bases.WithRBase0(m.bar).WithRBE0(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(1)
}

// writes streams the result through the L2 at base to memory. Bit 26 of the
// destination goes with bit 3 of the L2 result (83/83).
func (t *task) writes(m memory, base int) {
	t.describeResult(m)
	d := &t.g.TileDMADst
	t.dma(&d.DstBase, m.base)
	d.DstDMAConfig = d.DstDMAConfig.WithEn(true).WithB26(true)
	t.h.Control = t.h.Control.WithDstLoc(true)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(2).WithDMAFmt(1).WithDMAIntl(1)
	t.l2(&l.ResultBase, base)
	t.result = &tile{at: layout{base: base}, owner: t, result: true}
}

func (t *task) describeResult(m memory) {
	d := &t.g.TileDMADst
	t.dma(&d.DstRowStride, m.row)
	t.dma(&d.DstPlaneStride, m.plane)
	t.dma(&d.DstDepthStride, m.depth)
	t.dma(&d.DstGroupStride, m.group)
	d.DstFmt = surfaceFmt.WithZeroPadLast(true).WithZeroPadFirst(true)
	t.h.Bases = t.h.Bases.WithWBase(m.bar).WithWBE(true)
}

// leaves keeps the result in the L2.
func (t *task) leaves(at layout, bytes int) *tile {
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithDMAFmt(1).WithDMAIntl(1)
	t.place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.result = &tile{at: at, owner: t, result: true, bytes: bytes}
	return t.result
}

// leavesScratch is leaves of a result the next task finds described in the scratch
// buffer.
func (t *task) leavesScratch(at layout, bytes int, m memory) *tile {
	t.describeResult(m)
	t.describesResult = true
	return t.leaves(at, bytes)
}

// activate applies a table or ReLU behind the engine's operation.
func (t *task) activate(n regs.Nonlinear) {
	t.g.NE.MACCfg = t.g.NE.MACCfg.WithNonlinearMode(n)
}

// planar reports whether the task runs on the planar engine alone.
func (t *task) planar() bool { return t.g.Planar() }

// inMemory reports whether the first source comes from memory.
func (t *task) inMemory() bool { return t.g.Source1On() }

// dependent reports whether an operand comes from an earlier task's tile.
func (t *task) dependent() bool { return !t.inMemory() || t.second != nil }

// log2Ceil is the smallest k with 1<<k >= n.
func log2Ceil(n int) uint32 { return uint32(bits.Len(uint(max(1, n) - 1))) }
