package execycles_test

import (
	"math"
	"testing"

	"anesim/hw/execycles"
	"anesim/hw/regs"
)

// blank is a task that reads and writes memory: in and out are channels, height, width.
func blank(in, out [3]uint32) *regs.Groups {
	g := new(regs.Groups)
	c := &g.Common
	c.Cin, c.Cout = c.Cin.WithCin(in[0]), c.Cout.WithCout(out[0])
	c.InDim, c.OutDim = c.InDim.WithHin(in[1]).WithWin(in[2]), c.OutDim.WithHout(out[1]).WithWout(out[2])
	c.InDepth, c.OutDepth = regs.InDepth{}.WithDin(1), regs.OutDepth{}.WithDout(1)
	c.ChCfg = regs.FromRaw[regs.ChCfg](0x22)
	c.ConvCfg = c.ConvCfg.WithKw(1).WithKh(1).WithSx(1).WithSy(1).WithOx(1).WithOy(1)
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(1)
	c.TileCfg = c.TileCfg.WithTileHeight(out[1])
	g.TileDMASrc.Src1DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x33881)
	g.TileDMADst.DstDMAConfig = g.TileDMADst.DstDMAConfig.WithEn(true)
	g.ReadMeanings()
	return g
}

func onEngines(g *regs.Groups, op regs.MACOp) *regs.Groups {
	g.OnEngines = true
	g.NE.MACCfg = g.NE.MACCfg.WithOpMode(op)
	return g
}

// Each term of the rule by itself. The expected numbers are worked out by hand from the
// rules and constants.
func TestExeCycles(t *testing.T) {
	type groups = regs.Groups
	square := [3]uint32{64, 64, 64} // 524288 bytes: 15.36 us
	planar := func(form regs.PlanarForm, in [3]uint32, set func(*groups)) *groups {
		g := blank(in, in)
		g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
		if set != nil {
			set(g)
			g.ReadMeanings()
		}
		return g
	}
	second := func(g *groups) {
		g.Common.ChCfg, g.TileDMASrc.Src2DMAConfig = regs.FromRaw[regs.ChCfg](0x2a), regs.FromRaw[regs.SrcDMAConfig](0x13900)
	}
	for _, tc := range []struct {
		name string
		g    *groups
		want uint16
	}{
		{"source and destination", planar(regs.FormConstant, square, nil), 30},
		{"a second source", planar(regs.FormTwoSources, square, second), 46},
		{"a second source that stands in L2", planar(regs.FormTwoSources, square, func(g *groups) { g.Common.ChCfg = regs.FromRaw[regs.ChCfg](0x2a) }), 30},
		{"a second source broadcast along C", planar(regs.FormTwoSources, square, func(g *groups) {
			second(g)
			g.Common.PlanarOperands = g.Common.PlanarOperands.WithSrc2BroadcastC(true)
		}), 30},
		{"a first source broadcast along W: rows keep their 64 bytes", planar(regs.FormTwoSources, square, func(g *groups) {
			second(g)
			g.Common.PlanarOperands = g.Common.PlanarOperands.WithSrc1BroadcastW(true)
		}), 38},
		{"bits 16-17 turn a source on, not bit 0", planar(regs.FormConstant, square, func(g *groups) { g.TileDMASrc.Src1DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8881) }), 15},
		{"a reduction writes one element a channel", planar(regs.FormReduction, square, nil), 15},
		{"of several depths too", planar(regs.FormReduction, [3]uint32{1, 64, 64}, func(g *groups) {
			g.Common.InDepth, g.Common.OutDepth = regs.InDepth{}.WithDin(64), regs.OutDepth{}.WithDout(64)
		}), 15},
		{"rows of one element are padded", planar(regs.FormConstant, [3]uint32{1024, 1, 1}, nil), 4},
		{"planar channels of two sources", planar(regs.FormTwoSources, [3]uint32{1024, 1, 1}, second), 9},
		{"pixels of a reduction", planar(regs.FormReduction, [3]uint32{256, 8, 32}, nil), 4},
		{"pass-through", onEngines(blank([3]uint32{1024, 1, 1}, [3]uint32{1024, 1, 1}), regs.PassThrough), 4},
		{"a table by its look-ups", func() *groups {
			g := onEngines(blank([3]uint32{1, 1024, 1024}, [3]uint32{1, 1024, 1024}), regs.PassThrough)
			g.NE.MACCfg = g.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
			g.TileDMADst.DstDMAConfig = regs.DstDMAConfig{}
			return g
		}(), 91},
		{"steps of a convolution", onEngines(blank([3]uint32{256, 32, 32}, [3]uint32{512, 32, 32}), regs.MultiplyAccumulate), 46},
		{"a transposed destination", func() *groups {
			g := onEngines(blank([3]uint32{64, 1, 2}, [3]uint32{4096, 1, 2}), regs.MultiplyAccumulate)
			g.Common.Cfg = g.Common.Cfg.WithTranspose(true)
			return g
		}(), 0},
		{"a convolution in four tiles reads its halo again", func() *groups {
			g := onEngines(blank([3]uint32{16, 64, 1024}, [3]uint32{16, 64, 1024}), regs.MultiplyAccumulate)
			g.Common.ConvCfg = g.Common.ConvCfg.WithKh(31)
			g.Common.TileCfg = regs.TileCfg{}.WithTileHeight(16)
			g.TileDMADst.DstDMAConfig = regs.DstDMAConfig{}
			g.Common.Cout = regs.Cout{}.WithCout(1)
			return g
		}(), 147},
		{"lanes that share a buffer", func() *groups {
			g := onEngines(blank([3]uint32{16, 1, 1}, [3]uint32{16, 1, 1}), regs.PassThrough)
			for i := range 16 {
				g.KernelDMASrc.CoeffDMAConfig[i] = regs.CoeffDMAConfig{}.WithEn(true)
				g.KernelDMASrc.CoeffBfrSize[i] = regs.DMAWord{}.WithBytes(0x20000)
				g.KernelDMASrc.CoeffBaseAddr[i] = regs.DMAWord{}.WithBytes(uint32(i / 8 * 0x20000))
			}
			return g
		}(), 7},
		{"no more than the word holds", planar(regs.FormConstant, [3]uint32{65536, 1024, 32}, nil), 65535},
	} {
		if got := new(execycles.Chain).Next(execycles.H13, tc.g, tc.g.Operands(), nil); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestExeCyclesOfRing checks that the first descriptor of an overlapping pair has the cost of
// both.
func TestExeCyclesOfRing(t *testing.T) {
	shape := [3]uint32{1, 1024, 1024}
	first := blank(shape, shape)
	first.Common.Cfg = first.Common.Cfg.WithPlanarForm(regs.FormConstant)
	first.TileDMADst.DstDMAConfig = regs.DstDMAConfig{}
	first.L2.ResultCfg = first.L2.ResultCfg.WithType(3)
	second := onEngines(blank(shape, shape), regs.PassThrough)
	second.NE.MACCfg = second.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
	second.TileDMASrc.Src1DMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8880)
	second.LoadsSource1 = false
	second.L2.SourceCfg = second.L2.SourceCfg.WithType(3)
	var chain execycles.Chain
	if got := chain.Next(execycles.H13, first, first.Operands(), second); got != 91 { // the table's
		t.Errorf("first: %d, want 91", got)
	}
	if got := new(execycles.Chain).Next(execycles.H13, first, first.Operands(), nil); got != 61 { // its own bytes
		t.Errorf("alone: %d, want 61", got)
	}
	if got := chain.Next(execycles.H13, second, second.Operands(), nil); got != 0 {
		t.Errorf("second: %d, want 0", got)
	}
}

// Each term before it is cut to whole microseconds, of odd sizes so that none stands in for
// another.
func TestMicroseconds(t *testing.T) {
	quiet := func(g *regs.Groups) *regs.Groups { // moves nothing
		g.TileDMASrc.Src1DMAConfig, g.TileDMADst.DstDMAConfig = regs.SrcDMAConfig{}, regs.DstDMAConfig{}
		g.LoadsSource1 = false
		return g
	}
	conv := func(cin, cout, kw, kh, h, w uint32) *regs.Groups {
		g := quiet(onEngines(blank([3]uint32{cin, h, w}, [3]uint32{cout, h, w}), regs.MultiplyAccumulate))
		g.Common.ConvCfg = g.Common.ConvCfg.WithKw(kw).WithKh(kh)
		return g
	}
	reduction := func(c, groups, h, w uint32) *regs.Groups {
		g := quiet(blank([3]uint32{c, h, w}, [3]uint32{c, h, w}))
		g.Common.Cfg = g.Common.Cfg.WithPlanarForm(regs.FormReduction)
		g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithNumGroups(groups)
		return g
	}
	unicast := conv(7, 21, 3, 5, 13, 29)
	unicast.Common.GroupConvCfg = unicast.Common.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(3)
	table := func(engines uint32) *regs.Groups {
		g := quiet(onEngines(blank([3]uint32{7, 13, 29}, [3]uint32{7, 13, 29}), regs.PassThrough))
		g.NE.MACCfg = g.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
		g.Common.Cfg = g.Common.Cfg.WithActiveNE(engines)
		return g
	}
	wide := conv(7, 21, 1, 1, 1, 375)
	bytes := blank([3]uint32{3, 5, 32}, [3]uint32{3, 5, 32})
	bytes.Common.Cfg = bytes.Common.Cfg.WithPlanarForm(regs.FormConstant)
	for _, tc := range []struct {
		name string
		g    *regs.Groups
		want float64
	}{
		// ceil(13*29/256) = 2 patches, 21/16 of the output channels, 7*3*5 steps.
		{"steps and patches", conv(7, 21, 3, 5, 13, 29), 2 * 21. / 16 * (7*3*5/1493.3 + 0.0711)},
		{"one pixel", conv(7, 21, 1, 1, 1, 1), 21. / 16 * (7/1493.3 + 0.0711)},
		{"a patch of 256 pixels", conv(7, 21, 1, 1, 16, 16), 21. / 16 * (7/1493.3 + 0.0711)},
		{"rows of more than 128 pixels in slices: one patch and a half", wide, 1.5 * 21. / 16 * (7/1493.3 + 0.0711)},
		{"unicast channels", unicast, 2 * 21. / 16 * (3*3*5/1493.3 + 0.0711)},
		{"a reduction of four rows", reduction(7, 1, 4, 29), 7 * (0.0017 + 0.000056*29)},
		{"of nine", reduction(7, 1, 9, 29), 7 * (0.0017 + 0.000056*29*3)},
		{"in two groups", reduction(7, 2, 9, 29), 7 * 2 * (0.0017 + 0.000056*29*3)},
		{"a table, one engine", table(0), 7 * 13 * 29 / 11428.57},
		{"four engines", table(2), 7 * 13 * 29 / 4. / 11428.57},
		{"and sixteen: its channels", table(4), 7 * 0.004444},
		{"bytes", bytes, max(float64(bytes.Operands().Bytes())/34133.33, 3*0.004444)},
	} {
		if got := execycles.H13.Microseconds(tc.g, tc.g.Operands()); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: %.9f us, want %.9f", tc.name, got, tc.want)
		}
	}
}

// TestMicrosecondsOfH13G checks the rules of the M1 that differ from those of the A14.
func TestMicrosecondsOfH13G(t *testing.T) {
	quiet := func(g *regs.Groups) *regs.Groups { // moves nothing
		g.TileDMASrc.Src1DMAConfig, g.TileDMADst.DstDMAConfig = regs.SrcDMAConfig{}, regs.DstDMAConfig{}
		g.LoadsSource1 = false
		return g
	}
	planar := func(form regs.PlanarForm, c, d, h, w uint32) *regs.Groups {
		g := quiet(blank([3]uint32{c, h, w}, [3]uint32{c, h, w}))
		g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
		g.Common.InDepth, g.Common.OutDepth = regs.InDepth{}.WithDin(d), regs.OutDepth{}.WithDout(d)
		return g
	}
	pass := func(in, out [3]uint32) *regs.Groups { return quiet(onEngines(blank(in, out), regs.PassThrough)) }
	turned := pass([3]uint32{24, 5, 8}, [3]uint32{9, 5, 24}) // the source has fewer granules
	turned.Common.Cfg = turned.Common.Cfg.WithTranspose(true)
	table := pass([3]uint32{7, 13, 29}, [3]uint32{7, 13, 29})
	table.NE.MACCfg = table.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
	table.Common.Cfg = table.Common.Cfg.WithActiveNE(2)
	small := quiet(onEngines(blank([3]uint32{7, 4, 8}, [3]uint32{21, 4, 8}), regs.MultiplyAccumulate))
	whole := small.Common.Cfg
	small.Common.Cfg = whole.WithSmallSourceMode(true)
	large := *small
	large.Common.Cfg = whole
	moved := blank([3]uint32{64, 64, 64}, [3]uint32{64, 64, 64})
	moved.Common.Cfg = moved.Common.Cfg.WithPlanarForm(regs.FormConstant)
	for _, tc := range []struct {
		name   string
		g      *regs.Groups
		cycles float64
	}{
		{"planar blocks of 4 by 8", planar(regs.FormConstant, 7, 3, 9, 29), 7 * 3 * 3 * 4},
		{"two sources as one", planar(regs.FormTwoSources, 7, 3, 9, 29), 7 * 3 * 3 * 4},
		{"a reduction as any other form", planar(regs.FormReduction, 7, 3, 9, 29), 7 * 3 * 3 * 4},
		{"a pass whose source has more granules", pass([3]uint32{24, 5, 9}, [3]uint32{24, 5, 8}), 24 * 5 * 2 / 8.},
		{"whose result has more", pass([3]uint32{24, 5, 8}, [3]uint32{24, 5, 9}), 24 * 5 * 2 / 8.},
		{"a transposed result, whose rows are channels", turned, 24 * 5 * 2 / 8.},
		{"a table, four engines", table, 7 * 13 * 29 / 4.},
		{"a patch of the array", &large, 1493.3 * 21. / 16 * (7/1493.3 + 0.0711)},
		{"half a patch for a small source", small, 1493.3 * 0.5 * 21. / 16 * (7/1493.3 + 0.0711)},
		{"bytes at twice the rate", moved, 1493.3 * 2 * 524288 / (2 * 34133.33)},
	} {
		if got := execycles.H13G.Microseconds(tc.g, tc.g.Operands()); math.Abs(got-tc.cycles/1493.3) > 1e-9 {
			t.Errorf("%s: %.9f us, want %.9f", tc.name, got, tc.cycles/1493.3)
		}
	}
}

// A pass of H13G that runs together with the planar task before it has the cost of that task if it
// is higher. A pass of H13 has its own.
func TestExeCyclesOfPassWithPlanarTask(t *testing.T) {
	large, little := [3]uint32{64, 64, 64}, [3]uint32{16, 1, 1}
	before := blank(large, large)
	before.Common.Cfg = before.Common.Cfg.WithPlanarForm(regs.FormConstant)
	pass := onEngines(blank(little, little), regs.PassThrough)
	together := *pass
	together.L2.SourceCfg = together.L2.SourceCfg.WithDep_or_BfrMode(2)
	for _, tc := range []struct {
		name   string
		target execycles.Target
		pass   *regs.Groups
		want   uint16
	}{
		{"together", execycles.H13G, &together, 15},
		{"after it", execycles.H13G, pass, 0},
		{"for another target", execycles.H13, &together, 0},
	} {
		var chain execycles.Chain
		chain.Next(tc.target, before, before.Operands(), nil)
		if got := chain.Next(tc.target, tc.pass, tc.pass.Operands(), nil); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
		if got := chain.Next(tc.target, tc.pass, tc.pass.Operands(), nil); got != 0 {
			t.Errorf("%s: the pass after it has %d, want 0", tc.name, got)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for _, name := range execycles.TargetNames() {
		if target, err := execycles.ParseTarget(name); err != nil || target.String() != name {
			t.Errorf("%s: %v, %v", name, target, err)
		}
	}
	if target, err := execycles.ParseTarget("h99"); err == nil || target != 0 {
		t.Errorf("h99: %v, %v; want an error", target, err)
	}
	if execycles.Target(0).String() != "h13" || execycles.Target(0).Or(execycles.H13G) != execycles.H13G || execycles.H13.Or(execycles.H13G) != execycles.H13 {
		t.Error("the zero value is not h13 by default")
	}
}
