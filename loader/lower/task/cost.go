package task

import (
	"anesim/hw/regs"
	"anesim/hw/vendor"
)

// estimate is ExeCycles of a task as it stands; the first of two that share a ring carries
// both.
func (c Chain) estimate(i int) uint32 {
	t := c[i]
	var o regs.Operands
	o.Resolve(&t.g)
	var beside *regs.Groups
	if i+1 < len(c) && t.g.L2.ResultCfg.Type() == typeRing {
		beside = &c[i+1].g
	}
	return uint32(vendor.ExeCycles(&t.g, &o, beside))
}
