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
	o.Resolve(&t.G)
	var beside *regs.Groups
	if i+1 < len(c) && t.G.L2.ResultCfg.Type() == TypeRing {
		beside = &c[i+1].G
	}
	return uint32(vendor.ExeCycles(&t.G, &o, beside))
}
