package firmware

import "anesim/hw/regs"

// EndsRun reports whether another queue may use the engine after task t. If so, t is the last task
// of a run, which is a sequence of descriptors that must not be interrupted.
//
// EndsRun returns true if the control bits TSR and TSE are set, because later tasks then need
// nothing from L2, unless one of these bits is also set:
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
