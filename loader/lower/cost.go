package lower

import (
	"anesim/hw/regs"
	"anesim/hw/vendor"
)

// estimate is ExeCycles of the task as it stands.
func estimate(t *task) uint32 {
	var o regs.Operands
	o.Resolve(&t.g)
	return uint32(vendor.ExeCycles(&t.g, &o, nil))
}
