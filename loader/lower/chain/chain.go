package chain

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower/task"
)

// Debug events of a task's header: the low byte is its place in the chain, the rest what
// it computes (104/104).
const (
	debugFirst    = 0x68
	debugLast     = 0x02 // on top of debugFirst
	debugEvents   = 0xfff800
	debugMantissa = 0xffd800
)

// A step is a task with the registers of its descriptor: the task's own, and what follows from
// the tasks around it.
type step struct {
	*task.Task
	h regs.Header
	g regs.Groups
}

// A program is the steps of a chain in order.
type program struct {
	tasks []*task.Task
	steps []step
	index map[*task.Task]int
}

func newProgram(tasks []*task.Task) *program {
	p := &program{tasks: tasks, steps: make([]step, len(tasks)), index: make(map[*task.Task]int, len(tasks))}
	for i, t := range tasks {
		s := &p.steps[i]
		s.Task = t
		s.h, s.g = t.Registers()
		p.index[t] = i
	}
	return p
}

// Finish returns the descriptors of tasks in their order, linked. It adds what a task takes from
// its neighbours (header control and events, L2 routes, hints and order of the tile DMA) and the
// estimate; the tasks stay as they are.
func Finish(tasks []*task.Task) []*regs.Descriptor {
	p := newProgram(tasks)
	return p.link(p.findRuns(), nil)
}

// link returns the descriptors, with the runs that starts marks. later routes the tasks after the
// first; nil routes them as the newest compiler does.
func (p *program) link(starts []bool, later func(i int, starts bool)) []*regs.Descriptor {
	out := make([]*regs.Descriptor, len(p.steps))
	writers := p.setReuse()
	var planar, engine *task.Task // the last ones so far
	waited := [...]int{-1, -1}    // the last task of the other engine that this one waited for
	for i := range p.steps {
		s := &p.steps[i]
		p.setControl(i, starts)
		if later != nil && i > 0 {
			later(i, starts[i])
		} else if s.Planar() {
			p.route(i, engine, starts[i], &waited[0])
			planar = s.Task
		} else {
			p.route(i, planar, starts[i], &waited[1])
			engine = s.Task
		}
		s.h.DebugLogEvents = s.h.DebugLogEvents.WithDebugLogEvents(s.debugEvents(i == 0, i == len(p.steps)-1))
		s.h.Bases = s.h.Bases.WithTBE(i < len(p.steps)-1)
		s.h.Timing = s.h.Timing.WithExeCycles(p.estimateCycles(i))
		out[i] = loader.NewDescriptor(s.h, &s.g)
		out[i].Extra = writers[i] // the extra header word names it (3/3)
	}
	return loader.Sequence(out...)
}

// debugEvents returns which events of the step are logged for debugging.
func (t *step) debugEvents(first, last bool) uint32 {
	n := uint32(debugEvents)
	switch {
	case t.onlyMovesData():
		n = 0
	case isMantissaTable(t.Table) && t.g.L2.ResultCfg.Type() != task.TypeRing: // 1/1 with a ring
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
func (t *step) onlyMovesData() bool {
	m := t.g.NE.MACCfg
	streams := t.g.DestinationOn() && t.LoadsFirst() && t.g.TileDMADst.DstDMAConfig.B26()
	return !t.Planar() && m.OpMode() == regs.PassThrough && m.NonlinearMode() == regs.NoActivation && !streams
}

// mantissaTable reports whether a table works on mantissa forms: the low digit of its
// mode is 5 (square root), 6 (its reciprocal), 7 (reciprocal) or 9 (logarithm) (5/5; the
// others 0, 1, a).
func isMantissaTable(table []byte) bool {
	const mode = 2 * 42
	return len(table) > mode && table[mode]&0xf >= 5 && table[mode]&0xf <= 9
}

// SetDebugEvents says which events of a descriptor are logged for debugging.
func SetDebugEvents(d *regs.Descriptor, events uint32) {
	d.Header.DebugLogEvents = d.Header.DebugLogEvents.WithDebugLogEvents(events)
}
