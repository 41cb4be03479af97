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
// host part, and machines that say nothing of their software, have none.
func RowHost(r *measured.Row) string {
	m := r.Machine
	large := r.Chip != "M1"
	switch {
	case r.NoHost:
		return "none"
	case strings.Contains(m, "Linux"):
		return "linux"
	case strings.Contains(m, "guide"):
		return "macos-guide"
	case strings.Contains(m, "GPU"):
		return "macos-max-b"
	case strings.HasPrefix(m, "MacBookAir"):
		return "macos-air"
	case strings.HasPrefix(m, "MacBookPro17"):
		return "macos-mbp"
	case strings.HasPrefix(m, "MacBookPro18") || strings.HasPrefix(m, "Mac") && large:
		return "macos-max"
	}
	return "none"
}
