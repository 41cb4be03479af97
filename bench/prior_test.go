package bench

import (
	"anesim/hw"
	"anesim/hw/host"
)

// StudyPresets are where every fit starts, so that none begins with what it is to be
// checked against: a study's constants of the engine (its own fit of the same rows to a
// cruder lowering) and round values of the hosts.
func StudyPresets() Presets {
	p := Presets{make(map[string]hw.Chip), make(map[string]host.Host)}
	for _, c := range hw.Chips() {
		c.TransposeRate.Value, c.PlanarRate.Value, c.KernelOverlap.Value = 16, 57.6e9, 0.5
		c.ReadRate.Value = 65.4e9
		energy := [energyTerms]float64{2.21, 24, 20, 20, 0.4}
		if c.Name == "m1max" {
			c.ReadRate.Value = 56.5e9
			energy = [energyTerms]float64{1.22, 3, 20, 20, 0.8}
		}
		for i, k := range energyConstants(&c) {
			k.Value = energy[i]
		}
		c.HoldTime.Value = 8e6
		p.Chips[c.Name] = c
	}
	for _, h := range host.Presets() {
		h.Set(studyHost(h.Name))
		p.Hosts[h.Name] = h
	}
	return p
}

// studyHost returns the constants toward which the fit of a host is drawn: the fixed times that
// were measured alone, and the copy rates of a study.
func studyHost(name string) host.Vector {
	switch name {
	case "linux-m1":
		return host.Vector{0: 21.6}
	case "linux":
		return host.Vector{0: 40}
	case "macos-air":
		return host.Vector{0: 175, 1: 100, 2: 200, 6: 50}
	case "macos-mbp":
		return host.Vector{0: 180, 1: 115, 2: 800, 4: 5, 5: 6, 6: 50}
	case "macos-max":
		return host.Vector{190, 57, 210}
	case "macos-max-b":
		return host.Vector{165, 57, 210}
	case "macos-guide":
		return host.Vector{211, 132, 132, 73}
	}
	return host.Vector{}
}
