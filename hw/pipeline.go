package hw

import (
	"anesim/hw/clock"
	"anesim/hw/dma"
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
	ring    clock.Cycles // its whole time there, when the next one runs beside it through a ring
	dram    footprint    // in device memory
	pad     footprint    // in the scratchpad
	power   draw         // under a power budget
	earlier draw         // of the descriptor before
}

// A demand is what a descriptor takes of each unit by itself.
type demand struct {
	planar bool
	fills  int    // parts in which the source comes: the array starts on the first
	drains int    // parts in which the result leaves: the array leaves the last behind
	lane   uint64 // bytes of the longest coefficient lane
	reread bool   // coefficients are used once for each part, and must all be there
	reads  bool   // the source is the ring that the one before fills
	writes bool   // the result is a ring
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

// footprints are the ranges of a task's operands in device memory and in the scratchpad.
func footprints(t *regs.Task, o *regs.Operands) (dram, pad footprint) {
	surface := func(o *regs.Operand, addr uint64) span {
		if !o.DRAM || o.Bytes == 0 {
			return span{}
		}
		low, high := o.Extent()
		return span{addr + uint64(low), addr + uint64(high)}
	}
	dram.source1 = surface(&o.Source1, t.Bases.Source1)
	dram.source2 = surface(&o.Source2, t.Bases.Source2)
	dram.result = surface(&o.Result, t.Bases.Destination)
	if k := &o.Kernel; k.Bytes > 0 {
		dram.kernel = span{t.Bases.Kernel + k.Low, t.Bases.Kernel + k.End}
	}
	tile := func(o *regs.Operand) span { return span{uint64(o.Tile.Base), o.Tile.Span(o.Shape)} }
	pad.source1 = tile(&o.Source1)
	if o.Source2.Used {
		pad.source2 = tile(&o.Source2)
	}
	pad.result = tile(&o.Result)
	return dram, pad
}

// A placement is how a descriptor's work lies to the cycles that it adds to a chain.
type placement struct {
	saved clock.Cycles // by running beside the one before
	lead  clock.Cycles // of its work, those before the cycles that it adds
	trail clock.Cycles // those behind them: its last results' way to memory
}

// place puts a descriptor behind those before it. It completes the causes of the cycles
// that the descriptor adds to the chain up to the end of its time in the array (a comes
// with the array's own).
func (l *pipeline) place(p *params, a *Accounting, d *demand) placement {
	if !l.running {
		l.add(p, a, d)
		return placement{trail: l.drain}
	}
	var first pipeline
	alone, drain := *a, l.drain
	first.step(p, &alone, d)
	l.add(p, a, d)
	needs, adds := alone.Total(), a.Total()
	return placement{saved: needs + drain - adds, lead: needs - min(needs, adds), trail: l.drain}
}

// add is place without what it saves.
func (l *pipeline) add(p *params, a *Accounting, d *demand) {
	after := l.step(p, a, d)
	l.leave(d, &after)
}

// step completes the causes of a descriptor's cycles behind those before it.
func (l *pipeline) step(p *params, a *Accounting, d *demand) aftermath {
	if l.ring > 0 && d.reads {
		return l.join(p, a, d)
	}
	pre := l.prefetch(p, a, d)
	return l.body(a, d, &pre)
}

// An aftermath is what a descriptor leaves to those behind it.
type aftermath struct {
	body  clock.Cycles // it was in the array
	busy  clock.Cycles // of them, with memory at work
	drain clock.Cycles // its last results take after that
	lane  uint64       // bytes of coefficients that stay in kernel memory
}

// A prefetch is what memory brings of a descriptor before its array can start, and what
// it has yet to bring.
type prefetch struct {
	fill     clock.Cycles // of memory, before the array starts
	arriving clock.Cycles // of the fill, coefficients that the first part runs beside
	streamed clock.Cycles // coefficients that come beside the array
	later    clock.Cycles // source parts that do
	behind   clock.Cycles // results of the one before that have yet to leave
	total    clock.Cycles // of all traffic
	resident bool         // coefficients stay in kernel memory
	held     uint64       // bytes of a lane of them that may be in use at the end
}

// first is the bytes of a lane's coefficients that the array waits for before it starts. It
// waits for all that the M1 has room for. A longer lane, which no task for the M1 has, does not
// wait for more than it would in tasks for the M1, the remainder first: the rest comes beside
// the array, which is done with the first of them at its end (inferred).
func (p *params) first(lane uint64) uint64 {
	if rest := lane % p.part; lane > p.part && rest > 0 {
		return rest
	}
	return min(lane, p.part)
}

// prefetch finds what the array cannot start without, and what of it memory fetched while
// the one before was in the array: coefficients as far as kernel memory has room beside
// those in use, the source's first part if the scratchpad has. It sets the causes of what
// is left to wait for.
func (l *pipeline) prefetch(p *params, a *Accounting, d *demand) prefetch {
	lands := d.dram.reads(l.dram.result) // the one before must have written what this reads
	mem := &d.mem
	pre := prefetch{streamed: mem.Kernel, total: mem.Total, behind: l.drain, held: p.part}
	kernel := clock.Cycles(0)
	pre.resident = d.reread && d.lane > 0 && d.lane <= p.kernelMemory
	switch {
	case pre.resident:
		kernel = mem.Kernel * clock.Cycles(p.first(d.lane)) / clock.Cycles(d.lane)
		pre.streamed -= kernel
	case d.reread:
		// Coefficients that do not stay come again for each part: a what-if, for no
		// program has such a task. Its bytes count once, as in the vendor's measure.
		again := mem.Kernel * clock.Cycles(max(1, d.fills)-1)
		pre.streamed, pre.total = pre.streamed+again, pre.total+again
	}
	source := mem.Source / clock.Cycles(max(1, d.fills))
	pre.fill, pre.later = kernel+source, mem.Source-source
	asked := false // any of it before the array was free
	if l.running && mem.Kernel > 0 && !d.dram.kernel.overlaps(l.dram.result) {
		if room := min(d.lane, p.kernelMemory-l.lane); room > 0 {
			asked = true
			if first := p.first(d.lane); kernel > 0 {
				kernel -= min(l.slack, kernel*clock.Cycles(min(room, first))/clock.Cycles(first))
			}
		}
	}
	if l.running && source > 0 && !lands && !d.pad.reads(l.pad.result) && !d.pad.reads(l.pad.source1) && !d.pad.reads(l.pad.source2) {
		asked = true
		source -= min(l.slack-min(l.slack, pre.fill-kernel-source), source)
	}
	// The first part runs in part on coefficients that still arrive.
	pre.arriving = min(kernel, clock.Cycles(p.kernelOverlap*float64(a.Compute)/float64(max(1, d.fills))))
	a.Overhead, a.KernelStall, a.InputStall = p.overhead, kernel-pre.arriving, source
	// Requests that could not go out early wait for their first answer, and those for what
	// is still on its way to memory until it is there.
	if reads := mem.Kernel + mem.Source; reads > 0 && (lands || !asked) {
		a.InputStall += p.dma.Latency
	}
	if lands {
		a.InputStall += l.drain
		pre.behind = 0
	}
	return pre
}

// body puts the rest of the traffic beside the array, with what the one before left, and
// leaves behind what the descriptor's last results still take.
func (l *pipeline) body(a *Accounting, d *demand, pre *prefetch) aftermath {
	drain := d.mem.Destination / clock.Cycles(max(1, d.drains))
	rest := pre.behind + pre.total - min(pre.total, pre.fill-pre.arriving+drain)
	body := a.Compute + a.L2ReadStall + a.L2WriteStall
	wait := func(cause *clock.Cycles, until clock.Cycles) {
		if until > body {
			*cause += until - body
			body = until
		}
	}
	wait(&a.KernelStall, min(rest, pre.streamed+pre.arriving))
	wait(&a.InputStall, min(rest, pre.streamed+pre.arriving+pre.later))
	wait(&a.OutputStall, rest)

	// On the other engine it may have started with the one before.
	if l.running && l.planar != d.planar && !d.dram.meets(&l.dram) && !d.pad.meets(&l.pad) {
		a.hide(l.slack)
	}
	after := aftermath{body: body, busy: rest, drain: drain}
	if pre.resident {
		after.lane = min(d.lane, pre.held)
	}
	return after
}

// leave records what a descriptor leaves under way.
func (l *pipeline) leave(d *demand, after *aftermath) {
	l.running, l.planar, l.lane = true, d.planar, after.lane
	l.slack, l.drain = after.body-min(after.body, after.busy), after.drain
	l.dram, l.pad = d.dram, d.pad
	l.ring = 0
	if d.writes {
		l.ring = after.body
	}
}

// join runs a descriptor beside the one that fills its ring: tile by tile in its shadow,
// its traffic where memory was idle. What it adds is its start, for descriptors start one
// by one, and the time by which it is the slower.
func (l *pipeline) join(p *params, a *Accounting, d *demand) aftermath {
	alone := a.Compute + a.L2ReadStall + a.L2WriteStall
	a.Overhead = p.overhead
	a.hide(l.ring)
	drain := d.mem.Destination / clock.Cycles(max(1, d.drains))
	rest := l.drain + d.mem.Total - min(d.mem.Total, drain)
	added := a.Compute + a.L2ReadStall + a.L2WriteStall
	idle := l.slack + added
	if rest > idle {
		a.OutputStall += rest - idle
	}
	return aftermath{body: max(alone, l.ring), busy: rest, drain: drain}
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
