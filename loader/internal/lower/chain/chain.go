package chain

import (
	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
)

// Debug events of a task's header. The low byte depends on the task's position in the chain, the
// rest on its computation (seen in 104 of 104 descriptors).
const (
	debugFirst    = 0x68
	debugLast     = 0x02 // added to debugFirst
	debugEvents   = 0xfff800
	debugMantissa = 0xffd800
)

// A step is a task with the registers of its descriptor: those of the task, completed with the
// fields that depend on other tasks.
type step struct {
	*task.Task
	h regs.Header
	g regs.Groups
}

// A program holds the steps of a chain in order.
type program struct {
	tasks []*task.Task
	steps []step
	index map[*task.Task]int

	lastPlanar, lastEngine *task.Task // last task on each engine that has been linked

	// planarResults holds a tile for each range of L2 in which a planar task before the previous
	// task left a result. Tasks of a long chain use the same few ranges again and again.
	planarResults map[l2Range]*task.Tile

	target    execycles.Target
	estimates execycles.Chain
}

// An l2Range is a range of bytes in L2.
type l2Range struct{ base, bytes int }

// newProgram returns a program with one step for each task. The steps start from copies of the
// tasks' registers.
func newProgram(tasks []*task.Task) *program {
	p := &program{tasks: tasks, steps: make([]step, len(tasks)), index: make(map[*task.Task]int, len(tasks)), planarResults: map[l2Range]*task.Tile{}}
	for i, t := range tasks {
		s := &p.steps[i]
		s.Task = t
		s.h, s.g = t.Registers()
		p.index[t] = i
	}
	return p
}

// Finish returns the descriptors of the given tasks, in the same order, linked as the vendor's
// newest compiler links them for the given target. It computes the fields that depend on other
// tasks, such as which tasks wait for each other, how data passes through L2, and the estimated
// cycles, which are all that depends on the target. It does not change the tasks.
func Finish(tasks []*task.Task, target execycles.Target) []*regs.Descriptor {
	p := newProgram(tasks)
	p.target = target
	return p.linkDescriptors(p.findRuns(), nil)
}

// linkDescriptors returns the linked descriptors of the steps. starts[i] says whether task i starts
// a run (consecutive tasks that pass tiles to each other). It calls later to set the dependency
// bits of each task after the first; if later is nil, linkDescriptors sets them as the vendor's
// newest compiler does.
func (p *program) linkDescriptors(starts []bool, later func(i int, starts bool)) []*regs.Descriptor {
	out := make([]*regs.Descriptor, len(p.steps))
	writers := p.setReuseFields()
	waited := [...]int{-1, -1} // for each engine, the last task of the other one that it waited for
	for i := range p.steps {
		s := &p.steps[i]
		if i > 1 {
			p.recordPlanarResult(p.tasks[i-2])
		}
		p.setControlWord(i, starts)
		switch {
		case later != nil && i > 0:
			later(i, starts[i])
		case s.Planar():
			p.setWaitBits(i, p.lastEngine, starts[i], &waited[0])
		default:
			p.setWaitBits(i, p.lastPlanar, starts[i], &waited[1])
		}
		if s.Planar() {
			p.lastPlanar = s.Task
		} else {
			p.lastEngine = s.Task
		}
		s.h.DebugLogEvents = s.h.DebugLogEvents.WithDebugLogEvents(s.debugEventBits(i == 0, i == len(p.steps)-1))
		s.h.Bases = s.h.Bases.WithTBE(i < len(p.steps)-1)
		s.h.Timing = s.h.Timing.WithExeCycles(p.estimateCycles(i))
		out[i] = loader.NewDescriptor(s.h, &s.g)
		out[i].Extra = writers[i] // the extra header word holds this number (seen in 3 of 3 descriptors)
	}
	return loader.Sequence(out...)
}

// debugEventBits returns the bits for the header of the step's descriptor that select the events
// that the firmware logs. first and last say whether the step is the first or the last of the
// chain.
func (t *step) debugEventBits(first, last bool) uint32 {
	n := uint32(debugEvents)
	switch {
	case t.onlyMovesData():
		n = 0
	case isMantissaTable(t.Table) && !t.keepsWideRows():
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

// onlyMovesData reports whether the task only copies data into L2, out of L2, or through a tile in
// L2. It reports false for a copy that streams through L2. Tasks that only move data log no debug
// events (seen in 16 of 16 tasks).
func (t *step) onlyMovesData() bool {
	m := t.g.NE.MACCfg
	streams := t.g.DestinationOn() && t.LoadsFirst() && t.g.TileDMADst.DstDMAConfig.B26()
	return !t.Planar() && m.OpMode() == regs.PassThrough && m.NonlinearMode() == regs.NoActivation && !streams
}

// keepsWideRows reports whether the result of the step stays in L2, whole or as a ring, with rows of
// more than one slice of columns. A table of mantissas then logs the events of other tables (seen in
// 2 of 2 tasks, with 512 and 1,600 columns; the border is inferred).
func (t *step) keepsWideRows() bool {
	return !t.g.DestinationOn() && t.g.Common.OutDim.Wout() > place.SliceColumns
}

// isMantissaTable reports whether an activation table is indexed by the mantissa of its input. The
// low digit of the table's mode is then 5 (square root), 6 (its reciprocal), 7 (reciprocal) or 9
// (logarithm), as seen in 5 of 5 tables. Other tables have 0, 1 or 10.
func isMantissaTable(table []byte) bool {
	const mode = 2 * 42
	return len(table) > mode && table[mode]&0xf >= 5 && table[mode]&0xf <= 9
}

// SetDebugEvents sets the bits of a descriptor's header that select which events the firmware logs
// for debugging.
func SetDebugEvents(d *regs.Descriptor, events uint32) {
	d.Header.DebugLogEvents = d.Header.DebugLogEvents.WithDebugLogEvents(events)
}
