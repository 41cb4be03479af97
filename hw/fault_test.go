package hw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
)

// Every register value that hangs silicon, and everything else a device does not
// survive, is a fault that names the unit, the descriptor and the cycle.
func TestFaults(t *testing.T) {
	conv := func() *regs.Task { return newConv(shape{4, 2, 2}, shape{4, 2, 2}) }
	pass := func() *regs.Task { return newPass(shape{4, 2, 2}) }
	planar := func() *regs.Task {
		return newPlanar(regs.FormConstant, regs.PlanarAdd, shape{4, 2, 2}, shape{4, 2, 2})
	}
	const never = " is zero: the engine never finishes"
	for _, tc := range []struct {
		name string
		task func() *regs.Task
		set  func(*regs.Task)
		unit string
		what string
	}{
		{"InDim", conv, func(t *regs.Task) { t.Groups.Common.InDim = regs.InDim{} }, "common", "Common.InDim" + never},
		{"Win", conv, func(t *regs.Task) { t.Groups.Common.InDim = t.Groups.Common.InDim.WithWin(0) }, "common", "Common.InDim" + never},
		{"Hin", planar, func(t *regs.Task) { t.Groups.Common.InDim = t.Groups.Common.InDim.WithHin(0) }, "common", "Common.InDim" + never},
		{"OutDim", conv, func(t *regs.Task) { t.Groups.Common.OutDim = regs.OutDim{} }, "common", "Common.OutDim" + never},
		{"Wout", conv, func(t *regs.Task) { t.Groups.Common.OutDim = t.Groups.Common.OutDim.WithWout(0) }, "common", "Common.OutDim" + never},
		{"Hout", conv, func(t *regs.Task) { t.Groups.Common.OutDim = t.Groups.Common.OutDim.WithHout(0) }, "common", "Common.OutDim" + never},
		{"Cin", conv, func(t *regs.Task) { t.Groups.Common.Cin = regs.Cin{} }, "common", "Common.Cin" + never},
		{"Cout", conv, func(t *regs.Task) { t.Groups.Common.Cout = regs.Cout{} }, "common", "Common.Cout" + never},
		{"input depth", conv, func(t *regs.Task) { t.Groups.Common.InDepth = regs.InDepth{} }, "common", "Common.InDepth" + never},
		{"output depth", conv, func(t *regs.Task) { t.Groups.Common.OutDepth = regs.OutDepth{} }, "common", "Common.OutDepth" + never},
		{"ConvCfg", planar, func(t *regs.Task) { t.Groups.Common.ConvCfg = regs.ConvCfg{} }, "common", "Common.ConvCfg" + never},
		{"GroupConvCfg", pass, func(t *regs.Task) { t.Groups.Common.GroupConvCfg = regs.GroupConvCfg{} }, "common", "Common.GroupConvCfg" + never},
		{"TileCfg", conv, func(t *regs.Task) { t.Groups.Common.TileCfg = regs.TileCfg{} }, "common", "Common.TileCfg" + never},
		{"ResultCfg", conv, func(t *regs.Task) { t.Groups.L2.ResultCfg = regs.L2Route{} }, "l2", "L2.ResultCfg" + never},
		{"source DMA", conv, func(t *regs.Task) { t.Groups.TileDMASrc.Src1DMAConfig = regs.SrcDMAConfig{} }, "tile-dma-source", "TileDMASrc.Src1DMAConfig" + never},
		{"source format", planar, func(t *regs.Task) { t.Groups.TileDMASrc.Src1Fmt = regs.SurfaceFmt{} }, "tile-dma-source", "TileDMASrc.Src1Fmt" + never},
		{"destination format", conv, func(t *regs.Task) { t.Groups.TileDMADst.DstFmt = regs.SurfaceFmt{} }, "tile-dma-destination", "TileDMADst.DstFmt" + never},
		{"no kernel", conv, func(t *regs.Task) { t.Groups.KernelDMASrc = regs.KernelDMASrc{} }, "kernel-dma", "multiply-accumulate without a kernel: the engine never finishes"},
		{"table without kernel data", pass, func(t *regs.Task) {
			t.Groups.NE.MACCfg = t.Groups.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
		}, "kernel-dma", "activation table without kernel data: the engine never finishes"},
		{"pass-through of unlike channels", pass, func(t *regs.Task) {
			t.Groups.Common.Cout = t.Groups.Common.Cout.WithCout(3)
		}, "ne", "pass-through has 4 input channels but 3 output channels: the engine never finishes"},
		{"no step", conv, func(t *regs.Task) {
			t.Groups.Common.ConvCfg = t.Groups.Common.ConvCfg.WithSx(0)
		}, "ne", "kernel is 1x1 with stride 0x1; want every extent and stride to be at least 1"},

		{"source outside memory", conv, func(t *regs.Task) { t.Bases.Source1 = 0x100 }, "dma", "source 1: 0x1c4 bytes at address 0x100 lie outside all segments"},
		{"second source outside memory", planar, func(t *regs.Task) {
			secondFromMemory(t)
			t.Bases.Source2 = memoryAt + memory
		}, "dma", "source 2: 0x1c4 bytes at address 0x5000 lie outside all segments"},
		{"destination leaves memory", pass, func(t *regs.Task) { t.Bases.Destination = memoryAt + memory - 64 }, "dma", "destination: 0x1c4 bytes at address 0x4fc0 extend past segment memory, which ends at 0x5000"},
		{"kernel outside memory", conv, func(t *regs.Task) { t.Bases.Kernel = memoryAt + memory - 128 }, "dma", "weight lane 2: 0x40 bytes at address 0x5000 lie outside all segments"},
		{"kept source beyond L2", pass, func(t *regs.Task) {
			l := &t.Groups.L2
			l.SourceCfg, l.Src1Base = l.SourceCfg.WithType(1), l.Src1Base.WithBytes(0x1ffff0)
		}, "l2", "source 1: buffer ends at L2 address 0x200124; L2 has 0x200000 bytes"},
		{"second source beyond L2", func() *regs.Task {
			return newPlanar(regs.FormTwoSources, regs.PlanarAdd, shape{4, 2, 2}, shape{4, 2, 2})
		}, func(t *regs.Task) {
			l := &t.Groups.L2
			l.Src2Base = l.Src2Base.WithBytes(0x1fff00)
		}, "l2", "source 2: buffer ends at L2 address 0x200034; L2 has 0x200000 bytes"},
		{"result beyond L2", planar, func(t *regs.Task) { resultToL2(t, 0x1fff00) }, "l2", "destination: buffer ends at L2 address 0x200034; L2 has 0x200000 bytes"},
	} {
		broken := tc.task()
		tc.set(broken)
		broken.Index = 1
		for _, values := range []bool{false, true} {
			d := New(newMemory(t), Options{Chip: M1(), Values: values, Workers: 1})
			if d.Execute(tc.task()) {
				t.Fatalf("%s: before it: %v", tc.name, d.Report().Faults)
			}
			if !d.Execute(broken) {
				t.Errorf("%s: no fault", tc.name)
				continue
			}
			r := d.Report()
			// A task starts while the results of the one before are on their way.
			var before DescriptorReport
			NewTimer(M1()).Time(&before, tc.task())
			want := []Fault{{tc.unit, 1, before.Cycles.Total(), tc.what}}
			if diff := cmp.Diff(want, r.Faults); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
			if r.Complete() || len(r.Descriptors) != 1 {
				t.Errorf("%s: complete %v after %d descriptors", tc.name, r.Complete(), len(r.Descriptors))
			}
		}
	}
}

// Coefficients are needed only where values are.
func TestShortLaneIsAFaultOfValues(t *testing.T) {
	task := newConv(shape{33, 1, 1}, shape{2, 1, 1}) // a lane of 64 bytes holds 32
	if d := New(newMemory(t), Options{Chip: M1()}); d.Execute(task) {
		t.Errorf("timing: %v", d.Report().Faults)
	}
	d := New(newMemory(t), Options{Chip: M1(), Values: true})
	if !d.Execute(task) {
		t.Fatal("no fault")
	}
	want := []Fault{{"kernel-dma", 0, 0, "weight lane 0 holds 0x40 bytes; its planes need 0x42"}}
	if diff := cmp.Diff(want, d.Report().Faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The planar engine works with every tile closed, the array does not.
func TestNoTileOpen(t *testing.T) {
	d := New(newMemory(t), Options{Chip: M1()})
	d.SetTileEnables(0)
	s := shape{4, 2, 2}
	if d.Execute(newPlanar(regs.FormConstant, regs.PlanarAdd, s, s)) {
		t.Error(d.Report().Faults)
	}
	cycle := d.report.Cycles // the results are still on their way
	if !d.Execute(newPass(s)) {
		t.Fatal("no fault")
	}
	want := Fault{"tiles", 0, cycle, "no tile is open; want at least one for a task of the MAC array"}
	if diff := cmp.Diff(want, d.Report().Faults[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := (Fault{"tiles", 3, 99, "closed"}).String(), "descriptor 3, tiles, cycle 99: closed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBudget(t *testing.T) {
	task := newConv(shape{4, 2, 2}, shape{4, 2, 2}) // 16 elements of sixteen steps
	d := New(newMemory(t), Options{Chip: M1(), Values: true, Budget: 600})
	for range 2 {
		if d.Execute(task) {
			t.Fatal(d.Report().Faults)
		}
	}
	cycle := d.report.Cycles
	if !d.Execute(task) {
		t.Fatal("no fault")
	}
	want := Fault{"device", 0, cycle, "computing the values takes at least 768 steps; want at most 600"}
	if diff := cmp.Diff(want, d.Report().Faults[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnmodelled checks that the report names each setting that the model does not compute,
// and makes no claim about later results.
func TestUnmodelled(t *testing.T) {
	s := shape{4, 2, 2}
	conv := func() *regs.Task { return newConv(s, s) }
	pass := func() *regs.Task { return newPass(s) }
	planar := func(f regs.PlanarForm) func() *regs.Task {
		return func() *regs.Task { return newPlanar(f, regs.PlanarAdd, s, s) }
	}
	mac := func(set func(regs.MACCfg) regs.MACCfg) func(*regs.Groups) {
		return func(g *regs.Groups) { g.NE.MACCfg = set(g.NE.MACCfg) }
	}
	common := func(set func(*regs.Common)) func(*regs.Groups) {
		return func(g *regs.Groups) { set(&g.Common) }
	}
	for _, tc := range []struct {
		note string // part of it
		task func() *regs.Task
		set  func(*regs.Groups)
	}{
		{"8-bit elements", conv, common(func(c *regs.Common) { c.ChCfg = c.ChCfg.WithInFmt(regs.FormatInt8A) })},
		{"8-bit elements", planar(regs.FormConstant), common(func(c *regs.Common) { c.ChCfg = c.ChCfg.WithOutFmt(regs.FormatInt8B) })},
		{"MAC task applies ReLU to a source", pass, func(g *regs.Groups) { g.L2.Cfg = g.L2.Cfg.WithInputReLU(true) }},
		{"NE.MACCfg sets bits 0x80", conv, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithMatrixBiasEn(true) })},
		{"NE.MACCfg sets bits 0x20", conv, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithKernelMode(true) })},
		{"NE.MACCfg sets bits 0x2000", conv, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithPostScaleMode(true) })},
		{"NE.MatrixVectorBias sets bits 0x1", pass, func(g *regs.Groups) { g.NE.MatrixVectorBias = regs.MatrixVectorBias{}.WithBias(1) }},
		{"NE.KernelCfg sets bits 0x400", pass, func(g *regs.Groups) { g.NE.KernelCfg = g.NE.KernelCfg.WithGrpReuse(true) }},
		{"L2.Cfg sets bits 0x20", pass, func(g *regs.Groups) { g.L2.Cfg = regs.FromRaw[regs.L2Cfg](1 << 5) }},
		{"L2.SourceCfg sets bits 0x1000", pass, func(g *regs.Groups) { g.L2.SourceCfg = g.L2.SourceCfg.WithCmpVec(1) }},
		{"Common.GroupConvCfg sets bits 0x8000", pass, common(func(c *regs.Common) { c.GroupConvCfg = c.GroupConvCfg.WithElemMultMode(true) })},
		{"Maximum requires a task with one source", planar(regs.FormTwoSources), func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithMaximum(true) }},
		{"padding mode 0", planar(regs.FormConstant), func(g *regs.Groups) {
			g.PE.Cfg = g.PE.Cfg.WithMaximum(true)
			g.Common.ConvCfg = g.Common.ConvCfg.WithKh(3)
		}},
		{"want an element in each window", planar(regs.FormConstant), func(g *regs.Groups) {
			g.PE.Cfg, g.L2.Cfg = g.PE.Cfg.WithMaximum(true), g.L2.Cfg.WithPaddingMode(1)
			g.Common.ConvCfg = g.Common.ConvCfg.WithKh(3).WithPy(3)
		}},
		{"only one of Absolute", planar(regs.FormReduction), func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithReciprocal(true).WithRsqrt(true) }},
		{"padding mode is 1", planar(regs.FormReduction), func(g *regs.Groups) { g.L2.Cfg = g.L2.Cfg.WithPaddingMode(1) }},
		{"window 3x1", planar(regs.FormConstant), common(func(c *regs.Common) { c.ConvCfg = c.ConvCfg.WithKh(3) })},
		{"MAC task has input depth 2 and output depth 1", pass, common(func(c *regs.Common) { c.InDepth = regs.InDepth{}.WithDin(2) })},
		{"has a bias but does not multiply", pass, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithBiasMode(true) })},
		{"nonlinear mode 3", pass, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithNonlinearMode(3) })},
		{"pass-through has a source of 2x2 and a result of 1x2", pass, common(func(c *regs.Common) { c.OutDim = c.OutDim.WithHout(1) })},
		{"channel maximum reads 1 of 4", pass, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithOpMode(regs.ChannelMaximum) })},
		{"channel sum has 4", pass, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithOpMode(regs.MantissaTable) })},
		{"MAC operation 13", pass, mac(func(m regs.MACCfg) regs.MACCfg { return m.WithOpMode(13) })},
		{"outputs per step", conv, common(func(c *regs.Common) { c.ConvCfg = c.ConvCfg.WithOy(2) })},
		{"outputs per step", conv, common(func(c *regs.Common) { c.ConvCfg = c.ConvCfg.WithOx(0) })},
		{"unicast task reads 2 input channels", conv, common(func(c *regs.Common) { c.GroupConvCfg = c.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(2) })},
		{"2 input channels and 4 output channels", conv, common(func(c *regs.Common) {
			c.GroupConvCfg = c.GroupConvCfg.WithUnicastEn(true)
			c.Cin = c.Cin.WithCin(2)
		})},
		{"padding mode is 1", conv, func(g *regs.Groups) {
			g.L2.Cfg = g.L2.Cfg.WithPaddingMode(1)
			g.Common.ConvCfg = g.Common.ConvCfg.WithPx(1)
		}},
		{"packed in two ways", conv, func(g *regs.Groups) { g.NE.KernelCfg = g.NE.KernelCfg.WithSparse(true).WithPalEn(true) }},
		{"activation table", pass, func(g *regs.Groups) {
			g.NE.MACCfg = g.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
			g.KernelDMASrc = conv().Groups.KernelDMASrc // 64 bytes hold no table
		}},
		{"planar form", planar(1), func(*regs.Groups) {}},
		{"has 4 input channels and 3 output channels", planar(regs.FormConstant), common(func(c *regs.Common) { c.Cout = c.Cout.WithCout(3) })},
		{"has a source of 2x2 and a result of 2x1", planar(regs.FormConstant), common(func(c *regs.Common) { c.OutDim = c.OutDim.WithWout(1) })},
		{"unknown", planar(regs.FormConstant), func(g *regs.Groups) { g.PE.Cfg = regs.FromRaw[regs.PECfg](1 << 31) }},
	} {
		task := tc.task()
		tc.set(&task.Groups)
		task.Index = 7
		d := New(newMemory(t), Options{Chip: M1(), Values: true, Workers: 1})
		after := pass()
		after.Index = 8
		if d.Execute(task) || d.Execute(after) {
			t.Errorf("%s: %v", tc.note, d.Report().Faults)
			continue
		}
		r := d.Report()
		if first := &r.Descriptors[0]; !strings.Contains(first.Note(), tc.note) || first.Computed {
			t.Errorf("note %q, computed %v, want %q", first.Note(), first.Computed, tc.note)
		}
		if got, want := r.Descriptors[1].Note(), "values of the earlier descriptor 7 are not known"; got != want {
			t.Errorf("%s: then %q, want %q", tc.note, got, want)
		}
		if r.Complete() {
			t.Errorf("%s: the report is complete", tc.note)
		}
		// Timing does not mind.
		timed := New(newMemory(t), Options{Chip: M1()})
		timed.Execute(task)
		timed.Execute(after)
		if diff := cmp.Diff(r.Descriptors[0].Cycles, timed.Report().Descriptors[0].Cycles); diff != "" {
			t.Errorf("%s: cycles (-values +timing):\n%s", tc.note, diff)
		}
		// A new dispatch starts afresh.
		d.Dispatch()
		d.Execute(pass())
		if last := d.Report().Descriptors[2]; !last.Computed {
			t.Errorf("%s: the next dispatch: %q", tc.note, last.Note())
		}
	}
}
