package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// Tasks over tensors beyond the L2 as measured calls ran them, where no program shows how
// the compiler splits them. They have the registers that time, bytes and energy depend on,
// and no addresses.

// PlanarPass is the registers of a planar task over m rows of k elements, that reads its
// source from memory or writes its result there or not.
func PlanarPass(form regs.PlanarForm, m, k int, read, write bool) *regs.Groups {
	g := new(regs.Groups)
	setFoldedShape(g, regs.Shape{Groups: 1, Channels: 1, Height: m, Width: k})
	g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
	enableDMA(g, read, write)
	return g
}

// TablePass is the registers of a pass of the MAC engines over m rows of k elements with
// an activation table.
func TablePass(m, k int, read, write bool) *regs.Groups {
	g := PlanarPass(0, m, k, read, write)
	g.Common.TaskInfo = g.Common.TaskInfo.WithTaskNID(1)
	g.Common.Cfg = g.Common.Cfg.WithActiveNE(4)
	g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(1)
	g.NE.MACCfg = g.NE.MACCfg.WithOpMode(regs.PassThrough).WithNonlinearMode(regs.ActivationTable)
	return g
}

// CachedProduct is the registers of a product of one row a head with a matrix of k x n a
// head that is an input, over all heads at once: the task that writes the matrices to the
// scratch area as coefficients, and the one that multiplies with them.
func CachedProduct(heads, k, n int) (interleave, multiply *regs.Groups) {
	in := regs.Shape{Groups: 1, Channels: heads, Height: k, Width: n}
	interleave, multiply = new(regs.Groups), new(regs.Groups)
	setFoldedShape(interleave, in)
	interleave.Common.Cfg = interleave.Common.Cfg.WithPlanarForm(regs.FormConstant)
	enableDMA(interleave, true, true)
	setFoldedShape(multiply, regs.Shape{Groups: 1, Channels: heads, Height: 1, Width: k})
	multiply.Common.TaskInfo = multiply.Common.TaskInfo.WithTaskNID(1)
	multiply.NE.MACCfg = multiply.NE.MACCfg.WithOpMode(regs.MultiplyAccumulate)
	lane := uint32((2*in.Elements()/Engines + 63) &^ 63)
	d := &multiply.KernelDMASrc
	for i := range d.CoeffDMAConfig {
		d.CoeffDMAConfig[i] = d.CoeffDMAConfig[i].WithEn(true)
		d.CoeffBfrSize[i] = d.CoeffBfrSize[i].WithBytes(lane)
	}
	multiply.NE.KernelCfg = multiply.NE.KernelCfg.WithKernelFromScratch(true)
	multiply.Common.Cfg = multiply.Common.Cfg.WithActiveNE(4)
	return interleave, multiply
}

// streamed sets a shape. One beyond what a task takes folds: rows into channels,
// channels into groups, with as many elements or a few more.
func setFoldedShape(g *regs.Groups, s regs.Shape) {
	fold := func(from, to *int, most int) {
		for *from > most {
			*from, *to = (*from+1)/2, *to*2
		}
	}
	fold(&s.Width, &s.Height, layer.MaxExtent)
	fold(&s.Height, &s.Channels, layer.MaxExtent)
	fold(&s.Channels, &s.Groups, layer.MaxChannels)
	c := &g.Common
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatFP16).WithOutFmt(regs.FormatFP16)
	c.InDim = c.InDim.WithWin(uint32(s.Width)).WithHin(uint32(s.Height))
	c.OutDim = c.OutDim.WithWout(uint32(s.Width)).WithHout(uint32(s.Height))
	c.Cin, c.Cout = c.Cin.WithCin(uint32(s.Channels)), c.Cout.WithCout(uint32(s.Channels))
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(uint32(s.Groups))
	c.ConvCfg = c.ConvCfg.WithKw(1).WithKh(1).WithSx(1).WithSy(1).WithOx(1).WithOy(1)
}

// moves says what of a task the tile DMA moves.
func enableDMA(g *regs.Groups, read, write bool) {
	if read {
		g.TileDMASrc.Src1DMAConfig = g.TileDMASrc.Src1DMAConfig.WithEn(true).WithDepMode(3)
	}
	g.TileDMADst.DstDMAConfig = g.TileDMADst.DstDMAConfig.WithEn(write)
}
