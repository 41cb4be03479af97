package anesim

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/firmware"
	"anesim/hw/regs"
)

// A WhatIf describes a setting that changes a run. Set is the setting as text, such as
// "PE.Cfg.OpMode=0x1" or "gated tiles 0-3,7". Changed is the number of descriptors whose registers
// the setting changes. It is -1 if there is no such number, because the setting applies to the
// whole engine or the chain of descriptors is not valid. If Changed is 0, Why is the reason;
// otherwise Why is empty.
type WhatIf struct {
	Set     string
	Changed int
	Why     string
}

// WhatIfs returns one element for each register override of the run, and one for its gated tiles if
// any are gated.
func (r *Result) WhatIfs() (list []WhatIf) {
	for _, set := range r.Options.Overrides {
		w := WhatIf{Set: set.String()}
		var err error
		if w.Changed, w.Why, err = r.countChangedDescriptors(set); err != nil {
			w.Changed = -1 // the chain ends in an error; the run has reported it
		}
		list = append(list, w)
	}
	if mask := r.Options.GateTiles; mask != 0 {
		list = append(list, WhatIf{Set: "gated tiles " + formatTiles(mask), Changed: -1})
	}
	return list
}

// countChangedDescriptors returns how many descriptors of all programs the override set changes. A
// descriptor counts only if its value of the field differs and its engine reads the register. If
// the number is 0, why is the reason.
func (r *Result) countChangedDescriptors(set firmware.Override) (changed int, why string, err error) {
	used := 0
	for k := range r.Programs {
		linked, err := r.Programs[k].Program.LinkStream(nil)
		if err != nil {
			return 0, "", err
		}
		var before []uint32
		// Registers keep their values from one descriptor to the next, so an override of one changes what
		// later ones see. That is why both walks keep the whole register file, and words are compared at
		// each descriptor and not in the descriptor's text.
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
			if isBlockRead(set.Register.Block, &task.Groups) {
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
	// An override that does nothing is most often a mistake, so the reason says what to look at.
	case used > 0:
		why = "the descriptors have this value already"
	case set.Register.Block == "PE":
		why = "no descriptor uses the planar engine"
	default:
		why = "no descriptor uses the array"
	}
	return changed, why, nil
}

// isBlockRead reports whether the registers of the named block are read by the engine that runs a
// task with the registers g.
func isBlockRead(block string, g *regs.Groups) bool {
	switch block {
	case "PE":
		return g.Planar()
	case "NE", "KernelDMASrc":
		return !g.Planar()
	}
	return true
}

// formatTiles returns the tiles whose bits are set in mask, such as "0-3,7". [firmware.ParseTiles]
// reads the same form.
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
