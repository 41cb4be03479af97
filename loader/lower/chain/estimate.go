package chain

import (
	"anesim/hw/regs"
	"anesim/hw/vendor"
	"anesim/loader/lower/task"
)

// estimateCycles returns the cycle estimate for the ExeCycles field of task i. If two tasks share a
// ring, the estimate of the first one covers both.
func (p *program) estimateCycles(i int) uint32 {
	t := &p.steps[i]
	var o regs.Operands
	o.Resolve(&t.g)
	var ringReader *regs.Groups
	if t.g.L2.ResultCfg.Type() == task.TypeRing { // the next task empties it
		ringReader = &p.steps[i+1].g
	}
	return uint32(vendor.ExeCycles(&t.g, &o, ringReader))
}
