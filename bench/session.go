package bench

import (
	"path"
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
	if r.NoHost {
		return noHost
	}
	return machineHost(r)
}

const noHost = "none"

// machineHost is the host preset of a row's machine, whether its latency has a host part
// or not.
func machineHost(r *measured.Row) string {
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

// RowSession names the session a row was measured in: a machine with its software, and
// the capture where one machine has several. A capture's file ends in eight hexadecimal
// digits of its own.
func RowSession(r *measured.Row) string {
	name := machineHost(r)
	file := strings.TrimSuffix(path.Base(r.Source), ".json")
	if i := strings.LastIndexByte(file, '-'); i >= 0 {
		if run := file[i+1:]; len(run) == 8 && strings.Trim(run, "0123456789abcdef") == "" {
			return name + "/" + run
		}
	}
	return name
}
