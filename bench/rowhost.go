package bench

import (
	"strings"

	"anesim/bench/measured"
	"anesim/hw"
)

// RowChip is the chip of a row's machine. The guide's runs name the H13g; of the M1
// family only the M1 itself has the H13.
func RowChip(r *measured.Row) hw.Chip {
	if r.Chip == "M1" {
		return hw.M1()
	}
	return hw.M1Max()
}

// RowHost names a row's host preset, by its machine and chip. Rows whose latency has no
// host part, and machines that say nothing of their software, have none. An M1 of another
// model is taken for the Air, a larger chip elsewhere for the M1 Max.
func RowHost(r *measured.Row) string {
	m := r.Machine
	switch {
	case r.NoHost:
		return "none"
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
	return "none"
}
