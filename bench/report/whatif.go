package report

import (
	"fmt"
	"strconv"
	"strings"

	"anesim"
	"anesim/firmware"
	"anesim/hw/regs"
)

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

// whatIfsOf returns the register changes and the gated tiles of a run.
func whatIfsOf(r *anesim.Result) (list []WhatIf) {
	for _, set := range r.Options.Overrides {
		w := WhatIf{Set: set.String()}
		if n, why, err := countChanged(r, set); err == nil {
			w.Descriptors, w.Why = &n, why
		}
		list = append(list, w)
	}
	if mask := r.Options.GateTiles; mask != 0 {
		list = append(list, WhatIf{Set: "gated tiles " + formatTiles(mask)})
	}
	return list
}

// countChanged returns the number of descriptors of all programs that set changes, and why there are
// none. A descriptor is changed if the value of the field differs and its engine reads the register.
func countChanged(r *anesim.Result, set firmware.Override) (changed int, why string, err error) {
	used := 0
	for k := range r.Programs {
		linked, err := r.Programs[k].Program.LinkStream()
		if err != nil {
			return 0, "", err
		}
		var before []uint32
		var file regs.File
		for _, err := range linked.Stream.Tasks(&file) {
			if err != nil {
				return 0, "", err
			}
			w, _ := file.Load(set.Register.Addr())
			before = append(before, w)
		}
		var changedFile regs.File
		i := 0
		for task, err := range firmware.WithOverrides(&linked.Stream, []firmware.Override{set}).Tasks(&changedFile) {
			if err != nil {
				return 0, "", err
			}
			w, _ := changedFile.Load(set.Register.Addr())
			if isRead(set.Register.Block, &task.Groups) {
				used++
				if i >= len(before) || before[i] != w {
					changed++
				}
			}
			i++
		}
	}
	switch {
	case changed > 0:
	case used > 0:
		why = "the descriptors have this value already"
	case set.Register.Block == "PE":
		why = "no descriptor uses the planar engine"
	default:
		why = "no descriptor uses the array"
	}
	return changed, why, nil
}

// isRead reports whether the engine that runs a task reads the registers of a block.
func isRead(block string, g *regs.Groups) bool {
	switch block {
	case "PE":
		return g.Planar()
	case "NE", "KernelDMASrc":
		return !g.Planar()
	}
	return true
}

// formatTiles returns the tiles of a mask in the form that [firmware.ParseTiles] reads.
func formatTiles(mask uint32) string {
	var parts []string
	for first := 0; first < firmware.Tiles; first++ {
		if mask>>first&1 == 0 {
			continue
		}
		last := first
		for last+1 < firmware.Tiles && mask>>(last+1)&1 != 0 {
			last++
		}
		if last == first {
			parts = append(parts, strconv.Itoa(first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
		first = last
	}
	return strings.Join(parts, ",")
}
