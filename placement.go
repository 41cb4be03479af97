package anesim

import (
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/loader/network/placement"
)

// Machine returns the backends of the run's host. A segment on the engine costs the host's overhead
// per call, or, without a host, the measured stages of a small call. The other backends are the
// preset of package placement.
func (r *Result) Machine() placement.Machine {
	h := &r.Options.Host
	launch := h.Floor
	if launch.Value <= 0 {
		launch = evidence.New(host.BudgetSum(), "us", evidence.Measured, "the stages of a small call on an M1 under macOS (package host)")
	}
	return placement.Preset(launch, h.In)
}
