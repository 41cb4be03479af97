package firmware

import "anesim/hw/regs"

// EndsRun reports whether t is the last task of a run, a sequence of tasks that must not be
// interrupted. Another queue may use the engine after such a task.
//
// A run ends if the control bits TSR and TSE are set, because later tasks then need nothing from
// L2. The run continues if one of these bits is also set:
//
//	DPC              the task may leave a result in L2 for the next one
//	DisallowAbort
//	ContextSwitchIn, ContextSwitchOut
//
// Real programs support the rule for DPC: in 8 of 11 places where DPC keeps a run from ending,
// overwriting L2 destroys values.
func EndsRun(t *regs.Task) bool {
	h, c := t.Header.Control, t.Groups.Common.Cfg
	return h.TSR() && h.TSE() && !h.DPC() && !h.DisallowAbort() && !c.ContextSwitchIn() && !c.ContextSwitchOut()
}
