package hw

import (
	"encoding/binary"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/dma"
	"anesim/hw/regs"
)

// The memory of the tests is one segment of 16 KiB with a place for each buffer.
const (
	memoryAt = 0x1000
	memory   = 0x4000

	firstAt  = 0x1000
	secondAt = 0x2000
	resultAt = 0x3000
	kernelAt = 0x4000
)

// shape is that of a small tensor.
type shape struct{ c, h, w uint32 }

func newMemory(t testing.TB) *dma.Memory {
	t.Helper()
	m, err := dma.NewMemory([]dma.Segment{{Name: "memory", Addr: memoryAt, Size: memory}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Bytes(memoryAt, memory); err != nil {
		t.Fatal(err)
	}
	return m
}

// newTask returns a task with the settings that every task needs: shapes, strides of rows of
// 64 bytes, one source in memory and a result in memory.
func newTask(in, out shape) *regs.Task {
	t := &regs.Task{Bases: regs.Bases{Source1: firstAt, Source2: secondAt, Destination: resultAt, Kernel: kernelAt}}
	g := &t.Groups
	c := &g.Common
	c.InDim, c.OutDim = c.InDim.WithWin(in.w).WithHin(in.h), c.OutDim.WithWout(out.w).WithHout(out.h)
	c.Cin, c.Cout = c.Cin.WithCin(in.c), c.Cout.WithCout(out.c)
	c.InDepth, c.OutDepth = regs.InDepth{}.WithDin(1), regs.OutDepth{}.WithDout(1)
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatFP16).WithOutFmt(regs.FormatFP16)
	c.ConvCfg = c.ConvCfg.WithKw(1).WithKh(1).WithSx(1).WithSy(1).WithOx(1).WithOy(1)
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(1).WithUnicastCin(1)
	c.TileCfg = c.TileCfg.WithTileHeight(out.h)

	s, d := &g.TileDMASrc, &g.TileDMADst
	s.Src1DMAConfig = s.Src1DMAConfig.WithEn(true).WithDepMode(3).WithCacheHint(8)
	s.Src2DMAConfig = s.Src2DMAConfig.WithCacheHint(8)
	s.Src1Fmt, d.DstFmt = s.Src1Fmt.WithMemFmt(2).WithInterleave(1), d.DstFmt.WithMemFmt(2).WithInterleave(1)
	s.Src1RowStride, s.Src1PlaneStride = s.Src1RowStride.WithBytes(64), s.Src1PlaneStride.WithBytes(64*in.h)
	s.Src2RowStride, s.Src2PlaneStride = s.Src2RowStride.WithBytes(64), s.Src2PlaneStride.WithBytes(64*in.h)
	d.DstDMAConfig = d.DstDMAConfig.WithEn(true)
	d.DstRowStride, d.DstPlaneStride = d.DstRowStride.WithBytes(64), d.DstPlaneStride.WithBytes(64*out.h)

	l := &g.L2
	l.SourceCfg, l.ResultCfg = l.SourceCfg.WithType(2).WithDMAIntl(1), l.ResultCfg.WithType(2).WithDMAIntl(1)
	for _, w := range []*regs.L2Word{&l.Src1ChannelStride, &l.Src2ChannelStride, &l.ResultChannelStride} {
		*w = w.WithBytes(0x10)
	}
	for _, w := range []*regs.L2Word{&l.Src1RowStride, &l.Src2RowStride, &l.ResultRowStride} {
		*w = w.WithBytes(0x100)
	}
	g.ReadMeanings()
	return t
}

// newEngineTask is a task on the MAC engines.
func newEngineTask(op regs.MACOp, in, out shape) *regs.Task {
	t := newTask(in, out)
	g := &t.Groups
	g.OnEngines = true
	g.NE.KernelCfg = g.NE.KernelCfg.WithKernelFmt(regs.FormatFP16)
	g.NE.MACCfg = g.NE.MACCfg.WithOpMode(op)
	g.NE.PostScale = g.NE.PostScale.WithPostScale(0x3c00)
	return t
}

// newConv is a 1x1 convolution of fewer than sixteen results, each a lane of 64 bytes.
func newConv(in, out shape) *regs.Task {
	t := newEngineTask(regs.MultiplyAccumulate, in, out)
	k := &t.Groups.KernelDMASrc
	for i := range out.c {
		k.CoeffDMAConfig[i] = k.CoeffDMAConfig[i].WithEn(true)
		k.CoeffBaseAddr[i] = k.CoeffBaseAddr[i].WithBytes(64 * i)
		k.CoeffBfrSize[i] = k.CoeffBfrSize[i].WithBytes(64)
	}
	return t
}

func newPass(s shape) *regs.Task { return newEngineTask(regs.PassThrough, s, s) }

// newPlanar is a task on the planar engine with every scale one.
func newPlanar(form regs.PlanarForm, op regs.PlanarOp, in, out shape) *regs.Task {
	t := newTask(in, out)
	g := &t.Groups
	g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
	g.PE.Cfg = g.PE.Cfg.WithOpMode(op)
	switch form {
	case regs.FormTwoSources, regs.FormBiasScale, regs.FormTwoReduced:
		g.PE.Cfg = g.PE.Cfg.WithSecSrc(2)
		g.Common.ChCfg = regs.FromRaw[regs.ChCfg](0x2a)
	}
	g.PE.BiasScale = g.PE.BiasScale.WithScale(0x3c00)
	g.PE.PreScale = g.PE.PreScale.WithScale(0x3c00)
	g.PE.FinalScale = regs.FinalScale{}.WithFinalScale(0x3f800000)
	return t
}

// secondFromMemory turns the DMA of source 2 on.
func secondFromMemory(t *regs.Task) {
	s := &t.Groups.TileDMASrc
	s.Src2DMAConfig = s.Src2DMAConfig.WithDepMode(3)
	t.Groups.LoadsSource2 = true
}

// firstFromL2 takes source 1 from an earlier task's tile.
func firstFromL2(t *regs.Task, at uint32) {
	g := &t.Groups
	g.TileDMASrc.Src1DMAConfig = regs.SrcDMAConfig{}.WithCacheHint(8)
	g.LoadsSource1 = false
	g.L2.Src1Base = g.L2.Src1Base.WithBytes(at)
}

// resultToL2 leaves the result in L2 alone.
func resultToL2(t *regs.Task, at uint32) {
	g := &t.Groups
	g.TileDMADst.DstDMAConfig = regs.DstDMAConfig{}.WithCacheHint(12)
	g.L2.ResultBase = g.L2.ResultBase.WithBytes(at)
	g.L2.ResultCfg = g.L2.ResultCfg.WithType(0)
}

// store writes rows of halves, 64 bytes apart, to memory.
func store(t testing.TB, m *dma.Memory, at uint64, rows ...[]float32) {
	t.Helper()
	for i, row := range rows {
		b, err := m.Bytes(at+64*uint64(i), 2*uint64(len(row)))
		if err != nil {
			t.Fatal(err)
		}
		for x, v := range row {
			binary.LittleEndian.PutUint16(b[2*x:], uint16(float16.Fromfloat32(v)))
		}
	}
}

// load reads count rows of halves, 64 bytes apart, of width each.
func load(t testing.TB, m *dma.Memory, at uint64, count, width int) [][]float32 {
	t.Helper()
	rows := make([][]float32, count)
	for i := range rows {
		b, err := m.Bytes(at+64*uint64(i), 2*uint64(width))
		if err != nil {
			t.Fatal(err)
		}
		for x := range width {
			rows[i] = append(rows[i], half(binary.LittleEndian.Uint16(b[2*x:])).Float32())
		}
	}
	return rows
}

// execute runs tasks in a device with values and fails on a fault or a note.
func execute(t testing.TB, m *dma.Memory, tasks ...*regs.Task) *Device {
	t.Helper()
	d := New(m, Options{Chip: M1(), Values: true, Workers: 1})
	for i, task := range tasks {
		task.Index = i
		d.Execute(task)
	}
	r := d.Report()
	for _, f := range r.Faults {
		t.Fatal(f)
	}
	for i := range r.Descriptors {
		if n := r.Descriptors[i].Note(); n != "" {
			t.Fatalf("descriptor %d: %s", i, n)
		}
	}
	if !r.Complete() {
		t.Fatal("the report is not complete")
	}
	return d
}
