package chain

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/task"
)

// estimateCycles returns the cycle estimate for the ExeCycles field of task i. It must be called
// for the tasks in order. If two tasks share a ring, the estimate of the first one covers both.
func (p *program) estimateCycles(i int) uint32 {
	t := &p.steps[i]
	var o regs.Operands
	o.Resolve(&t.g)
	var ringReader *regs.Groups
	if t.g.L2.ResultCfg.Type() == task.TypeRing { // the next task empties it
		ringReader = &p.steps[i+1].g
	}
	return uint32(p.estimates.Next(p.target, &t.g, &o, ringReader))
}
