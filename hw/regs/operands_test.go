package regs_test

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
)

// planarTask is two sources and a result of 4 channels of 3x5 pixels on the planar engine.
func planarTask(form regs.PlanarForm) *regs.Groups {
	g := new(regs.Groups)
	c := &g.Common
	c.InDim, c.OutDim = c.InDim.WithHin(3).WithWin(5), c.OutDim.WithHout(3).WithWout(5)
	c.Cin, c.Cout, c.InDepth, c.OutDepth = regs.Cin{}.WithCin(4), regs.Cout{}.WithCout(4), regs.InDepth{}.WithDin(1), regs.OutDepth{}.WithDout(1)
	c.ChCfg = regs.FromRaw[regs.ChCfg](0x2a)
	c.Cfg = c.Cfg.WithPlanarForm(form)
	c.ConvCfg = c.ConvCfg.WithKw(1).WithKh(1).WithSx(1).WithSy(1)
	g.TileDMASrc.Src1DMAConfig, g.TileDMASrc.Src2DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x33881), regs.FromRaw[regs.SrcDMAConfig](0x33880)
	g.TileDMADst.DstDMAConfig = regs.FromRaw[regs.DstDMAConfig](0x40000c1)
	g.ReadMeanings()
	return g
}

// TestOperandsPlaces checks where a task's operands are, from their DMA and their routes
// through L2.
func TestOperandsPlaces(t *testing.T) {
	type place struct {
		used, dram bool
		l2         regs.Residence
	}
	for _, tc := range []struct {
		name string
		form regs.PlanarForm
		set  func(*regs.Groups)
		want [3]place
	}{
		{"all through memory", regs.FormTwoSources, func(*regs.Groups) {},
			[3]place{{true, true, regs.Streamed}, {true, true, regs.Streamed}, {true, true, regs.Streamed}}},
		{"bits 16-17 of 1 turn a source on", regs.FormTwoSources, func(g *regs.Groups) { g.TileDMASrc.Src2DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x13900) },
			[3]place{{true, true, regs.Streamed}, {true, true, regs.Streamed}, {true, true, regs.Streamed}}},
		{"bit 0 does not", regs.FormTwoSources, func(g *regs.Groups) { g.TileDMASrc.Src1DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8881) },
			[3]place{{true, false, regs.Resident}, {true, true, regs.Streamed}, {true, true, regs.Streamed}}},
		{"a second source that stands in L2", regs.FormTwoSources, func(g *regs.Groups) { g.TileDMASrc.Src2DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8880) },
			[3]place{{true, true, regs.Streamed}, {true, false, regs.Resident}, {true, true, regs.Streamed}}},
		{"a form of one source", regs.FormConstant, func(g *regs.Groups) { g.TileDMASrc.Src2DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8880) },
			[3]place{{true, true, regs.Streamed}, {}, {true, true, regs.Streamed}}},
		{"one that a form does not use is moved all the same", regs.FormConstant, func(*regs.Groups) {},
			[3]place{{true, true, regs.Streamed}, {false, true, regs.Streamed}, {true, true, regs.Streamed}}},
		{"a kept source and a result in both", regs.FormTwoSources, func(g *regs.Groups) {
			g.L2.SourceCfg, g.L2.ResultCfg = g.L2.SourceCfg.WithType(1), g.L2.ResultCfg.WithType(1)
		}, [3]place{{true, true, regs.Resident}, {true, true, regs.Streamed}, {true, true, regs.Resident}}},
		{"a result that stays", regs.FormTwoSources, func(g *regs.Groups) { g.TileDMADst.DstDMAConfig = regs.FromRaw[regs.DstDMAConfig](0xc0) },
			[3]place{{true, true, regs.Streamed}, {true, true, regs.Streamed}, {true, false, regs.Resident}}},
		{"rings", regs.FormConstant, func(g *regs.Groups) {
			g.TileDMASrc.Src1DMAConfig, g.TileDMASrc.Src2DMAConfig, g.TileDMADst.DstDMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8880), regs.FromRaw[regs.SrcDMAConfig](0x8880), regs.FromRaw[regs.DstDMAConfig](0xc0)
			g.L2.SourceCfg, g.L2.ResultCfg = g.L2.SourceCfg.WithType(3), g.L2.ResultCfg.WithType(3)
		}, [3]place{{true, false, regs.Circular}, {}, {true, false, regs.Circular}}},
	} {
		g := planarTask(tc.form)
		tc.set(g)
		g.ReadMeanings()
		var got [3]place
		for i, o := range g.Operands().List() {
			got[i] = place{o.Used, o.DRAM, o.L2}
		}
		if got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// The extent of each operand: axes that repeat are one long, bias and scale are two rows
// of one value a channel, a reduction leaves one element a channel.
func TestOperandsShapes(t *testing.T) {
	full := regs.Shape{Groups: 1, Channels: 4, Height: 3, Width: 5, Depth: 1}
	with := func(change func(*regs.Shape)) regs.Shape { s := full; change(&s); return s }
	for _, tc := range []struct {
		name                  string
		form                  regs.PlanarForm
		operands              regs.PlanarOperands
		first, second, result regs.Shape
	}{
		{"alike", regs.FormTwoSources, regs.PlanarOperands{}, full, full, full},
		{"source 1 repeats along W and C", regs.FormTwoSources, regs.FromRaw[regs.PlanarOperands](0x9),
			with(func(s *regs.Shape) { s.Width, s.Channels = 1, 1 }), full, full},
		{"source 2 along H", regs.FormTwoSources, regs.FromRaw[regs.PlanarOperands](0x20), full, with(func(s *regs.Shape) { s.Height = 1 }), full},
		{"bias and scale", regs.FormBiasScale, regs.PlanarOperands{}, full, with(func(s *regs.Shape) { s.Height, s.Width = 2, 1 }), full},
		{"one of each for all channels", regs.FormBiasScale, regs.FromRaw[regs.PlanarOperands](0x80), full,
			with(func(s *regs.Shape) { s.Height, s.Width, s.Channels = 2, 1, 1 }), full},
		{"a reduction", regs.FormTwoReduced, regs.FromRaw[regs.PlanarOperands](0x1), with(func(s *regs.Shape) { s.Width = 1 }), full,
			with(func(s *regs.Shape) { s.Height, s.Width = 1, 1 })},
	} {
		g := planarTask(tc.form)
		g.Common.PlanarOperands = tc.operands
		o := g.Operands()
		if diff := cmp.Diff([3]regs.Shape{tc.first, tc.second, tc.result}, [3]regs.Shape{o.Source1.Shape, o.Source2.Shape, o.Result.Shape}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	// An operand resolved before leaves nothing behind.
	var o regs.Operands
	o.Resolve(planarTask(regs.FormTwoSources))
	last := planarTask(regs.FormConstant)
	last.TileDMASrc.Src1DMAConfig, last.TileDMASrc.Src2DMAConfig, last.TileDMADst.DstDMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8880), regs.FromRaw[regs.SrcDMAConfig](0x8880), regs.FromRaw[regs.DstDMAConfig](0xc0)
	last.ReadMeanings()
	o.Resolve(last)
	if diff := cmp.Diff(last.Operands(), &o); diff != "" {
		t.Errorf("resolved into what another task left (-want +got):\n%s", diff)
	}
	if n := testing.AllocsPerRun(10, func() { o.Resolve(last) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Lanes that read one buffer move it once.
func TestKernelOperand(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bases []uint32
		want  regs.KernelOperand
	}{
		{"none", nil, regs.KernelOperand{}},
		{"ascending", []uint32{0, 0x80, 0x100}, regs.KernelOperand{On: true, Bytes: 0x180, Lane: 0x80, End: 0x180}},
		{"one for all", []uint32{0x40, 0x40, 0x40}, regs.KernelOperand{On: true, Bytes: 0x80, Lane: 0x80, Low: 0x40, End: 0xc0}},
		{"two in turn", []uint32{0x80, 0, 0x80, 0}, regs.KernelOperand{On: true, Bytes: 0x100, Lane: 0x80, End: 0x100}},
		{"descending", []uint32{0x100, 0x80, 0}, regs.KernelOperand{On: true, Bytes: 0x180, Lane: 0x80, End: 0x180}},
	} {
		g := new(regs.Groups)
		k := &g.KernelDMASrc
		for i, at := range tc.bases {
			k.CoeffDMAConfig[i] = k.CoeffDMAConfig[i].WithEn(true)
			k.CoeffBaseAddr[i] = k.CoeffBaseAddr[i].WithBytes(at)
			k.CoeffBfrSize[i] = k.CoeffBfrSize[i].WithBytes(0x80)
		}
		if got := g.Operands().Kernel; got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// A walk gives the task that fills a ring the registers of the one that reads it, and no
// other task any.
func TestTasksBeside(t *testing.T) {
	const result, source = 0x04830, 0x04804
	// Three descriptors of one record each, 0x100 bytes apart.
	chain := func(records [3][2]uint32) (text []byte) {
		text = make([]byte, 0x300)
		for i, r := range records {
			at := text[0x100*i:]
			if i < 2 {
				binary.LittleEndian.PutUint32(at[7*4:], uint32(0x100*(i+1)))
				binary.LittleEndian.PutUint32(at[4:], (regs.HeaderWords+2-1)<<16)
			}
			binary.LittleEndian.PutUint32(at[40:], r[0])
			binary.LittleEndian.PutUint32(at[44:], r[1])
		}
		return text
	}
	for _, tc := range []struct {
		name    string
		records [3][2]uint32
		want    [3]bool
	}{
		{"no ring", [3][2]uint32{{result, 0}, {source, 0}, {source, 0}}, [3]bool{}},
		{"a pair at the start", [3][2]uint32{{result, 3}, {source, 3}, {result, 0}}, [3]bool{true, true, false}},
		{"nobody reads", [3][2]uint32{{result, 3}, {source, 0}, {result, 0}}, [3]bool{}},
	} {
		s := regs.Stream{Text: chain(tc.records), FirstWords: regs.HeaderWords + 2}
		var got [3]bool
		n := 0
		for task, err := range s.Tasks(new(regs.File)) {
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			if task.Index != n {
				t.Errorf("%s: task %d comes as number %d", tc.name, task.Index, n)
			}
			got[n] = task.Beside != nil
			n++
		}
		// Registers keep their values: the second task of the pair still has a ring for a
		// result, and the third still reads one.
		if n != 3 || got != tc.want {
			t.Errorf("%s: %d tasks, beside %v, want %v", tc.name, n, got, tc.want)
		}
	}
}
