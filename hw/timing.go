package hw

import (
	"math"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// time fills in everything about a task but its values. It allocates nothing.
func (p *params) time(d *DescriptorReport, t *regs.Task, open tiles.Enables, l *pipeline) {
	g := &t.Groups
	*d = DescriptorReport{} // cleared where it stands: a literal with fields would be copied
	d.Index, d.Offset, d.Planar = t.Index, t.Offset, g.Planar()
	d.Op, d.Shape = Classify(&t.Header, g), shapeOf(g)
	d.DMA = dma.TrafficOf(g)
	d.Exe = ExeCycles{uint16(t.Header.Timing.ExeCycles()), exeCycles(g, d.DMA)}

	need := demand{planar: d.Planar, lane: laneBytes(g)}
	need.mem = p.dma.Cycles(d.DMA, need.lane)
	need.dram, need.pad = footprints(t, &d.DMA)
	array := clock.Cycles(0)
	if need.planar {
		d.Units, d.L2 = p.planarUnits(g)
		array = d.Units.Planar
		need.fills = clock.CeilDiv(g.InShape().Elements(), p.tiles.PatchPixels)
		need.drains = need.fills
	} else {
		w := tiles.Plan(g, open, p.tiles)
		d.Engines, d.Tiles, d.MACs = w.Engines, w.Tiles, w.MACs
		d.Units, d.L2 = p.engineUnits(g, &w)
		array = w.Buffered(p.tiles)
		d.Lookups, d.Skipped = w.Lookups, w.Skipped
		need.fills, need.drains, need.reread = w.Patches, w.WorkUnits/max(1, w.Passes), w.Patches > 1
		if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate { // channel by channel
			need.fills *= g.InShape().Channels
			need.drains *= g.OutShape().Channels
		}
	}
	d.Cycles = d.Units.account(array)
	d.Saved = l.place(p, &d.Cycles, &need)
	p.conclude(d, open)
}

// conclude makes of a descriptor's cycles and events what follows from them.
func (p *params) conclude(d *DescriptorReport, open tiles.Enables) {
	d.Time = p.clock.Time(d.Cycles.Total())
	d.Parts = p.energy(d, open)
	d.Energy = d.Parts.Total()
	d.Counters = countersOf(d)
}

// finish adds to the last descriptor of a chain what memory still takes of its results.
func (p *params) finish(d *DescriptorReport, open tiles.Enables, l *pipeline) {
	if l.drain > 0 {
		d.Cycles.OutputStall += l.drain
		l.drain = 0
		p.conclude(d, open)
	}
}

func shapeOf(g *regs.Groups) Shape {
	c, in, out := &g.Common, g.InShape(), g.OutShape()
	return Shape{
		Win: in.Width, Hin: in.Height, Cin: in.Channels * in.Groups,
		Wout: out.Width, Hout: out.Height, Cout: out.Channels * out.Groups,
		Kw: int(c.ConvCfg.Kw()), Kh: int(c.ConvCfg.Kh()), Groups: in.Groups,
	}
}

// engineUnits are the cost columns of a task on the MAC engines, and its L2 traffic.
func (p *params) engineUnits(g *regs.Groups, w *tiles.Work) (Units, l2.Traffic) {
	u := Units{
		WorkUnits: w.WorkUnits, MACCyclesPerWU: w.MACCycles, PostCyclesPerWU: w.PostCycles,
		NESingle: w.Single(), NEDouble: w.Double(),
	}
	c, in, out := &g.Common, g.InShape(), g.OutShape()
	width := min(max(1, out.Width), p.tiles.PatchPixels)
	rows := min(max(1, out.Height), max(1, p.tiles.PatchPixels/width))
	kh, kw, sy, sx := 1, 1, 1, 1
	if g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
		cc := c.ConvCfg
		kh, kw, sy, sx = int(cc.Kh()), int(cc.Kw()), int(cc.Sy()), int(cc.Sx())/max(1, int(cc.Ox()))
	}
	source := l2.Patch{
		Rows:   min((rows-1)*sy+kh, max(1, in.Height)),
		Width:  min((width-1)*sx+kw, max(1, in.Width)),
		Stride: g.L2.Src1RowStride.Bytes(),
	}
	// Each work unit sees every input channel of its patch once; a unicast task reads
	// each channel for one engine only.
	reads := w.WorkUnits * in.Channels
	if c.GroupConvCfg.UnicastEn() {
		reads = w.Patches * in.Channels
	}
	u.L2Broadcast = clock.Cycles(reads) * clock.Cycles(p.l2.Cycles(source))
	moved := l2.Traffic{
		Read:    fp16Bytes * uint64(reads) * uint64(source.Rows) * uint64(source.Width),
		Written: fp16Bytes * uint64(out.Elements()),
	}
	u.L2Writeback = p.writeback(g, out, l2.Patch{Rows: rows, Width: width, Stride: g.L2.ResultRowStride.Bytes()}, w.Patches)
	switch {
	case g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate:
		u.KernelBytes = 2 * uint64(out.Groups) * uint64(out.Channels) * uint64(tiles.Taps(g))
	case g.NE.MACCfg.NonlinearMode() == regs.ActivationTable:
		u.KernelBytes = 128
	}
	return u, moved
}

const fp16Bytes = 2

// writeback is what the results cost on their way into the L2: the banks take a granule
// each a cycle, and an exchanged result goes in element by element.
func (p *params) writeback(g *regs.Groups, out regs.Shape, t l2.Patch, patches int) clock.Cycles {
	if g.ResultExchanged() {
		return p.transpose.Cycles(uint64(out.Elements()))
	}
	return clock.Cycles(patches) * p.l2.WritebackCycles(out.Channels, t)
}

// planarUnits are the cost columns of a planar task, and its L2 traffic.
func (p *params) planarUnits(g *regs.Groups) (Units, l2.Traffic) {
	in, out := g.InShape(), g.OutShape()
	patch := l2.Patch{Rows: max(1, in.Height), Width: max(1, in.Width), Stride: g.L2.Src1RowStride.Bytes()}
	u := Units{Planar: p.planar.Cycles(uint64(in.Elements()))}
	u.L2Broadcast = clock.Cycles(in.Groups*planarSources(g)) * p.l2.WritebackCycles(in.Channels, patch)
	u.L2Writeback = p.writeback(g, out, l2.Patch{Rows: max(1, out.Height), Width: max(1, out.Width)}, out.Groups)
	return u, l2.Traffic{
		Read:    fp16Bytes * uint64(in.Elements()) * uint64(planarSources(g)),
		Written: fp16Bytes * uint64(out.Elements()),
	}
}

// planarSources is how many sources a planar task reads: ChCfg is 0x2a on every task
// with two (104 of 104).
func planarSources(g *regs.Groups) int {
	if g.Common.ChCfg == 0x2a {
		return 2
	}
	return 1
}

// laneBytes is the longest coefficient buffer that is on.
func laneBytes(g *regs.Groups) (n uint64) {
	for i, c := range g.KernelDMASrc.CoeffDMAConfig {
		if c.En() {
			n = max(n, uint64(g.KernelDMASrc.CoeffBfrSize[i].Bytes()))
		}
	}
	return n
}

// account gives the cycles in the array or the planar engine their causes: compute
// first, then what the slower L2 paths add. Double buffering lets them run at once.
func (u *Units) account(array clock.Cycles) Accounting {
	a := Accounting{Compute: array}
	at := a.Compute
	wait := func(cause *clock.Cycles, until clock.Cycles) {
		if until > at {
			*cause = until - at
			at = until
		}
	}
	wait(&a.L2ReadStall, u.L2Broadcast)
	wait(&a.L2WriteStall, u.L2Writeback)
	return a
}

// Constants of the vendor's time estimate, read from the stored words of 104
// descriptors (fitted; the engine and planar terms rest on six points each).
const (
	exeBytesPerMicrosecond = 34133.33
	exeStepsPerMicrosecond = 1493.3
	exeMicrosecondsPerRow  = 0.0711
	exePlanarMicroseconds  = 0.004444
	exePatchPixels         = 256
)

// exeCycles is the vendor's own estimate of a descriptor: the slowest of its bytes, its
// engine steps and its planar channels, in whole microseconds.
func exeCycles(g *regs.Groups, t dma.Traffic) uint16 {
	us := float64(t.Total()) / exeBytesPerMicrosecond
	c, out := &g.Common, g.OutShape()
	if !g.Planar() && g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
		patches := float64(clock.CeilDiv(int(c.OutDim.Wout()*c.OutDim.Hout()), exePatchPixels))
		us = max(us, patches*float64(out.Channels)/16*(float64(tiles.Taps(g))/exeStepsPerMicrosecond+exeMicrosecondsPerRow))
	} else {
		us = max(us, exePlanarMicroseconds*float64(c.Cin.Cin())*float64(planarSources(g))*float64(out.Groups))
	}
	return uint16(min(math.Floor(us), 65535))
}

// energy is the descriptor's events times what each costs. Engines burn the active power
// for as long as it runs; those that it leaves alone a step less each, gated tiles
// nothing.
func (p *params) energy(d *DescriptorReport, open tiles.Enables) EnergyParts {
	alone := float64(open.Tiles())/tiles.TilesPerEngine - float64(d.Engines)
	active := float64(p.active*float64(open.Tiles())/tiles.Tiles) - float64(p.step*max(0, alone))
	return EnergyParts{
		MAC: p.mac.Times(d.MACs - d.Skipped), Table: p.table.Times(d.Lookups),
		L2: p.l2Byte.Times(d.L2.Read + d.L2.Written), DRAM: p.dram.Times(d.DMA.Total()),
		Active: clock.Nanojoules(max(0, active) * float64(d.Time)),
	}
}
