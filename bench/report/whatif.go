package report

import "anesim"

// A WhatIf describes a setting that makes a run differ from the program's own. Set is the setting,
// such as "PE.Cfg.OpMode=0x1" or "gated tiles 0-3,7". Descriptors is the number of descriptors whose
// registers the setting changes, or nil for a setting of the whole engine. Why is the reason why it
// changes none; it is empty if it changes some.
type WhatIf struct {
	Set         string `json:"set"`
	Descriptors *int   `json:"descriptors,omitempty"`
	Why         string `json:"why,omitempty"`
}

// String returns the setting with its effect, such as "PE.Cfg.OpMode=0x1 has no effect: no
// descriptor uses the planar engine".
func (w WhatIf) String() string {
	switch {
	case w.Why != "":
		return w.Set + " has no effect: " + w.Why
	case w.Descriptors != nil:
		return w.Set + " changes " + Plural(*w.Descriptors, "descriptor")
	}
	return w.Set
}

func whatIfsOf(r *anesim.Result) (list []WhatIf) {
	for _, w := range r.WhatIfs() {
		x := WhatIf{Set: w.Set, Why: w.Why}
		if w.Changed >= 0 {
			x.Descriptors = &w.Changed
		}
		list = append(list, x)
	}
	return list
}
