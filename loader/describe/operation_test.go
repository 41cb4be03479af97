package describe

import (
	"strings"
	"testing"

	"anesim/hw/regs"
)

// What planar tasks do, in words: each stage that changes something, and no other.
func TestPlanarWords(t *testing.T) {
	const half, two = 0x3800, 0x4000
	neutral := func(form regs.PlanarForm, change func(*regs.Groups)) *regs.Groups {
		g := new(regs.Groups)
		g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
		g.Common.InDim, g.Common.OutDim = g.Common.InDim.WithHin(2).WithWin(2), g.Common.OutDim.WithHout(2).WithWout(2)
		g.Common.Cin, g.Common.Cout, g.Common.InDepth, g.Common.OutDepth = regs.Cin{}.WithCin(1), regs.Cout{}.WithCout(1), regs.InDepth{}.WithDin(1), regs.OutDepth{}.WithDout(1)
		g.PE.BiasScale = g.PE.BiasScale.WithScale(0x3c00)
		g.PE.PreScale = g.PE.PreScale.WithScale(0x3c00)
		g.PE.FinalScale = regs.FinalScale{}.WithFinalScale(0x3f800000)
		change(g)
		return g
	}
	for _, tc := range []struct {
		form   regs.PlanarForm
		change func(*regs.Groups)
		want   string
	}{
		{regs.FormConstant, func(*regs.Groups) {}, "copy by the planar engine"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithBias(half) }, "addition of 0.5"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithScale(two) }, "multiplication by 2"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithBias(half).WithScale(two) }, "addition of 0.5, then multiplication by 2"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.PreScale = g.PE.PreScale.WithPreScale(half) }, "copy by the planar engine, plus 0.5"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.PreScale = g.PE.PreScale.WithScale(two) }, "copy by the planar engine, times 2"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.PreScale = regs.PreScale{} }, "copy by the planar engine"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithAbsolute(true) }, "absolute value"},
		{regs.FormConstant, func(g *regs.Groups) {
			g.PE.Cfg, g.PE.BiasScale = g.PE.Cfg.WithAbsolute(true), g.PE.BiasScale.WithBias(half)
		}, "absolute value, plus 0.5"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithOpMode(regs.PlanarSumSquare) }, "square of the source"},
		{regs.FormConstant, func(g *regs.Groups) {
			g.PE.Cfg, g.PE.BiasScale = g.PE.Cfg.WithOpMode(regs.PlanarSumSquare), g.PE.BiasScale.WithScale(two)
		}, "square of the source, times 2"},
		{regs.FormReduction, func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithOpMode(regs.PlanarSumSquare) }, "sum of the squares of each channel"},
		{regs.FormReduction, func(g *regs.Groups) { g.PE.FinalScale = regs.FinalScale{}.WithFinalScale(0x3e800000) }, "mean of each channel"},
		{regs.FormBiasScale, func(*regs.Groups) {}, "source 1 plus the first row of source 2, times its second row"},
		{regs.FormBiasScale, func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithSecSrc(negated) }, "source 1 less the first row of source 2, times its second row"},
		{regs.FormBiasScale, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithBias(half).WithScale(two) }, "source 1 plus the first row of source 2, times its second row, plus 0.5, times 2"},
		{regs.PlanarForm(0x77 & 0xf), func(*regs.Groups) {}, ""},
	} {
		g := neutral(tc.form, tc.change)
		got := strings.Join(describePlanarOperation(g, g.Operands()), ", ")
		if tc.want == "" {
			if !strings.Contains(got, "whose meaning is not known") {
				t.Errorf("form %v: %q", tc.form, got)
			}
		} else if got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
