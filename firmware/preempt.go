package firmware

import "anesim/hw/regs"

// EndsRun reports whether another queue may use the engine after task t.
//
// A run ends with a descriptor whose control bits TSR and TSE are set, because nothing in L2 is
// needed after it. If the bit DPC is set too, the descriptor leaves its result in L2 for the next
// run, which begins with the bit SPC set. In real programs this is the case for 8 of 11 such ends:
// overwriting L2 there destroys their values. Such a descriptor therefore does not end a run, and
// neither does one with a context-switch bit or DisallowAbort.
func EndsRun(t *regs.Task) bool {
	h, c := t.Header.Control, t.Groups.Common.Cfg
	return h.TSR() && h.TSE() && !h.DPC() && !h.DisallowAbort() && !c.ContextSwitchIn() && !c.ContextSwitchOut()
}
