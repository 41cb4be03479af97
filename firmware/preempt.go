package firmware

import "anesim/hw/regs"

// EndsRun reports whether the engine may be taken away behind a task.
//
// A run ends with a descriptor that carries TSR and TSE: there nothing in the L2 is live,
// and another queue may go first. One that carries DPC too leaves its result in the L2 for
// the run behind it, which begins with SPC (8 of the 11 such ends within real programs: with
// the L2 overwritten there, their values are lost): it holds on to the engine, as one with a
// context-switch bit or DisallowAbort does, whatever else it carries.
func EndsRun(t *regs.Task) bool {
	h, c := t.Header.Control, t.Groups.Common.Cfg
	return h.TSR() && h.TSE() && !h.DPC() && !h.DisallowAbort() && !c.ContextSwitchIn() && !c.ContextSwitchOut()
}
