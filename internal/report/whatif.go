package report

import "anesim"

// A WhatIf describes a hypothetical setting of a run, such as "PE.Cfg.OpMode=0x1" or "gated tiles
// 0-3,7". Descriptors is the number of descriptors whose registers it changes, or nil for a setting
// of the whole engine. If no descriptor changes, Why gives the reason.
type WhatIf struct {
	Set         string `json:"set"`
	Descriptors *int   `json:"descriptors,omitempty"`
	Why         string `json:"why,omitempty"`
}

// String returns the setting and its effect, such as "PE.Cfg.OpMode=0x1 has no effect: no
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

func newWhatIfs(r *anesim.Result) (list []WhatIf) {
	for _, w := range r.WhatIfs() {
		x := WhatIf{Set: w.Set, Why: w.Why}
		if w.Changed >= 0 {
			x.Descriptors = &w.Changed
		}
		list = append(list, x)
	}
	return list
}
