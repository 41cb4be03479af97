package report

import (
	"anesim/hw"
	"anesim/hw/clock"
)

// A Cost is what work takes of the engine, without a dispatch's own energy.
type Cost struct {
	Cycles   uint64            `json:"cycles"`
	TimeNs   clock.Nanoseconds `json:"time_ns"`
	EnergyNJ clock.Nanojoules  `json:"energy_nj"`
	DMABytes uint64            `json:"dma_bytes"`
}

// CostOf returns what a run takes.
func CostOf(r *hw.Report) Cost {
	return Cost{uint64(r.Cycles), r.Time, r.DescriptorEnergy(), r.DMA.Total()}
}

// Cost returns what the layer or the run takes.
func (t *Total) Cost() Cost { return Cost{t.Cycles, t.TimeNs, t.EnergyNJ - t.DispatchNJ, t.DMABytes} }

// Cost returns what the descriptor takes.
func (d *Descriptor) Cost() Cost { return Cost{d.Cycles.Total, d.TimeNs, d.EnergyNJ, d.DMA.Total} }
