package firmware

import "anesim/hw/regs"

// EndsRun reports whether another queue may get the engine after task t.
//
// A run ends with a descriptor that has TSR and TSE set, because nothing in L2 is needed
// any more at that point. If DPC is set too, the descriptor leaves its result in L2 for the
// next run, which begins with SPC. In real programs this is the case for 8 of 11 such ends:
// overwriting L2 there destroys their values. Such a descriptor therefore does not end a
// run, and neither does one with a context-switch bit or DisallowAbort.
func EndsRun(t *regs.Task) bool {
	h, c := t.Header.Control, t.Groups.Common.Cfg
	return h.TSR() && h.TSE() && !h.DPC() && !h.DisallowAbort() && !c.ContextSwitchIn() && !c.ContextSwitchOut()
}
