package report

import (
	"anesim/hw"
	"anesim/hw/clock"
)

// A Cost holds the cycles, time, energy and bytes that work takes on the engine, without the
// dispatch's own energy.
type Cost struct {
	Cycles   uint64            `json:"cycles"`
	TimeNs   clock.Nanoseconds `json:"time_ns"`
	EnergyNJ clock.Nanojoules  `json:"energy_nj"`
	DMABytes uint64            `json:"dma_bytes"`
	// Unmeasured is the part of TimeNs that no measured row covers.
	Unmeasured clock.Nanoseconds `json:"unmeasured_ns"`
}

// CostOf returns the cycles, time, energy and bytes of a run.
func CostOf(r *hw.Report) Cost {
	return Cost{uint64(r.Cycles), r.Time, r.DescriptorEnergy(), r.DMA.Total(), r.Bounds().Unmeasured}
}

// Cost returns the cycles, time, energy and bytes of the layer or the run.
func (t *Total) Cost() Cost {
	return Cost{t.Cycles, t.TimeNs, t.EnergyNJ - t.DispatchNJ, t.DMABytes, t.Unmeasured}
}

// Cost returns the cycles, time, energy and bytes of the descriptor.
func (d *Descriptor) Cost() Cost {
	c := Cost{Cycles: d.Cycles.Total, TimeNs: d.TimeNs, EnergyNJ: d.EnergyNJ, DMABytes: d.DMA.Total}
	if !d.Measured {
		c.Unmeasured = d.TimeNs
	}
	return c
}
