package task

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/x448/float16"

	"anesim/hw/lanes"
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// Half rounds to fp16 bits.
func Half(v float32) uint16 { return uint16(float16.Fromfloat32(v)) }

// reciprocal is 1/n as fp32 bits.
func reciprocalBits(n int) uint32 {
	return math.Float32bits(float32(1 / float64(n)))
}

// A Task is a descriptor in the making: its registers, and where its operands are in the L2, from
// which package chain takes the routing words.
type Task struct {
	registers

	First, Second, Result *Tile
	// Both of a pair of tasks describe a surface in the scratch buffer that stays in
	// the L2: the first as a destination, the second as a source.
	DescribesResult, DescribesSource bool
	WaitsForPairs                    bool   // reads the result of steps of several pixels
	Continues                        bool   // reads in memory what the task before wrote, in its run
	Staged                           bool   // its result goes to memory by way of a tile
	Table                            []byte // activation table, nil for none
	columns                          int    // of a source's slice side by side, 0 for the usual
}

// The registers of a task are its header and groups. Their setters check what a word can hold.
type registers struct {
	h   regs.Header
	g   regs.Groups
	err error // the first word that does not fit
}

// MaxTasks is the most tasks of a program: a task's number has 16 bits.
const MaxTasks = 1 << 16

// Refused returns the error of the first task that has a word that does not fit.
func FirstError(tasks []*Task) error {
	for _, t := range tasks {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// Registers are copies of the header and the registers as they stand.
func (t *registers) Registers() (regs.Header, regs.Groups) { return t.h, t.g }

// A Tile is a surface in the L2. A source tile is loaded by the task that owns it, a
// result tile computed.
type Tile struct {
	At       place.Layout
	Bytes    int
	Owner    *Task // of a result that several tasks write, the last
	Result   bool
	Previous *Tile // the part before it of a result that several tasks write, nil of the first
}

// What a task has at most.
const (
	maxField      = 1<<15 - 1 // height and width
	PatchPixels   = lanes.PatchPixels
	Engines       = lanes.Count
	MaxInterleave = 8 // rows of an engine side by side; the format has four bits
)

// Words whose bits are not all named (bytes).
const (
	twoSourceBit   = 1 << 24 // L2.SourceCfg with a second source in memory
	twoSourceChCfg = 1 << 3  // ChCfg of a planar task with two sources: 0x2a (18/18)
	bothInMemory   = 1 << 1  // Common.Cfg of two sources in memory: 0x33 (8/8)
	kernelWord     = 0x40    // KernelDMASrc word 0 of a task with coefficients
	sparseWord     = 0x20    // the same, zero-skipping (3/3)
	FromPrevious   = 1 << 18 // Src1DMAConfig of a source that the task before wrote or described
	KeptTile       = 1       // L2.SourceCfg type of a source that later tasks read (22/22)
	HalfOne        = 0x3c00
	singleOne      = 0x3f800000
)

// New is what every task has: everything off.
func New() *Task { return &Task{registers: registers{g: blankRegisters()}} }

// setDMA writes an offset, stride or size in memory.
func (t *registers) setDMA(w *regs.DMAWord, n int) {
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

// setL2 writes an address or stride in the L2.
func (t *registers) setL2(w *regs.L2Word, n int) {
	if n < 0 || n >= layer.MaxL2 {
		t.refuse("address or stride in the L2 in bytes", n, layer.MaxL2-16)
		return
	}
	*w = w.WithBytes(uint32(n))
}

// place writes a tile's layout; group is nil where it is not written: only tiles that
// the DMA fills have one.
func (t *registers) setLayout(at place.Layout, base, channel, row, depth, group *regs.L2Word) {
	t.setL2(base, at.Base)
	t.setL2(channel, at.Channel)
	t.setL2(row, at.Row)
	t.setL2(depth, at.Depth)
	if group != nil {
		t.setL2(group, at.Group)
	}
}

// refuse notes the first word that does not fit; the layer is then refused.
func (t *registers) refuse(what string, got, most int) {
	if t.err == nil {
		t.err = &layer.LimitError{Limit: what, Got: got, Max: most, Nearest: "split the layer into smaller ones"}
	}
}

// engineTask is a task of the MAC engines from in to out.
func newEngineTask(op regs.MACOp, in, out regs.Shape) *Task {
	t := New()
	t.setShape(in, out)
	c, n := &t.g.Common, &t.g.NE
	c.TaskInfo = c.TaskInfo.WithTaskNID(1)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatFP16)
	n.MACCfg = n.MACCfg.WithBinaryPoint(14).WithOpMode(op)
	n.PostScale = n.PostScale.WithPostScale(HalfOne)
	if op == regs.MantissaTable {
		c.DPE = c.DPE.WithCategory(1) // 2/2
	}
	return t
}

// planarTask is a task of the planar engine with neutral scales.
func newPlanarTask(form regs.PlanarForm, in, out regs.Shape) *Task {
	t := New()
	t.setShape(in, out)
	c, p := &t.g.Common, &t.g.PE
	c.Cfg = c.Cfg.WithPlanarForm(form)
	w, h := planarPatchLog2(form, in.Width, in.Height)
	c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
	switch form {
	case regs.FormTwoSources, regs.FormBiasScale, regs.FormTwoReduced:
		c.ChCfg |= twoSourceChCfg
	}
	p.BiasScale = p.BiasScale.WithScale(HalfOne)
	p.PreScale = p.PreScale.WithScale(HalfOne)
	p.FinalScale = p.FinalScale.WithFinalScale(singleOne)
	return t
}

func (t *registers) setShape(in, out regs.Shape) {
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
func (t *registers) setActiveEngines(channels int) {
	log2 := Log2Ceil(min(Engines, channels))
	t.g.Common.Cfg = t.g.Common.Cfg.WithActiveNE(log2)
	t.h.Bases = t.h.Bases.WithENE(log2 + 1)
}

// unicast makes every result channel read its own source channel alone.
func (t *registers) setUnicast() {
	t.g.Common.GroupConvCfg = t.g.Common.GroupConvCfg.WithUnicastEn(true)
}

// Source1 reads the first source from memory into the L2 at a tile, which it keeps for
// later tasks when keep is set.
func (t *Task) LoadSource1(m place.Memory, at place.Layout, keep bool) *Tile {
	t.setSource1Strides(m)
	d := &t.g.TileDMASrc
	t.setDMA(&d.Src1Base, m.Base)
	d.Src1DMAConfig = d.Src1DMAConfig.WithEn(true).WithCHNoReuse(3).WithDepMode(3)
	t.h.Bases = t.h.Bases.WithRBase0(m.Bar).WithRBE0(true)
	t.h.Control = t.h.Control.WithSrcLoc(true)
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(2).WithDMAFmt(1).WithDMAIntl(1)
	if keep {
		if width := int(t.g.Common.InDim.Win()) * layer.ElementBytes; at.Channel < width && !t.g.Common.PlanarOperands.Src1BroadcastW() {
			t.refuse("bytes of a row that is kept", width, at.Channel)
		}
		l.SourceCfg = l.SourceCfg.WithType(KeptTile)
	}
	t.setLayout(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.First = &Tile{At: at, Owner: t, Bytes: at.Row * int(t.g.Common.InDim.Hin())}
	return t.First
}

// describe1 writes a first source's strides without turning its DMA on.
func (t *registers) setSource1Strides(m place.Memory) {
	d := &t.g.TileDMASrc
	t.setDMA(&d.Src1RowStride, m.Row)
	t.setDMA(&d.Src1PlaneStride, m.Plane)
	t.setDMA(&d.Src1DepthStride, m.Depth)
	t.setDMA(&d.Src1GroupStride, m.Group)
	d.Src1Fmt = surfaceFmt
}

// surfaceFmt is the format of an fp16 surface in memory.
var surfaceFmt = regs.SurfaceFmt(0).WithFmtMode(1).WithTruncate(3).WithMemFmt(2).WithInterleave(1)

// Source2 reads the second source from memory; its enable bit stays clear.
func (t *Task) LoadSource2(m place.Memory, at place.Layout) {
	d := &t.g.TileDMASrc
	t.setDMA(&d.Src2Base, m.Base)
	t.setDMA(&d.Src2RowStride, m.Row)
	t.setDMA(&d.Src2PlaneStride, m.Plane)
	t.setDMA(&d.Src2DepthStride, m.Depth)
	t.setDMA(&d.Src2GroupStride, m.Group)
	d.Src2DMAConfig = d.Src2DMAConfig.WithCHNoReuse(3).WithDepMode(3)
	d.Src2Fmt = d.Src2Fmt.WithTruncate(3).WithMemFmt(2)
	t.h.Bases = t.h.Bases.WithRBase1(m.Bar).WithRBE1(true)
	t.h.Control = t.h.Control.WithSrcLoc(true) // any source (346/346)
	l := &t.g.L2
	l.SourceCfg |= twoSourceBit
	t.setLayout(at, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, &l.Src2GroupStride)
	t.g.Common.Cfg |= bothInMemory
}

// Reads takes the first source from a tile of an earlier task.
func (t *Task) ReadTile(from *Tile, at place.Layout) {
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithDMAIntl(1)
	t.setLayout(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, nil)
	t.First = from
}

// Joins takes the second source from a tile of an earlier task.
func (t *Task) ReadSecondTile(from *Tile, at place.Layout) {
	l := &t.g.L2
	t.setLayout(at, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, nil)
	t.Second = from
}

// ReadsScratch is reads of a surface the task before described in the scratch buffer.
func (t *Task) ReadDescribedTile(from *Tile, at place.Layout, m place.Memory) {
	t.ReadTile(from, at)
	t.MarkSourceDescribed(m)
}

// Writes streams the result through the L2 at base to memory. Bit 26 of the
// destination goes with bit 3 of the L2 result (83/83).
func (t *Task) WriteResult(m place.Memory, base int) {
	t.setResultStrides(m)
	d := &t.g.TileDMADst
	t.setDMA(&d.DstBase, m.Base)
	d.DstDMAConfig = d.DstDMAConfig.WithEn(true).WithB26(true)
	t.h.Control = t.h.Control.WithDstLoc(true)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(2).WithDMAFmt(1).WithDMAIntl(1)
	t.setL2(&l.ResultBase, base)
	t.Result = &Tile{At: place.Layout{Base: base}, Owner: t, Result: true}
}

func (t *registers) setResultStrides(m place.Memory) {
	d := &t.g.TileDMADst
	t.setDMA(&d.DstRowStride, m.Row)
	t.setDMA(&d.DstPlaneStride, m.Plane)
	t.setDMA(&d.DstDepthStride, m.Depth)
	t.setDMA(&d.DstGroupStride, m.Group)
	d.DstFmt = surfaceFmt.WithZeroPadLast(true).WithZeroPadFirst(true)
	t.h.Bases = t.h.Bases.WithWBase(m.Bar).WithWBE(true)
}

// Leaves keeps the result in the L2.
func (t *Task) KeepResult(at place.Layout, bytes int) *Tile {
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithDMAFmt(1).WithDMAIntl(1)
	t.setLayout(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.Result = &Tile{At: at, Owner: t, Result: true, Bytes: bytes}
	return t.Result
}

// LeavesScratch is leaves of a result the next task finds described in the scratch
// buffer.
func (t *Task) KeepDescribedResult(at place.Layout, bytes int, m place.Memory) *Tile {
	t.MarkResultDescribed(m)
	return t.KeepResult(at, bytes)
}

// activate applies a table or ReLU behind the engine's operation.
func (t *registers) setNonlinear(n regs.Nonlinear) {
	t.g.NE.MACCfg = t.g.NE.MACCfg.WithNonlinearMode(n)
}

// Planar reports whether the task runs on the planar engine alone.
func (t *registers) Planar() bool { return t.g.Planar() }

// InMemory reports whether the first source comes from memory.
func (t *registers) LoadsFirst() bool { return t.g.Source1On() }

// Log2Ceil is the smallest k with 1<<k >= n.
func Log2Ceil(n int) uint32 { return uint32(bits.Len(uint(max(1, n) - 1))) }
