package bench

import (
	"anesim/hw/regs"
	"anesim/hw/tiles"
	"anesim/loader/lower"
)

// This file builds descriptors that package lower does not make: passes over tensors
// beyond the L2 and products with a cache of keys for a batch of heads. They have the registers that time, bytes and energy depend on, no addresses.

// pass is a planar task over m rows of k elements.
func pass(form regs.PlanarForm, m, k int, read, write bool) Step {
	s := Step{Task: new(regs.Task), Count: 1}
	g := &s.Task.Groups
	extent(g, regs.Shape{Groups: 1, Channels: 1, Height: m, Width: k})
	g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
	moves(s.Task, read, write)
	return s
}

// lookup is a pass of the MAC engines with a table.
func lookup(m, k int, read, write bool) Step {
	s := pass(0, m, k, read, write)
	g := &s.Task.Groups
	g.Common.TaskInfo = g.Common.TaskInfo.WithTaskNID(1)
	g.Common.Cfg = g.Common.Cfg.WithActiveNE(4)
	g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(1)
	g.NE.MACCfg = g.NE.MACCfg.WithOpMode(regs.PassThrough).WithNonlinearMode(regs.ActivationTable)
	return s
}

// What the registers hold.
const (
	maxExtent   = 1<<15 - 1
	maxChannels = 1<<17 - 1
)

// extent sets a shape. One that the registers do not hold folds: rows into channels,
// channels into groups, with as many elements or a few more.
func extent(g *regs.Groups, s regs.Shape) {
	fold := func(from, to *int, most int) {
		for *from > most {
			*from, *to = (*from+1)/2, *to*2
		}
	}
	fold(&s.Width, &s.Height, maxExtent)
	fold(&s.Height, &s.Channels, maxExtent)
	fold(&s.Channels, &s.Groups, maxChannels)
	c := &g.Common
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatFP16).WithOutFmt(regs.FormatFP16)
	c.InDim = c.InDim.WithWin(uint32(s.Width)).WithHin(uint32(s.Height))
	c.OutDim = c.OutDim.WithWout(uint32(s.Width)).WithHout(uint32(s.Height))
	c.Cin, c.Cout = c.Cin.WithCin(uint32(s.Channels)), c.Cout.WithCout(uint32(s.Channels))
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(uint32(s.Groups))
	c.ConvCfg = c.ConvCfg.WithKw(1).WithKh(1).WithSx(1).WithSy(1).WithOx(1).WithOy(1)
}

func moves(t *regs.Task, read, write bool) {
	g := &t.Groups
	t.Bases.Source1, t.Bases.Destination = tensorBuffer(0), tensorBuffer(1)
	if read {
		g.TileDMASrc.Src1DMAConfig = g.TileDMASrc.Src1DMAConfig.WithEn(true).WithDepMode(3)
	}
	g.TileDMADst.DstDMAConfig = g.TileDMADst.DstDMAConfig.WithEn(write)
}

// A sweep is one pass of an operation over its tensor.
type sweep struct {
	write bool // results as large as the source, else one a row
	table bool // on the MAC engines, else planar
	rows  bool // over one element a row: a table of the statistics
}

// sweepsOf is how an operation along rows goes over its tensor: a reduction reads it, a
// change reads and writes it. (The studied order of softmax and layer norm on tensors
// beyond the L2; the norms alike.)
func sweepsOf(op string) []sweep {
	reads, writes, exps, stats := sweep{}, sweep{write: true}, sweep{write: true, table: true}, sweep{table: true, rows: true}
	switch op {
	case "reduce_sum":
		return []sweep{reads}
	case "softmax":
		return []sweep{reads, exps, reads, stats, writes}
	case "rms_norm":
		return []sweep{reads, stats, writes, writes}
	}
	return []sweep{reads, writes, reads, stats, writes, writes} // layer norm, group norm
}

// passesOf are an operation's tasks over m rows of k elements. A tensor that fits the L2
// is read once and written once.
func passesOf(op string, m, k int) []Step {
	sweeps := sweepsOf(op)
	resident := fp16(m*k) <= lower.MaxTile
	var steps []Step
	written := 0 // tensors so far
	for i, s := range sweeps {
		read, write := !resident || i == 0, s.write && (!resident || i == len(sweeps)-1)
		var step Step
		switch {
		case s.rows:
			step = lookup(1, min(m, maxExtent), false, false)
		case s.table:
			step = lookup(m, k, read, write)
		case s.write:
			step = pass(regs.FormTwoSources, m, k, read, write)
		default:
			step = pass(regs.FormReduction, m, k, read, write)
		}
		steps = append(steps, flow([]Step{step}, written)...)
		if write {
			written++
		}
	}
	return steps
}

// cached is a product of one row a head with a cache that is an input: a pair of tasks
// as in any product of two inputs, over all heads of n sequences.
func cached(n, heads, k, columns int) []Step {
	in := regs.Shape{Groups: 1, Channels: n * heads, Height: k, Width: columns}
	interleave, multiply := Step{Task: new(regs.Task), Count: 1}, Step{Task: new(regs.Task), Count: 1}
	g := &interleave.Task.Groups
	extent(g, in)
	g.Common.Cfg = g.Common.Cfg.WithPlanarForm(regs.FormConstant)
	moves(interleave.Task, true, true)
	interleave.Task.Bases.Destination = scratch
	multiply.Task.Bases.Kernel = scratch
	g = &multiply.Task.Groups
	extent(g, regs.Shape{Groups: 1, Channels: n * heads, Height: 1, Width: k})
	kernel(g, uint64(in.Elements())*2)
	g.NE.KernelCfg = g.NE.KernelCfg.WithKernelFromScratch(true)
	g.Common.Cfg = g.Common.Cfg.WithActiveNE(4)
	return []Step{interleave, multiply}
}

// kernel turns the coefficient lanes on, n bytes in all.
func kernel(g *regs.Groups, n uint64) {
	g.Common.TaskInfo = g.Common.TaskInfo.WithTaskNID(1)
	g.NE.MACCfg = g.NE.MACCfg.WithOpMode(regs.MultiplyAccumulate)
	lane := uint32((n/tiles.Engines + 63) &^ 63)
	for i := range g.KernelDMASrc.CoeffDMAConfig {
		g.KernelDMASrc.CoeffDMAConfig[i] = g.KernelDMASrc.CoeffDMAConfig[i].WithEn(true)
		g.KernelDMASrc.CoeffBfrSize[i] = g.KernelDMASrc.CoeffBfrSize[i].WithBytes(lane)
	}
}

// weightBits are the bits of a weight by format, 0 for formats that are not known.
func weightBits(format string) uint32 {
	switch format {
	case "", "fp16":
		return 16
	case "int8", "lut8":
		return 8
	case "lut6":
		return 6
	case "int4", "lut4":
		return 4
	}
	return 0
}

// narrow scales the kernels of weights to their bits. Tables and operands that come as
// kernels stay.
func narrow(steps []Step, bits uint32) []Step {
	if bits == 16 {
		return steps
	}
	return changed(steps, func(t *regs.Task) {
		g := &t.Groups
		if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate || g.NE.KernelCfg.KernelFromScratch() {
			return
		}
		b := &g.KernelDMASrc.CoeffBfrSize
		for j := range b {
			b[j] = b[j].WithBytes(uint32((uint64(b[j].Bytes())*uint64(bits)/16 + 63) &^ 63))
		}
	})
}
