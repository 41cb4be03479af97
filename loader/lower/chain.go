package lower

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
)

// Debug events of a task's header: the low byte is its place in the chain, the rest what
// it computes (104/104).
const (
	debugFirst    = 0x68
	debugLast     = 0x02 // on top of debugFirst
	debugEvents   = 0xfff800
	debugMantissa = 0xffd800
)

// A chain is the tasks of a program in order.
type chain []*task

// finish fills in what a task takes from its neighbours (header control and events, L2
// routes) and the estimate, and links the descriptors.
func (c chain) finish() []*regs.Descriptor {
	out := make([]*regs.Descriptor, len(c))
	var planar, engine *task // the last ones so far
	for i, t := range c {
		c.control(i)
		if t.planar() {
			c.route(i, engine)
			planar = t
		} else {
			c.route(i, planar)
			engine = t
		}
		t.h.DebugLogEvents = t.h.DebugLogEvents.WithDebugLogEvents(t.debugEvents(i == 0, i == len(c)-1))
		t.h.Bases = t.h.Bases.WithTBE(i < len(c)-1)
		t.h.Timing = t.h.Timing.WithExeCycles(estimate(t))
		out[i] = loader.NewDescriptor(t.h, &t.g)
		if from := slices.Index(c, t.kernelFrom); t.kernelFrom != nil && from > 0 {
			out[i].Extra = uint32(from) // the extra header word names it (3/3)
		}
	}
	return loader.Sequence(out...)
}

// err is the first word of a task that did not fit.
func (c chain) err() error {
	for _, t := range c {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

func (t *task) debugEvents(first, last bool) uint32 {
	n := uint32(debugEvents)
	switch {
	case t.moves():
		n = 0
	case mantissaTable(t.table):
		n = debugMantissa
	}
	if first || last {
		n |= debugFirst
	}
	if last {
		n |= debugLast
	}
	return n
}

// moves reports whether the task only moves data within the L2 or across its edge once
// (13/13 have no debug events).
func (t *task) moves() bool {
	m := t.g.NE.MACCfg
	return !t.planar() && m.OpMode() == regs.PassThrough && m.NonlinearMode() == regs.NoActivation && !(t.g.DestinationOn() && t.inMemory())
}

// mantissaTable reports whether a table works on mantissa forms: the low digit of its
// mode is 5 (square root), 6 (its reciprocal) or 7 (reciprocal) (4/4; the others 0, 1, a).
func mantissaTable(table []byte) bool {
	const mode = 2 * 42
	return len(table) > mode && table[mode]&0xf >= 5 && table[mode]&0xf <= 7
}

// control writes header word 6. Tasks that pass tiles on to each other form a run; a
// run starts with SPL and ends with TSR and TSE. A pair that describes its tile in the
// scratch buffer ends one run and starts the next, marked DPC and SPC. (104/104)
func (c chain) control(i int) {
	t := c[i]
	starts := func(i int) bool {
		return i == len(c) || i == 0 || !c[i].dependent() || c[i].describesSource
	}
	w := t.h.Control
	w = w.WithSPL(starts(i)).WithTSR(starts(i + 1)).WithTSE(starts(i + 1))
	w = w.WithDPC(t.describesResult).WithSPC(t.describesSource)
	w = w.WithTDE(t.h.KernelBases&3 == 3)
	// A planar task whose result stays in the L2 and is described nowhere (6/6).
	w = w.WithDisallowAbort(t.planar() && !t.g.DestinationOn() && !t.describesResult && t.g.NE.KernelCfg.NextPlanar())
	t.h.Control = w
}

// route writes the dependency bits of the L2 words. The first task waits for everything.
// One that stands by itself waits for what its own engine did before, and for the last
// task of the other where they share memory. A task that reads an earlier tile names what
// the tile was instead, and its result needs nothing: it comes after. other is the last
// task on the other engine. (104/104)
func (c chain) route(i int, other *task) {
	t := c[i]
	l := &t.g.L2
	if i == 0 {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		l.ResultCfg = l.ResultCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		return
	}
	if !t.dependent() {
		l.SourceCfg = t.waits(l.SourceCfg, t.first, other)
		l.ResultCfg = t.waits(l.ResultCfg, t.result, other)
		return
	}
	if t.waitsForPairs {
		l.SourceCfg = l.SourceCfg.WithDep_or_BfrMode(1) // in place of the bits below (1/1)
		return
	}
	source, result := t.inMemory() && other != nil && t.first.overlaps(other.first), false
	ownResult := false
	for _, operand := range [...]*tile{t.first, t.second} {
		if operand == nil || operand.owner == t {
			continue
		}
		across := operand.owner.planar() != t.planar()
		result = result || operand.result && across
		ownResult = ownResult || operand.result && !across
		source = source || !operand.result && across
	}
	if t.planar() {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(source).WithAConvRslt(result).WithAPlnrRslt(ownResult)
	} else {
		l.SourceCfg = l.SourceCfg.WithAPlnrSrc(source).WithAPlnrRslt(result).WithAConvRslt(ownResult)
	}
}

// waits marks what a tile has to wait for.
func (t *task) waits(r regs.L2Route, at *tile, other *task) regs.L2Route {
	source := other != nil && at.overlaps(other.first)
	result := other != nil && at.overlaps(other.result)
	if t.planar() {
		return r.WithAPlnrSrc(true).WithAPlnrRslt(true).WithAConvSrc(source).WithAConvRslt(result)
	}
	return r.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(source).WithAPlnrRslt(result)
}
