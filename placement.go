package anesim

import (
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/loader/network/placement"
)

// Machine is the backends of the run's host: a segment of the engine costs what the host
// adds to a call, or, without a host, the measured stages of a small call; the rest is the
// preset of package placement.
func (r *Result) Machine() placement.Machine {
	h := &r.Options.Host
	launch := h.Floor
	if launch.Value <= 0 {
		launch = evidence.New(host.BudgetSum(), "us", evidence.Measured, "the stages of a small call on an M1 under macOS (package host)")
	}
	return placement.Preset(launch, h.In)
}
