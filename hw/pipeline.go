package hw

import (
	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/execycles"
	"anesim/hw/regs"
)

// A pipeline holds the work of earlier descriptors that overlaps with the next descriptor of a
// chain. The engine starts descriptors in order, but a unit waits for another only if it has to:
// memory fetches data for the next descriptor while the current one is in the array, and the last
// results of the previous descriptor drain while the current one runs.
//
//	memory  K0 S0 S0 S0 |K1 S1| S0 S0 |D0 S1 S1 ...
//	array        |------- 0 -------| |------- 1 -------|
//
// Two descriptors overlap if their addresses allow it. This is inferred: the dependency bits of the
// registers are the same in all programs.
type pipeline struct {
	running bool         // a descriptor ran before
	planar  bool         // it ran on the planar engine
	lane    uint64       // bytes of its weights that stay in an engine's kernel memory
	slack   clock.Cycles // cycles of its time in the array or planar engine in which memory was idle
	drain   clock.Cycles // cycles its last results take after that, not yet counted in a cause
	ring    clock.Cycles // cycles of its whole body if the next descriptor overlaps with it through a ring, else 0
	dram    footprint    // ranges in device memory
	l2      footprint    // ranges in L2
	power   powerDraw    // power draw, used under a power budget
	earlier powerDraw    // power draw of the descriptor before

	estimates execycles.Chain // of Apple's compiler
}

// A demand holds what a descriptor needs from each unit when it runs alone.
type demand struct {
	planar bool
	fills  int    // parts in which the source arrives; the array starts after the first
	drains int    // parts in which the result leaves; the last leaves after the array is done
	lane   uint64 // bytes of the longest weight lane
	reread bool   // weights are used once per part and must all be present
	reads  bool   // the source is the ring that the previous descriptor fills
	writes bool
	mem    dma.Cycles
	dram   footprint
	l2     footprint
}

// A span is the half-open range of addresses [from, to).
type span struct{ from, to uint64 }

func (s span) overlaps(t span) bool { return s.from < t.to && t.from < s.to }

// A footprint holds the ranges that a descriptor reads and writes in one memory.
type footprint struct{ source1, source2, kernel, result span }

// readsFrom reports whether f reads any address in w.
func (f *footprint) readsFrom(w span) bool {
	return f.source1.overlaps(w) || f.source2.overlaps(w) || f.kernel.overlaps(w)
}

// conflictsWith reports whether f and the earlier footprint before must not overlap in time,
// because one of them writes addresses that the other reads or writes.
func (f *footprint) conflictsWith(before *footprint) bool {
	return f.readsFrom(before.result) || before.readsFrom(f.result) || f.result.overlaps(before.result)
}

// operandFootprints returns the address ranges of a task's operands, in device memory and in L2.
func operandFootprints(t *regs.Task, o *regs.Operands) (dram, l2 footprint) {
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
	l2.source1 = tile(&o.Source1)
	if o.Source2.Used {
		l2.source2 = tile(&o.Source2)
	}
	l2.result = tile(&o.Result)
	return dram, l2
}

// A placement says how the work of a descriptor overlaps in time with its neighbors in the chain.
type placement struct {
	saved clock.Cycles // cycles saved by overlapping with the descriptor before
	lead  clock.Cycles // cycles of its work before the cycles that it adds
	trail clock.Cycles // cycles of its last results after them
}

// placeDescriptor appends a descriptor to the chain and returns its placement. The caller sets a to
// the cycles that the descriptor spends in the array. placeDescriptor adds all other cycles by
// which the descriptor lengthens the chain to a, except those for its last results.
func (l *pipeline) placeDescriptor(p *params, a *Accounting, d *demand) placement {
	if !l.running {
		l.appendDescriptor(p, a, d)
		return placement{trail: l.drain}
	}
	var first pipeline
	alone, drain := *a, l.drain
	first.addOverheadAndStalls(p, &alone, d)
	l.appendDescriptor(p, a, d)
	needs, adds := alone.Total(), a.Total()
	return placement{saved: needs + drain - adds, lead: needs - min(needs, adds), trail: l.drain}
}

// appendDescriptor is like placeDescriptor, but does not compute the placement.
func (l *pipeline) appendDescriptor(p *params, a *Accounting, d *demand) {
	after := l.addOverheadAndStalls(p, a, d)
	l.storeStateAfter(d, &after)
}

// addOverheadAndStalls adds to a the overhead and the stalls of a descriptor, which depend on the
// descriptors before it. It returns the state for the next descriptor, but does not store it in l.
func (l *pipeline) addOverheadAndStalls(p *params, a *Accounting, d *demand) aftermath {
	a.Overhead = p.overhead
	if l.ring > 0 && d.reads {
		return l.joinRing(a, d)
	}
	pre := l.planPrefetch(p, a, d)
	return l.runArray(a, d, &pre)
}

// An aftermath holds the state that a descriptor leaves for the next ones.
type aftermath struct {
	body  clock.Cycles // cycles in the array
	busy  clock.Cycles // of them, cycles with memory at work
	drain clock.Cycles // cycles its last results take afterwards
	lane  uint64       // bytes of weights that stay in kernel memory
}

// A prefetch holds the traffic that a descriptor needs before its array can start, and the traffic
// that is left for later. All but resident are cycles.
type prefetch struct {
	fill     clock.Cycles // memory traffic before the array starts
	arriving clock.Cycles // part of fill: weights that arrive while the first part runs
	streamed clock.Cycles // weights that arrive while the array runs
	later    clock.Cycles // parts of the source that arrive while the array runs
	behind   clock.Cycles // results of the previous descriptor that still have to be written
	total    clock.Cycles // all traffic
	resident bool         // weights stay in kernel memory
	held     uint64       // bytes of a lane that may be in use at the end
}

// initialWeightBytes returns the number of bytes of a weight stream that must arrive before the
// array starts. This is the whole stream if it has at most p.part bytes, the kernel memory of an M1
// engine. For a longer stream, which no task for the M1 has, it is the remainder of a division into
// parts of that size. The other parts arrive while the array runs (inferred).
func (p *params) initialWeightBytes(lane uint64) uint64 {
	if rest := lane % p.part; lane > p.part && rest > 0 {
		return rest
	}
	return min(lane, p.part)
}

// planPrefetch computes which traffic must arrive before the array can start, and how much of it
// memory could fetch while the previous descriptor was in the array. Weights are fetched early as
// far as kernel memory has room, and the first part of the source if no earlier result is in its
// place. planPrefetch adds the remaining waits to a.
func (l *pipeline) planPrefetch(p *params, a *Accounting, d *demand) prefetch {
	lands := d.dram.readsFrom(l.dram.result) // the previous descriptor must write its result before this one reads it
	mem := &d.mem
	pre := prefetch{streamed: mem.Kernel, total: mem.Total, behind: l.drain, held: p.part}
	kernel := clock.Cycles(0)
	pre.resident = d.reread && d.lane > 0 && d.lane <= p.kernelMemory
	switch {
	case pre.resident:
		kernel = mem.Kernel * clock.Cycles(p.initialWeightBytes(d.lane)) / clock.Cycles(d.lane)
		pre.streamed -= kernel
	case d.reread:
		// Weights that do not stay are read again for each part. No known program has such a task.
		// Its bytes count once, as in the vendor's measure.
		again := mem.Kernel * clock.Cycles(max(1, d.fills)-1)
		pre.streamed, pre.total = pre.streamed+again, pre.total+again
	}
	source := mem.Source / clock.Cycles(max(1, d.fills))
	pre.fill, pre.later = kernel+source, mem.Source-source
	asked := false // part of it was requested before the array was free
	if l.running && mem.Kernel > 0 && !d.dram.kernel.overlaps(l.dram.result) {
		if room := min(d.lane, p.kernelMemory-l.lane); room > 0 {
			asked = true
			if first := p.initialWeightBytes(d.lane); kernel > 0 {
				kernel -= min(l.slack, kernel*clock.Cycles(min(room, first))/clock.Cycles(first))
			}
		}
	}
	if l.running && source > 0 && !lands && !d.l2.readsFrom(l.l2.result) && !d.l2.readsFrom(l.l2.source1) && !d.l2.readsFrom(l.l2.source2) {
		asked = true
		source -= min(l.slack-min(l.slack, pre.fill-kernel-source), source)
	}
	// Part of the first part runs while weights still arrive.
	pre.arriving = min(kernel, clock.Cycles(p.kernelOverlap*float64(a.Compute)/float64(max(1, d.fills))))
	a.KernelStall, a.InputStall = kernel-pre.arriving, source
	// Requests that could not be sent early wait for their first answer. A source that the previous
	// descriptor is still writing arrives only after that write.
	if reads := mem.Kernel + mem.Source; reads > 0 && (lands || !asked) {
		a.InputStall += p.dma.Latency
	}
	if lands {
		a.InputStall += l.drain
		pre.behind = 0
	}
	return pre
}

// runArray computes the time of a descriptor in the array. The traffic in pre that has not arrived
// and the last results of the previous descriptor overlap with the array; runArray adds waits to a
// where they do not fit. The last results of this descriptor are left for the next one.
func (l *pipeline) runArray(a *Accounting, d *demand, pre *prefetch) aftermath {
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

	// On the other engine it may have started together with the previous descriptor.
	if l.running && l.planar != d.planar && !d.dram.conflictsWith(&l.dram) && !d.l2.conflictsWith(&l.l2) {
		a.subtractCycles(l.slack)
	}
	after := aftermath{body: body, busy: rest, drain: drain}
	if pre.resident {
		after.lane = min(d.lane, pre.held)
	}
	return after
}

// storeStateAfter stores in l the state that descriptor d leaves for the next descriptor.
func (l *pipeline) storeStateAfter(d *demand, after *aftermath) {
	l.running, l.planar, l.lane = true, d.planar, after.lane
	l.slack, l.drain = after.body-min(after.body, after.busy), after.drain
	l.dram, l.l2 = d.dram, d.l2
	l.ring = 0
	if d.writes {
		l.ring = after.body
	}
}

// joinRing computes the time of a descriptor that runs at the same time as the previous one, which
// fills the ring buffer that it reads. The two alternate row by row. The descriptor adds the cycles
// of its start and the cycles by which it is slower than the previous one. Its traffic uses the
// time in which memory is idle.
func (l *pipeline) joinRing(a *Accounting, d *demand) aftermath {
	alone := a.Compute + a.L2ReadStall + a.L2WriteStall
	a.subtractCycles(l.ring)
	drain := d.mem.Destination / clock.Cycles(max(1, d.drains))
	rest := l.drain + d.mem.Total - min(d.mem.Total, drain)
	added := a.Compute + a.L2ReadStall + a.L2WriteStall
	idle := l.slack + added
	if rest > idle {
		a.OutputStall += rest - idle
	}
	return aftermath{body: max(alone, l.ring), busy: rest, drain: drain}
}

// subtractCycles subtracts n cycles from the causes in a, starting with the causes that occur first
// in the run of a descriptor. If the causes have fewer than n cycles, it subtracts all of them. It
// never changes Overhead, because descriptors start one after the other.
func (a *Accounting) subtractCycles(n clock.Cycles) {
	for _, c := range [...]*clock.Cycles{
		&a.KernelStall, &a.InputStall, &a.L2ReadStall, &a.Compute, &a.L2WriteStall, &a.OutputStall,
	} {
		k := min(*c, n)
		*c -= k
		n -= k
	}
}
