package bench

import (
	"path"
	"strings"

	"anesim/bench/measured"
	"anesim/hw"
)

// RowChip returns the chip of a row's machine. The guide's runs name the H13g, and within
// the M1 family only the M1 itself has the H13.
func RowChip(r *measured.Row) hw.Chip {
	if r.Chip == "M1" {
		return hw.M1()
	}
	return hw.M1Max()
}

// RowHost returns the name of a row's host preset by its machine and chip. It is "none" for
// rows whose latency excludes the host, and for machines with unknown software. Other M1
// models use the preset of the Air, and larger chips that of the M1 Max.
func RowHost(r *measured.Row) string {
	if r.NoHost {
		return noHost
	}
	return hostOfMachine(r)
}

const noHost = "none"

// hostOfMachine returns the host preset of a row's machine, even if its latency excludes the
// host.
func hostOfMachine(r *measured.Row) string {
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

// RowSession returns the name of the session in which a row was measured: a machine with
// its software, and the capture if the machine has several. The name of a capture's file
// ends in eight hexadecimal digits.
func RowSession(r *measured.Row) string {
	name := hostOfMachine(r)
	file := strings.TrimSuffix(path.Base(r.Source), ".json")
	if i := strings.LastIndexByte(file, '-'); i >= 0 {
		if run := file[i+1:]; len(run) == 8 && strings.Trim(run, "0123456789abcdef") == "" {
			return name + "/" + run
		}
	}
	return name
}
