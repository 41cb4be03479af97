package bench

import (
	"path"
	"strings"

	"anesim/bench/measured"
	"anesim/hw"
)

// RowChip returns the chip preset for row r. It returns the M1 if the row was measured on an M1. It
// returns the M1 Max for all other chips, because they have the same engine (H13g).
func RowChip(r *measured.Row) hw.Chip {
	if r.Chip == "M1" {
		return hw.M1()
	}
	return hw.M1Max()
}

// RowHost returns the name of the host preset for the machine of row r. It returns "none" if the
// measured time excludes the host, or if no preset fits the machine.
func RowHost(r *measured.Row) string {
	if r.NoHost {
		return noHost
	}
	return findHostPreset(r)
}

const noHost = "none"

// findHostPreset returns the name of the host preset for the machine of row r, or "none" if no
// preset fits. It does so even if the measured time excludes the host.
func findHostPreset(r *measured.Row) string {
	m := r.Machine
	switch {
	case strings.Contains(m, "Linux") && r.Chip == "M1":
		return "linux-m1"
	case strings.Contains(m, "Linux"):
		return "linux"
	case strings.Contains(m, "guide"):
		return "macos-guide"
	case strings.Contains(m, "GPU"):
		return "macos-max-b"
	case strings.HasPrefix(m, "MacBookPro17"):
		return "macos-mbp"
	case strings.HasPrefix(m, "MacBookPro18"), strings.Contains(r.Chip, "Max"), strings.Contains(r.Chip, "Ultra"):
		return "macos-max"
	case strings.HasPrefix(m, "Mac") && r.Chip == "M1":
		return "macos-air"
	case strings.HasPrefix(m, "Mac"):
		return "macos-max"
	}
	return noHost
}

// RowSession returns the name of the session in which row r was measured. It is the name of the
// machine's host preset, or "none" if there is none. If the name of the row's source file ends in a
// hyphen and eight hexadecimal digits, "/" and these digits follow. They identify a capture.
func RowSession(r *measured.Row) string {
	name := findHostPreset(r)
	file := strings.TrimSuffix(path.Base(r.Source), ".json")
	if i := strings.LastIndexByte(file, '-'); i >= 0 {
		if run := file[i+1:]; len(run) == 8 && strings.Trim(run, "0123456789abcdef") == "" {
			return name + "/" + run
		}
	}
	return name
}
