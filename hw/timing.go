package hw

import (
	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

// ExeCycles holds the duration of a descriptor in microseconds as Apple's compiler estimates
// it.
type ExeCycles struct {
	Stored uint16 // from the program, 0 if its compiler left it out
	Model  uint16 // computed by the rules of the chip's target, derived from real programs
}

// computeFigures fills in all figures of a task with operands o, except values. It does not
// allocate memory.
//
// If the array has several engines per lane, which no known chip has, the task runs on as many of
// them as are fastest. More engines finish their last results together, so less of the traffic
// overlaps with the array.
func (p *params) computeFigures(d *DescriptorReport, t *regs.Task, o *regs.Operands, open tiles.Enables, l *pipeline) {
	if p.fewer == nil {
		p.computeFiguresForAllEngines(d, t, o, open, l)
		return
	}
	var few DescriptorReport
	fewer := *l
	p.fewer.computeFigures(&few, t, o, open, &fewer)
	p.computeFiguresForAllEngines(d, t, o, open, l)
	if few.Cycles.Total()+fewer.drain < d.Cycles.Total()+l.drain {
		*d, *l = few, fewer
		p.finishFigures(d, open, l)
	}
}

// computeFiguresForAllEngines is like computeFigures, but always runs the task on all engines that
// share a weight stream.
func (p *params) computeFiguresForAllEngines(d *DescriptorReport, t *regs.Task, o *regs.Operands, open tiles.Enables, l *pipeline) {
	g := &t.Groups
	*d = DescriptorReport{} // cleared in place: a literal with fields would be copied
	d.Index, d.Offset, d.Planar, d.Spread = t.Index, t.Offset, g.Planar(), p.spread
	d.Op, d.Shape = classify(&t.Header, g, o), shapeOfAllGroups(g, o)
	d.Depthwise = d.Op == Conv && g.Common.GroupConvCfg.UnicastEn()
	d.DMA = dma.TrafficOf(o)
	d.Exe = ExeCycles{uint16(t.Header.Timing.ExeCycles()), l.estimates.Next(p.target, g, o, t.Beside)}

	need := demand{
		planar: d.Planar, lane: o.Kernel.Lane,
		reads: o.Source1.L2 == regs.Circular, writes: o.Result.L2 == regs.Circular,
	}
	need.mem = p.dma.Cycles(d.DMA, need.lane, o.Out.Height*o.Out.Width)
	need.dram, need.l2 = operandFootprints(t, o)
	array := clock.Cycles(0)
	if need.planar {
		d.Units, d.L2 = p.planarUnitColumns(g, o)
		array = d.Units.Planar
		d.PlanarElements = uint64(o.In.Elements())
		need.fills = clock.CeilDiv(o.In.Elements(), partElements)
		need.drains = need.fills
	} else {
		w := tiles.Plan(g, open, p.tiles)
		w.NeedTaps(g, t.WindowTaps)
		d.Engines, d.Tiles, d.MACs = w.Engines, w.Tiles, w.MACs
		d.Units, d.L2 = p.engineUnitColumns(g, o, &w)
		array = w.Buffered(p.tiles)
		// Programs of later machines do not read a source again for each part of the weights of a window, as an M1's do:
		// their times are those of the array. For matmuls they do.
		if tiles.Taps(g) == o.In.Channels && g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
			p.dma.StreamSource(&need.mem, d.DMA)
		}
		d.Lookups, d.Skipped, d.ZeroTaps = w.Lookups, w.Skipped, w.ZeroTaps
		d.Crew, d.HalfEngine = w.Crew, open.Half()
		if g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
			if d.Packing, _ = tiles.PackingOf(g); d.Packing == tiles.Palette {
				d.PaletteBits = int(g.NE.KernelCfg.PalBits())
			}
		}
		parts := o.Out.Groups * clock.CeilDiv(w.Pixels, min(p.tiles.PatchPixels, partElements))
		need.fills, need.drains, need.reread = parts, parts*w.Own, w.Patches > 1
		if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate { // channel by channel
			need.fills *= o.In.Channels
			need.drains *= o.Out.Channels
		}
	}
	d.Cycles = d.Units.splitByCause(array)
	at := l.placeDescriptor(p, &d.Cycles, &need)
	d.Saved = at.saved
	d.Lead, d.Trail = p.clock.Time(at.lead), p.clock.Time(at.trail)
	l.earlier = l.power
	p.finishFigures(d, open, l)
}

// partElements is the number of pixels of a plane, or of elements for the planar engine, that are
// transferred together. The array starts on the first part while memory brings the next. The number
// is the size of the M1's patch, but does not depend on a chip's constants: an engine that covers
// more pixels per step need not wait for all of them (inferred).
const partElements = 256

// finishFigures computes the throttling, time, energy and counters of d. The cycles and events of d
// must be set already.
func (p *params) finishFigures(d *DescriptorReport, open tiles.Enables, l *pipeline) {
	d.Cycles.Throttle = 0
	d.Time = p.clock.Time(d.Cycles.Total())
	d.Parts = p.computeEnergy(d, open)
	d.Energy = d.Parts.Total()
	if p.budget > 0 {
		trailing := clock.Nanojoules(d.Watts() * float64(d.Trail))
		p.throttleToBudget(d, open, l.earlier.spareEnergy(p.budget, d.Lead)+trailing)
		l.power = powerDraw{d.Watts(), trailing}
	}
	d.Counters = newCounters(d)
}

// addLastStores adds to d, the last descriptor of a chain, the cycles in which memory stores its
// last results.
func (p *params) addLastStores(d *DescriptorReport, open tiles.Enables, l *pipeline) {
	if l.drain > 0 {
		d.Cycles.OutputStall += l.drain
		l.drain, d.Trail = 0, 0
		p.finishFigures(d, open, l)
	}
}

// shapeOfAllGroups returns the shape of a task, in which the channels are those of all groups
// together.
func shapeOfAllGroups(g *regs.Groups, o *regs.Operands) Shape {
	c, in, out := &g.Common, &o.In, &o.Out
	return Shape{
		Win: in.Width, Hin: in.Height, Cin: in.Channels * in.Groups,
		Wout: out.Width, Hout: out.Height, Cout: out.Channels * out.Groups,
		Kw: int(c.ConvCfg.Kw()), Kh: int(c.ConvCfg.Kh()), Groups: in.Groups,
	}
}
