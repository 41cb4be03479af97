package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// The functions below describe tasks over tensors larger than L2 as they ran in measured
// calls. No program shows how the compiler splits such tensors. Their registers determine time,
// bytes and energy, and have no addresses.

// PlanarPass returns the registers of a planar task that processes m rows of k elements. If read is
// true, the task loads its source from memory. If write is true, it writes its result there. The
// registers hold no addresses, so the task can be used to estimate time, traffic and energy, but
// cannot run.
func PlanarPass(form regs.PlanarForm, m, k int, read, write bool) *regs.Groups {
	g := new(regs.Groups)
	setFoldedShape(g, regs.Shape{Groups: 1, Channels: 1, Height: m, Width: k})
	g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
	enableDMA(g, read, write)
	return g
}

// TablePass returns the registers of a MAC task that applies an activation table to m rows of k
// elements. If read is true, the task loads its source from memory. If write is true, it writes its
// result there. The registers hold no addresses, so the task cannot run.
func TablePass(m, k int, read, write bool) *regs.Groups {
	g := PlanarPass(0, m, k, read, write)
	g.Common.TaskInfo = g.Common.TaskInfo.WithTaskNID(1)
	g.ReadMeanings()
	g.Common.Cfg = g.Common.Cfg.WithActiveNE(4)
	g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(1)
	g.NE.MACCfg = g.NE.MACCfg.WithOpMode(regs.PassThrough).WithNonlinearMode(regs.ActivationTable)
	return g
}

// CachedProduct returns the registers of the two tasks of a batched matmul. Each head (element of
// the batch) multiplies one row of k elements by its own k x n matrix, which is an input. The first
// task, interleave, writes the matrices to the scratch buffer as weights. The second, multiply,
// uses them. The registers hold no addresses, so the tasks cannot run.
func CachedProduct(heads, k, n int) (interleave, multiply *regs.Groups) {
	in := regs.Shape{Groups: 1, Channels: heads, Height: k, Width: n}
	interleave, multiply = new(regs.Groups), new(regs.Groups)
	setFoldedShape(interleave, in)
	interleave.Common.Cfg = interleave.Common.Cfg.WithPlanarForm(regs.FormConstant)
	enableDMA(interleave, true, true)
	setFoldedShape(multiply, regs.Shape{Groups: 1, Channels: heads, Height: 1, Width: k})
	multiply.Common.TaskInfo = multiply.Common.TaskInfo.WithTaskNID(1)
	multiply.ReadMeanings()
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

// setFoldedShape sets the shape of source and result in g to s. While an extent exceeds the limit
// of its register, setFoldedShape halves it and doubles the next axis: columns become rows, rows
// become channels, and channels become groups. Halving rounds up, so the task may have a few
// elements more than s.
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

// enableDMA makes a task load its first source from memory if read is set, and write its result
// there if write is set.
func enableDMA(g *regs.Groups, read, write bool) {
	if read {
		g.TileDMASrc.Src1DMAConfig = g.TileDMASrc.Src1DMAConfig.WithEn(true).WithDepMode(3)
	}
	g.TileDMADst.DstDMAConfig = g.TileDMADst.DstDMAConfig.WithEn(write)
	g.ReadMeanings()
}
