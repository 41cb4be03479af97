package bench

import (
	"cmp"
	"path"
	"strings"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/internal/measured"
)

// rowChip returns the chip preset for row r: the M1's if the row was measured on an M1, and that of the
// machine, or of the session's host, if the row names no chip. Other chips have the engine of the M1 Max
// (H13g).
func rowChip(r *measured.Row) hw.Chip {
	name := r.Chip
	if m, err := machine.ByName(r.Machine); err == nil {
		name = m.Chip.Name
	} else if h, err := host.ByName(findHostPreset(r)); err == nil && name == "" {
		name = h.Chip
	}
	for _, c := range hw.Chips() {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return hw.M1Max()
}

// rowHost returns the name of the host preset for the machine of row r. It returns "none" if the
// measured time excludes the host, or if no preset fits the machine.
func rowHost(r *measured.Row) string {
	if r.NoHost {
		return noHost
	}
	return findHostPreset(r)
}

const noHost = "none"

// hostsByName maps the names of machines, as sources publish them, to the host preset of their session. The
// identifiers of the vendor come first, then the names that sources gave their machines.
var hostsByName = map[string]string{
	"MacBookAir10,1": "macos-air", "Macmini9,1": "macos-air", "iMac21,1": "macos-air", "iMac21,2": "macos-air",
	"MacBook Air": "macos-air", "Mac mini": "macos-air", "iMac": "macos-air",
	"MacBookPro17,1": "macos-mbp",
	"MacBookPro18,1": "macos-max", "MacBookPro18,2": "macos-max", "MacBookPro18,3": "macos-max", "MacBookPro18,4": "macos-max",
	"Mac13,1": "macos-max", "Mac13,2": "macos-max", "MacBookPro M1 Max (2021)": "macos-max",

	"guide":                 "macos-guide",
	"labelled M1, GPU 32 W": "macos-max-b", "labelled M1; GPU 32 W": "macos-max-b",
	"Linux T6001": "linux", "jw16": "linux",
	"Linux T8103": "linux-m1", "jwm1": "linux-m1",
}

// hostsByChip maps the chips of which all known machines have the same host preset. It serves rows whose
// machine has no name in the table.
var hostsByChip = map[string]string{"M1Pro": "macos-max", "M1Max": "macos-max", "M1Pro/Max": "macos-max", "M1Ultra": "macos-max"}

// findHostPreset returns the name of the host preset for the machine of row r, or "none" if no
// preset fits. It does so even if the measured time excludes the host. The machine of a row is a name of
// [machine.Machine] or begins with a name of the table; its software may follow after a space or comma.
func findHostPreset(r *measured.Row) string {
	if m, err := machine.ByName(r.Machine); err == nil && !m.Scaled {
		return m.Host.Name
	}
	for name := r.Machine; name != ""; name = name[:max(0, strings.LastIndexAny(name, " ,"))] {
		if h, ok := hostsByName[name]; ok {
			return h
		}
	}
	return cmp.Or(hostsByChip[strings.ReplaceAll(r.Chip, " ", "")], noHost)
}

// rowClock returns the clock of the engine for row r, or 0 if the engine is in its highest state. A row
// that does not state it has the clock of its machine.
func rowClock(r *measured.Row) clock.Hertz {
	if r.Clock > 0 {
		return clock.Hertz(r.Clock) * 1e6
	}
	highest := rowChip(r).Clock.Value
	for _, m := range machine.Machines() {
		if m.Host.Name == findHostPreset(r) && !m.Scaled && m.Chip.Clock.Value < highest {
			return clock.Hertz(m.Chip.Clock.Value)
		}
	}
	return 0
}

// rowSession returns the name of the session in which row r was measured. It is the name of the
// machine's host preset, or "none" if there is none. If the name of the row's source file ends in a
// hyphen and eight hexadecimal digits, "/" and these digits follow. They identify a capture.
func rowSession(r *measured.Row) string {
	name := findHostPreset(r)
	file := strings.TrimSuffix(path.Base(r.Source), ".json")
	if i := strings.LastIndexByte(file, '-'); i >= 0 {
		if run := file[i+1:]; len(run) == 8 && strings.Trim(run, "0123456789abcdef") == "" {
			return name + "/" + run
		}
	}
	return name
}
