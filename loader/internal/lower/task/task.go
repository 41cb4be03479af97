package task

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/lanes"
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// Half returns the bits of the fp16 value nearest to v.
func Half(v float32) uint16 { return uint16(float16.Fromfloat32(v)) }

// reciprocalBits returns 1/n as the bits of an fp32 number.
func reciprocalBits(n int) uint32 {
	return math.Float32bits(float32(1 / float64(n)))
}

// A Task is a descriptor under construction: the registers of one pass of the engine, and the tiles
// of its operands in L2. Package chain links tasks into a program. The tiles tell it which tasks
// must wait for others.
type Task struct {
	registers

	First, Second, Result *Tile
	// DescribesResult and DescribesSource mark a pair of tasks that both describe a tile of the
	// L2 in the scratch buffer: the first task as its result, the second as its source.
	DescribesResult, DescribesSource bool
	WaitsForPairs                    bool   // reads the result of a task that computes several pixels per step
	Continues                        bool   // reads from memory what the previous task of its run wrote
	Staged                           bool   // writes its result to memory through a tile
	Pixels                           bool   // belongs to a pixel chain, whose tasks the compiler of 2026 links
	Table                            []byte // activation table, nil if there is none
	WindowTaps                       int    // taps of the window that the values need, see [coeff.Kernel]; 0 if it has none
	columns                          int    // columns in a slice of the source, 0 for the usual number
}

// registers holds the header and the register groups of a task. Its setters check that a value
// fits its field.
type registers struct {
	h   regs.Header
	g   regs.Groups
	err error // the first value that does not fit
}

// MaxTasks is the largest number of tasks in a program, because a task number has 16 bits.
const MaxTasks = 1 << 16

// FirstError returns the error of the first task that has one, or nil. A task has an error if a
// value does not fit its register. The methods that set registers do not return such errors, so
// call FirstError once after building the tasks.
func FirstError(tasks []*Task) error {
	for _, t := range tasks {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// Registers returns copies of the task's header and registers.
func (t *registers) Registers() (regs.Header, regs.Groups) { return t.h, t.g }

// A Tile is an operand in L2: a source that its owner loads from memory, or a result that its owner
// computes. Tasks that share an operand point to the same Tile.
type Tile struct {
	At       place.Layout
	Bytes    int
	Owner    *Task // the last owner, if several tasks write the tile
	Result   bool
	Previous *Tile // the part written before, if several tasks write the tile; nil for the first
}

// Limits of a task.
const (
	maxField      = 1<<15 - 1 // height and width
	PatchPixels   = lanes.PatchPixels
	Engines       = lanes.Count
	MaxInterleave = 8 // rows of weights that an engine interleaves; the field has four bits
)

// Values of fields.
const (
	KeptTile  = 1 // L2.SourceCfg type of a source that later tasks read (seen in 22 of 22 tasks)
	HalfOne   = 0x3c00
	singleOne = 0x3f800000
)

// New returns a task that does nothing. Its DMA and engines are disabled, and all other registers
// have the values that Apple's compiler gives to unused registers.
func New() *Task { return &Task{registers: registers{g: blankRegisters()}} }

// setDMAWord sets *w to n, an offset, stride or size in memory in bytes. If n is not a multiple of
// 64 or exceeds layer.MaxSurface, FirstError reports it.
func (t *registers) setDMAWord(w *regs.DMAWord, n int) {
	if n < 0 || n > layer.MaxSurface {
		t.recordLimitError("memory offset, size or stride in bytes", n, layer.MaxSurface)
		return
	}
	if n%64 != 0 {
		t.recordLimitError("memory offset, size or stride modulo 64 bytes", n%64, 0)
		return
	}
	*w = w.WithBytes(uint32(n))
}

// setL2Word sets *w to n, an address or stride in L2, in bytes. If n is outside L2, FirstError
// reports it.
func (t *registers) setL2Word(w *regs.L2Word, n int) {
	if n < 0 || n >= layer.MaxL2 {
		t.recordLimitError("L2 address or stride in bytes", n, layer.MaxL2-16)
		return
	}
	*w = w.WithBytes(uint32(n))
}

// setLayout sets the registers base, channel, row, depth and group to the address and the strides
// in layout. group may be nil, because only tiles that the DMA fills have a group stride.
func (t *registers) setLayout(layout place.Layout, base, channel, row, depth, group *regs.L2Word) {
	t.setL2Word(base, layout.Base)
	t.setL2Word(channel, layout.Channel)
	t.setL2Word(row, layout.Row)
	t.setL2Word(depth, layout.Depth)
	if group != nil {
		t.setL2Word(group, layout.Group)
	}
}

// recordLimitError records that a quantity exceeds the maximum of its register. limit names the
// quantity with its unit. Only the first error of a task is kept; FirstError returns it.
func (t *registers) recordLimitError(limit string, value, maximum int) {
	if t.err == nil {
		t.err = &layer.LimitError{Limit: limit, Got: value, Max: maximum, Nearest: "split the layer into smaller ones"}
	}
}

// newEngineTask returns a task of the MAC engines that maps shape in to shape out.
func newEngineTask(op regs.MACOp, in, out regs.Shape) *Task {
	t := New()
	t.setShape(in, out)
	c, n := &t.g.Common, &t.g.NE
	c.TaskInfo = c.TaskInfo.WithTaskNID(1)
	t.g.ReadMeanings()
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatFP16)
	n.MACCfg = n.MACCfg.WithBinaryPoint(14).WithOpMode(op)
	n.PostScale = n.PostScale.WithPostScale(HalfOne)
	if op == regs.MantissaTable {
		c.DPE = c.DPE.WithCategory(1) // 2/2
	}
	return t
}

// newPlanarTask returns a task of the planar engine with the given form, from shape in to shape
// out. All its scales are 1.
func newPlanarTask(form regs.PlanarForm, in, out regs.Shape) *Task {
	t := New()
	t.setShape(in, out)
	c, p := &t.g.Common, &t.g.PE
	c.Cfg = c.Cfg.WithPlanarForm(form)
	w, h := planarPatchLog2(form, in.Width, in.Height)
	c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
	switch form {
	case regs.FormTwoSources, regs.FormBiasScale, regs.FormTwoReduced:
		c.ChCfg = c.ChCfg.WithSrc2Fmt(regs.FormatFP16)
	}
	p.BiasScale = p.BiasScale.WithScale(HalfOne)
	p.PreScale = p.PreScale.WithScale(HalfOne)
	p.FinalScale = p.FinalScale.WithFinalScale(singleOne)
	return t
}

// setShape sets the shapes of the first source and of the result, and makes the task compute all
// rows of the result as one tile. If an extent does not fit its register, FirstError reports it.
func (t *registers) setShape(in, out regs.Shape) {
	for _, s := range [...]regs.Shape{in, out} {
		for _, e := range [...]struct {
			name      string
			got, most int
		}{{"width", s.Width, maxField}, {"height", s.Height, maxField}, {"channels", s.Channels, layer.MaxChannels}, {"groups", s.Groups, layer.MaxGroups}} {
			if e.got > e.most {
				t.recordLimitError(fmt.Sprintf("%s of a task (%d groups, %d channels, %dx%d)", e.name, s.Groups, s.Channels, s.Height, s.Width), e.got, e.most)
				return
			}
		}
	}
	c := &t.g.Common
	c.Cin, c.Cout = c.Cin.WithCin(uint32(in.Channels)), c.Cout.WithCout(uint32(out.Channels))
	c.InDim = c.InDim.WithWin(uint32(in.Width)).WithHin(uint32(in.Height))
	c.OutDim = c.OutDim.WithWout(uint32(out.Width)).WithHout(uint32(out.Height))
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(uint32(in.Groups))
	c.TileCfg = c.TileCfg.WithTileHeight(uint32(out.Height))
}

// setActiveEngines distributes the given number of output channels over the MAC engines (seen in
// 62 of 62 tasks).
func (t *registers) setActiveEngines(channels int) {
	log2 := Log2Ceil(min(Engines, channels))
	t.g.Common.Cfg = t.g.Common.Cfg.WithActiveNE(log2)
	t.h.Bases = t.h.Bases.WithENE(log2 + 1)
}

// setUnicast makes each channel of the result read only the source channel with the same number.
func (t *registers) setUnicast() {
	t.g.Common.GroupConvCfg = t.g.Common.GroupConvCfg.WithUnicastEn(true)
}

// LoadSource1 makes the task load its first source from surface m in memory into L2, with the given
// layout, and returns its tile there. If keep is true, the tile stays in L2 for later tasks.
func (t *Task) LoadSource1(m place.Memory, layout place.Layout, keep bool) *Tile {
	t.setSource1Strides(m)
	d := &t.g.TileDMASrc
	t.setDMAWord(&d.Src1Base, m.Base)
	d.Src1DMAConfig = d.Src1DMAConfig.WithEn(true).WithCHNoReuse(3).WithDepMode(3)
	t.g.ReadMeanings()
	t.h.Bases = t.h.Bases.WithRBase0(m.Bar).WithRBE0(true)
	t.h.Control = t.h.Control.WithSrcLoc(true)
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(2).WithDMAFmt(1).WithDMAIntl(1)
	if keep {
		if width := int(t.g.Common.InDim.Win()) * layer.ElementBytes; layout.Channel < width && !t.g.Common.PlanarOperands.Src1BroadcastW() {
			t.recordLimitError("L2 row size in bytes", width, layout.Channel)
		}
		l.SourceCfg = l.SourceCfg.WithType(KeptTile)
	}
	t.setLayout(layout, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.First = &Tile{At: layout, Owner: t, Bytes: layout.Row * int(t.g.Common.InDim.Hin())}
	return t.First
}

// setSource1Strides sets the strides of the first source without enabling its DMA.
func (t *registers) setSource1Strides(m place.Memory) {
	d := &t.g.TileDMASrc
	t.setDMAWord(&d.Src1RowStride, m.Row)
	t.setDMAWord(&d.Src1PlaneStride, m.Plane)
	t.setDMAWord(&d.Src1DepthStride, m.Depth)
	t.setDMAWord(&d.Src1GroupStride, m.Group)
	d.Src1Fmt = surfaceFmt
}

// surfaceFmt is the format of an fp16 surface in memory.
var surfaceFmt = regs.SurfaceFmt{}.WithFmtMode(1).WithTruncate(3).WithMemFmt(2).WithInterleave(1)

// LoadSource2 makes the task load its second source from surface m in memory into L2, with the
// given layout. Unlike the first source, the second one gets no [Tile].
func (t *Task) LoadSource2(m place.Memory, layout place.Layout) {
	d := &t.g.TileDMASrc
	t.setDMAWord(&d.Src2Base, m.Base)
	t.setDMAWord(&d.Src2RowStride, m.Row)
	t.setDMAWord(&d.Src2PlaneStride, m.Plane)
	t.setDMAWord(&d.Src2DepthStride, m.Depth)
	t.setDMAWord(&d.Src2GroupStride, m.Group)
	d.Src2DMAConfig = d.Src2DMAConfig.WithCHNoReuse(3).WithDepMode(3)
	t.g.ReadMeanings()
	d.Src2Fmt = d.Src2Fmt.WithTruncate(3).WithMemFmt(2)
	t.h.Bases = t.h.Bases.WithRBase1(m.Bar).WithRBE1(true)
	t.h.Control = t.h.Control.WithSrcLoc(true) // set if any source is in memory (seen in 346 of 346 tasks)
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithSrc2InMemory(true)
	t.setLayout(layout, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, &l.Src2GroupStride)
	t.g.Common.Cfg = t.g.Common.Cfg.WithSrc2InMemory(true)
}

// ReadTile makes the task read its first source from a tile in L2 that an earlier task loaded or
// computed. layout describes the part of the tile that the task reads.
func (t *Task) ReadTile(tile *Tile, layout place.Layout) {
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithDMAIntl(1)
	t.setLayout(layout, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, nil)
	t.First = tile
}

// ReadSecondTile makes the task read its second source from a tile in L2 that an earlier task
// loaded or computed. layout describes the part of the tile that the task reads.
func (t *Task) ReadSecondTile(tile *Tile, layout place.Layout) {
	l := &t.g.L2
	t.setLayout(layout, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, nil)
	t.Second = tile
}

// ReadDescribedTile is like [Task.ReadTile], but also makes the memory registers of the source
// describe surface m in the scratch buffer; see [Task.MarkSourceDescribed].
func (t *Task) ReadDescribedTile(tile *Tile, layout place.Layout, m place.Memory) {
	t.ReadTile(tile, layout)
	t.MarkSourceDescribed(m)
}

// WriteResult makes the task stream its result to surface m in memory. base is the address in L2 of
// the buffer that the data passes through.
func (t *Task) WriteResult(m place.Memory, base int) {
	t.setResultStrides(m)
	d := &t.g.TileDMADst
	t.setDMAWord(&d.DstBase, m.Base)
	// Bit 26 is set together with bit 3 of L2.ResultCfg (seen in 83 of 83 tasks).
	d.DstDMAConfig = d.DstDMAConfig.WithEn(true).WithB26(true)
	t.h.Control = t.h.Control.WithDstLoc(true)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(2).WithDMAFmt(1).WithDMAIntl(1)
	t.setL2Word(&l.ResultBase, base)
	t.Result = &Tile{At: place.Layout{Base: base}, Owner: t, Result: true}
}

func (t *registers) setResultStrides(m place.Memory) {
	d := &t.g.TileDMADst
	t.setDMAWord(&d.DstRowStride, m.Row)
	t.setDMAWord(&d.DstPlaneStride, m.Plane)
	t.setDMAWord(&d.DstDepthStride, m.Depth)
	t.setDMAWord(&d.DstGroupStride, m.Group)
	d.DstFmt = surfaceFmt.WithZeroPadLast(true).WithZeroPadFirst(true)
	t.h.Bases = t.h.Bases.WithWBase(m.Bar).WithWBE(true)
}

// KeepResult makes the task leave its result in L2 for later tasks, with the given layout. It
// returns a new tile for the result, with layout.Row bytes for each row.
func (t *Task) KeepResult(layout place.Layout) *Tile {
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithDMAFmt(1).WithDMAIntl(1)
	t.setLayout(layout, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.Result = &Tile{At: layout, Owner: t, Result: true, Bytes: layout.Row * t.g.OutShape().Height}
	return t.Result
}

// KeepDescribedResult is like [Task.KeepResult], but also makes the memory registers of the result
// describe surface m in the scratch buffer; see [Task.MarkResultDescribed].
func (t *Task) KeepDescribedResult(layout place.Layout, m place.Memory) *Tile {
	t.MarkResultDescribed(m)
	return t.KeepResult(layout)
}

// setNonlinear selects what the MAC engines apply to their sums: ReLU, a table or nothing.
func (t *registers) setNonlinear(n regs.Nonlinear) {
	t.g.NE.MACCfg = t.g.NE.MACCfg.WithNonlinearMode(n)
}

// Planar reports whether the task runs on the planar engine, which computes elementwise operations
// and reductions, rather than on the MAC engines.
func (t *registers) Planar() bool { return t.g.Planar() }

// LoadsFirst reports whether the task loads its first source from memory.
func (t *registers) LoadsFirst() bool { return t.g.Source1On() }

// Log2Ceil returns the smallest k >= 0 with 1<<k >= n.
func Log2Ceil(n int) uint32 { return uint32(bits.Len(uint(max(1, n) - 1))) }
