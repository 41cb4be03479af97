package task

import (
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

// MaxTasks is the most tasks of a program: a task's number has 16 bits.
const MaxTasks = 1 << 16

// A Chain is the tasks of a program in order.
type Chain []*Task

// Finish fills in what a task takes from its neighbours (header control and events, L2
// routes, hints and order of the tile DMA) and the estimate, and links the descriptors.
func (c Chain) Finish() []*regs.Descriptor {
	return c.link(Chain.starts, nil)
}

// link is finish with the runs that starts says; later routes the tasks behind the first,
// nil as the newest compiler does.
func (c Chain) link(starting func(Chain, map[*Task]int) []bool, later func(c Chain, i int, place map[*Task]int, starts bool)) []*regs.Descriptor {
	out := make([]*regs.Descriptor, len(c))
	place := make(map[*Task]int, len(c))
	for i, t := range c {
		place[t] = i
	}
	starts := starting(c, place)
	writers := c.reuse()
	var planar, engine *Task   // the last ones so far
	waited := [...]int{-1, -1} // the last task of the other engine that this one waited for
	for i, t := range c {
		c.control(i, starts)
		if later != nil && i > 0 {
			later(c, i, place, starts[i])
		} else if t.Planar() {
			c.route(i, engine, place, starts[i], &waited[0])
			planar = t
		} else {
			c.route(i, planar, place, starts[i], &waited[1])
			engine = t
		}
		t.h.DebugLogEvents = t.h.DebugLogEvents.WithDebugLogEvents(t.debugEvents(i == 0, i == len(c)-1))
		t.h.Bases = t.h.Bases.WithTBE(i < len(c)-1)
		t.h.Timing = t.h.Timing.WithExeCycles(c.estimate(i))
		out[i] = loader.NewDescriptor(t.h, &t.g)
		out[i].Extra = writers[i] // the extra header word names it (3/3)
	}
	return loader.Sequence(out...)
}

// Err is the first word of a task that did not fit.
func (c Chain) Err() error {
	for _, t := range c {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

func (t *Task) debugEvents(first, last bool) uint32 {
	n := uint32(debugEvents)
	switch {
	case t.moves():
		n = 0
	case mantissaTable(t.table) && t.g.L2.ResultCfg.Type() != typeRing: // 1/1 with a ring
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

// moves reports whether the task only moves data: into the L2, out of it, or by a tile of
// its own through it (16/16 have no debug events; those that stream through it have).
func (t *Task) moves() bool {
	m := t.g.NE.MACCfg
	streams := t.g.DestinationOn() && t.InMemory() && t.g.TileDMADst.DstDMAConfig.B26()
	return !t.Planar() && m.OpMode() == regs.PassThrough && m.NonlinearMode() == regs.NoActivation && !streams
}

// mantissaTable reports whether a table works on mantissa forms: the low digit of its
// mode is 5 (square root), 6 (its reciprocal), 7 (reciprocal) or 9 (logarithm) (5/5; the
// others 0, 1, a).
func mantissaTable(table []byte) bool {
	const mode = 2 * 42
	return len(table) > mode && table[mode]&0xf >= 5 && table[mode]&0xf <= 9
}

// starts says of every task, and of the end, whether a run of tasks that pass tiles on to
// each other begins there: no tile that an earlier task has begun is read from there on, but
// for one that is described in the scratch buffer.
func (c Chain) starts(place map[*Task]int) []bool {
	inside := make([]int, len(c)+2) // what of the tiles that are held over begins and ends
	begun := make(map[*Tile]int, len(c))
	for i, t := range c {
		if t.Continues {
			inside[i]++
			inside[i+1]--
		}
		for _, operand := range [...]*Tile{t.First, t.Second} {
			if operand == nil {
				continue
			}
			from, ok := place[operand.Owner]
			if first, several := begun[operand]; several {
				from = min(from, first)
			}
			if ok && from < i {
				inside[from+1]++
				inside[i+1]--
			}
		}
		if _, ok := begun[t.Result]; !ok && t.Result != nil {
			begun[t.Result] = i
			if first, ok := begun[t.Result.Beside]; ok {
				begun[t.Result] = first
			}
		}
	}
	starts := make([]bool, len(c)+1)
	held := 0
	for i := range starts {
		held += inside[i]
		starts[i] = held == 0 || i == 0 || i == len(c) || c[i].describesSource
	}
	return starts
}

// Linked reports whether task i takes its first source tile by tile as the task before
// makes it: extents, channels and strides are that task's own, and no operand is that
// task's source (17/18 have them equal).
func (c Chain) Linked(i int) bool {
	if i == 0 || i >= len(c) {
		return false
	}
	t, before := c[i], c[i-1]
	if t.First == nil || !t.First.Result || t.First.Owner != before || t.Second != nil && t.Second.Owner == before && !t.Second.Result {
		return false
	}
	a, b := &before.g, &t.g
	if b.NE.MACCfg.OpMode() == regs.MultiplyAccumulate && b.Common.Cfg.SmallSourceMode() && !t.Planar() {
		return false // products of blocks wait for the whole tile (2/2)
	}
	return uint32(a.Common.OutDim) == uint32(b.Common.InDim) && uint32(a.Common.Cout) == uint32(b.Common.Cin) &&
		a.GroupCount() == b.GroupCount() && a.ResultTransposed() == sourceTransposed(b) && !t.describesSource && !b.Source2On() &&
		a.L2.ResultBase == b.L2.Src1Base && a.L2.ResultChannelStride == b.L2.Src1ChannelStride &&
		a.L2.ResultRowStride == b.L2.Src1RowStride && a.L2.ResultDepthStride == b.L2.Src1DepthStride
}

// sourceTransposed reports whether a planar task reads its first source with channel and x
// transposed, as the task before wrote it.
func sourceTransposed(g *regs.Groups) bool {
	return g.Planar() && g.Common.PlanarOperands.Src1Transpose()
}

// control writes header word 6. Tasks that pass tiles on to each other form a run; a
// run starts with SPL and ends with TSR and TSE. A pair that describes its tile in the
// scratch buffer ends one run and starts the next, marked DPC and SPC. (104/104)
func (c Chain) control(i int, starts []bool) {
	t := c[i]
	w := t.h.Control
	w = w.WithSPL(starts[i]).WithTSR(starts[i+1]).WithTSE(starts[i+1])
	w = w.WithDPC(t.DescribesResult).WithSPC(t.describesSource)
	w = w.WithTDE(t.h.KernelBases&3 == 3)
	// A planar task whose result stays in the L2, is described nowhere and is not taken
	// tile by tile by the MAC engines (12/12).
	handed := c.Linked(i+1) && !c[i+1].Planar()
	w = w.WithDisallowAbort(t.Planar() && !t.g.DestinationOn() && !t.DescribesResult && !handed)
	t.h.Control = w
}

// route writes the dependency bits of the L2 words. The first task waits for everything.
// One that stands by itself waits for what its own engine did before, which it does not
// inside a run, and for the last task of the other where they share memory. A task that
// reads an earlier tile names what the tile was instead, and its result needs nothing: it
// comes after. other is the last task on the other engine. (104/104)
//
// Of earlier tasks only those count that the engine has not waited for yet: of its own the
// one just before, of the other those after the last it waited for. (Further back the
// bits are clear: 11/11.)
func (c Chain) route(i int, other *Task, place map[*Task]int, starts bool, waited *int) {
	t := c[i]
	l := &t.g.L2
	if i == 0 {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		l.ResultCfg = l.ResultCfg.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
		return
	}
	if l.SourceCfg.Type() == typeRing {
		return // it runs beside the task that fills the ring (9/9)
	}
	if !t.dependent() {
		l.SourceCfg = t.waits(l.SourceCfg, t.First, other, starts)
		l.ResultCfg = t.waits(l.ResultCfg, t.Result, other, starts)
		return
	}
	if t.WaitsForPairs {
		l.SourceCfg = l.SourceCfg.WithDep_or_BfrMode(1) // in place of the bits below (1/1)
		return
	}
	source, result := t.InMemory() && other != nil && t.First.overlaps(other.First), false
	ownResult := false
	linked := c.Linked(i)
	// A tile of a result on its way to memory waits for what the other engine still writes
	// where it stands (1/1).
	if t.staged && other != nil && place[other] > *waited && t.Result.overlaps(other.Result) {
		if t.Planar() {
			l.ResultCfg = l.ResultCfg.WithAConvRslt(true)
		} else {
			l.ResultCfg = l.ResultCfg.WithAPlnrRslt(true)
		}
	}
	last := *waited
	for j, operand := range [...]*Tile{t.First, t.Second} {
		if operand == nil || operand.Owner == t {
			continue
		}
		from := place[operand.Owner]
		if operand.Owner.Planar() == t.Planar() {
			ownResult = ownResult || operand.Result && from == i-1 && !(linked && j == 0)
			continue
		}
		last = max(last, from)
		if from <= *waited || linked && j == 0 {
			continue
		}
		result = result || operand.Result
		source = source || !operand.Result
	}
	*waited = last
	if linked {
		mode := uint32(linkedEngine)
		if c[i-1].Planar() {
			mode = linkedPlanar
		} else if t.Planar() {
			ownResult = ownResult || c[:i-1].planarResult(t.First)
		}
		l.SourceCfg = l.SourceCfg.WithDep_or_BfrMode(mode)
	}
	if t.Planar() {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(source).WithAConvRslt(result).WithAPlnrRslt(ownResult)
	} else {
		l.SourceCfg = l.SourceCfg.WithAPlnrSrc(source).WithAPlnrRslt(result).WithAConvRslt(ownResult)
	}
}

// waits marks what a tile has to wait for: what the other engine's last task has in its place
// and, where own says so, all that its own engine did.
func (t *Task) waits(r regs.L2Route, at *Tile, other *Task, own bool) regs.L2Route {
	source := other != nil && at.overlaps(other.First)
	result := other != nil && at.overlaps(other.Result)
	if t.Planar() {
		return r.WithAPlnrSrc(own).WithAPlnrRslt(own).WithAConvSrc(source).WithAConvRslt(result)
	}
	return r.WithAConvSrc(own).WithAConvRslt(own).WithAPlnrSrc(source).WithAPlnrRslt(result)
}

// What a source is taken from tile by tile (67/68).
const (
	linkedEngine = 1 // the MAC engines
	linkedPlanar = 2
)

// planarResult reports whether a planar task's result stood where a tile stands.
func (c Chain) planarResult(at *Tile) bool {
	for _, t := range c {
		if t.Planar() && t.Result != nil && !t.g.DestinationOn() && t.Result.overlaps(at) {
			return true
		}
	}
	return false
}
