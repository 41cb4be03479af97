package hw

import (
	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
)

// A pipeline is what of a chain is still under way when its next descriptor starts. The
// engine starts descriptors in order, but its units do not wait for each other without
// need: while one descriptor is in the array, memory fetches what the next one needs
// first, and while the next one runs the last results of the one before drain.
//
//	memory  K0 S0 S0 S0 |K1 S1| S0 S0 |D0 S1 S1 ...
//	array        |------- 0 -------| |------- 1 -------|
//
// Two descriptors overlap when their addresses let them (inferred: the dependency bits of
// the registers are alike in all programs).
type pipeline struct {
	running bool         // a descriptor went before
	planar  bool         // it ran on the planar engine
	lane    uint64       // bytes of its coefficients that stay in an engine's kernel memory
	slack   clock.Cycles // the part of its time in the array or planar engine in which memory was idle
	drain   clock.Cycles // of its last results after that, in no cause so far
	dram    footprint    // in device memory
	pad     footprint    // in the scratchpad
}

// A demand is what a descriptor takes of each unit by itself.
type demand struct {
	planar bool
	fills  int    // parts in which the source comes: the array starts on the first
	drains int    // parts in which the result leaves: the array leaves the last behind
	lane   uint64 // bytes of the longest coefficient lane
	reread bool   // coefficients are used once for each part, and must all be there
	mem    dma.Cycles
	dram   footprint
	pad    footprint
}

// A span is a range of addresses.
type span struct{ from, to uint64 }

func (s span) overlaps(t span) bool { return s.from < t.to && t.from < s.to }

// A footprint is what a descriptor reads and writes of one memory.
type footprint struct{ source1, source2, kernel, result span }

// reads reports whether any of what f reads lies in w.
func (f *footprint) reads(w span) bool {
	return f.source1.overlaps(w) || f.source2.overlaps(w) || f.kernel.overlaps(w)
}

// meets reports whether f and an earlier footprint must keep their order: one writes what
// the other touches.
func (f *footprint) meets(before *footprint) bool {
	return f.reads(before.result) || before.reads(f.result) || f.result.overlaps(before.result)
}

// footprints are a task's ranges in device memory and in the scratchpad.
func footprints(t *regs.Task, moved *dma.Traffic) (dram, pad footprint) {
	g := &t.Groups
	if moved.Source1 > 0 {
		dram.source1 = span{t.Bases.Source1, t.Bases.Source1 + g.Source1().Span()}
	}
	if moved.Source2 > 0 {
		dram.source2 = span{t.Bases.Source2, t.Bases.Source2 + g.Source2().Span()}
	}
	if moved.Kernel > 0 {
		dram.kernel = span{t.Bases.Kernel, t.Bases.Kernel + moved.Kernel}
	}
	if moved.Destination > 0 {
		dram.result = span{t.Bases.Destination, t.Bases.Destination + g.Destination().Span()}
	}
	tile := func(l l2.Layout, s regs.Shape) span { return span{uint64(l.Base), l.Span(s)} }
	pad.source1 = tile(l2.Source1(g), g.InShape())
	if planarSources(g) == 2 {
		pad.source2 = tile(l2.Source2(g), g.InShape())
	}
	pad.result = tile(l2.Result(g), g.OutShape())
	return dram, pad
}

// place puts a descriptor behind those before it. It completes the causes of the cycles
// that the descriptor adds to the chain up to the end of its time in the array (a comes
// with the array's own) and returns how many running beside the one before saves.
func (l *pipeline) place(p *params, a *Accounting, d *demand) (saved clock.Cycles) {
	if !l.running {
		l.add(p, a, d)
		return 0
	}
	var first pipeline
	alone, drain := *a, l.drain
	first.add(p, &alone, d)
	l.add(p, a, d)
	return alone.Total() + drain - a.Total()
}

// add is place without what it saves.
func (l *pipeline) add(p *params, a *Accounting, d *demand) {
	lands := d.dram.reads(l.dram.result) // the one before must have written what this reads
	resident := d.reread && d.lane > 0 && d.lane <= p.kernelMemory

	// What the array cannot start without, and what of it memory fetched while the one
	// before was in the array: coefficients as far as kernel memory has room beside those
	// in use, the source's first part if the scratchpad has.
	mem := d.mem
	kernel, streamed := clock.Cycles(0), mem.Kernel
	switch {
	case resident:
		kernel, streamed = mem.Kernel, 0
	case d.reread:
		// Coefficients that do not stay come again for each part: a what-if, for no
		// program has such a task. Its bytes count once, as in the vendor's measure.
		again := mem.Kernel * clock.Cycles(max(1, d.fills)-1)
		streamed, mem.Total = streamed+again, mem.Total+again
	}
	source := mem.Source / clock.Cycles(max(1, d.fills))
	fill, later := kernel+source, mem.Source-source
	asked := false // any of it before the array was free
	if l.running && mem.Kernel > 0 && !d.dram.kernel.overlaps(l.dram.result) {
		if room := min(d.lane, p.kernelMemory-l.lane); room > 0 {
			asked = true
			if kernel > 0 {
				kernel -= min(l.slack, kernel*clock.Cycles(room)/clock.Cycles(d.lane))
			}
		}
	}
	if l.running && source > 0 && !lands && !d.pad.reads(l.pad.result) && !d.pad.reads(l.pad.source1) && !d.pad.reads(l.pad.source2) {
		asked = true
		source -= min(l.slack-min(l.slack, fill-kernel-source), source)
	}
	// The first part runs in part on coefficients that still arrive.
	arriving := min(kernel, clock.Cycles(p.kernelOverlap*float64(a.Compute)/float64(max(1, d.fills))))
	kernel -= arriving
	a.Overhead, a.KernelStall, a.InputStall = p.overhead, kernel, source
	// Requests that could not go out early wait for their first answer, and those for what
	// is still on its way to memory until it is there.
	if reads := mem.Kernel + mem.Source; reads > 0 && (lands || !asked) {
		a.InputStall += p.dma.Latency
	}
	behind := l.drain
	if lands {
		a.InputStall += l.drain
		behind = 0
	}

	// The rest of the traffic goes beside the array, with what the one before left.
	drain := mem.Destination / clock.Cycles(max(1, d.drains))
	rest := behind + mem.Total - min(mem.Total, fill-arriving+drain)
	body := a.Compute + a.L2ReadStall + a.L2WriteStall
	wait := func(cause *clock.Cycles, until clock.Cycles) {
		if until > body {
			*cause += until - body
			body = until
		}
	}
	wait(&a.KernelStall, min(rest, streamed+arriving))
	wait(&a.InputStall, min(rest, streamed+arriving+later))
	wait(&a.OutputStall, rest)

	// On the other engine it may have started with the one before.
	if l.running && l.planar != d.planar && !d.dram.meets(&l.dram) && !d.pad.meets(&l.pad) {
		a.hide(l.slack)
	}
	*l = pipeline{
		running: true, planar: d.planar, slack: body - min(body, rest), drain: drain,
		dram: d.dram, pad: d.pad,
	}
	if resident {
		l.lane = d.lane
	}
}

// hide takes up to n cycles away, those first that come first. The start of a descriptor
// stays: descriptors start one by one.
func (a *Accounting) hide(n clock.Cycles) {
	for _, c := range [...]*clock.Cycles{
		&a.KernelStall, &a.InputStall, &a.L2ReadStall, &a.Compute, &a.L2WriteStall, &a.OutputStall,
	} {
		k := min(*c, n)
		*c -= k
		n -= k
	}
}
