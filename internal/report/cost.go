package report

import (
	"anesim/hw"
	"anesim/hw/clock"
)

// A Cost holds the cycles, time and energy of work on the engine, and the bytes moved between the
// engine and memory. The energy excludes the fixed energy of a dispatch.
type Cost struct {
	Cycles   uint64            `json:"cycles"`
	TimeNs   clock.Nanoseconds `json:"time_ns"`
	EnergyNJ clock.Nanojoules  `json:"energy_nj"`
	DMABytes uint64            `json:"dma_bytes"`
	// Unmeasured is the part of TimeNs that no measured row covers.
	Unmeasured clock.Nanoseconds `json:"unmeasured_ns"`
}

// CostOf returns the summed costs of all descriptors of a report.
func CostOf(r *hw.Report) Cost {
	return Cost{uint64(r.Cycles), r.Time, r.DescriptorEnergy(), r.DMA.Total(), r.Bounds().Unmeasured}
}

// Cost returns the costs in t, with the fixed energy of dispatches subtracted.
func (t *Total) Cost() Cost {
	return Cost{t.Cycles, t.TimeNs, t.EnergyNJ - t.DispatchNJ, t.DMABytes, t.Unmeasured}
}

// Cost returns the costs of d. All of its time counts as Unmeasured if no measured row covers this
// kind of work.
func (d *Descriptor) Cost() Cost {
	c := Cost{Cycles: d.Cycles.Total, TimeNs: d.TimeNs, EnergyNJ: d.EnergyNJ, DMABytes: d.DMA.Total}
	if !d.Measured {
		c.Unmeasured = d.TimeNs
	}
	return c
}

// Rates holds a rate of computation and a rate of memory traffic: either the peaks of a chip or the
// means of a run.
type Rates struct {
	TFLOPS float64 `json:"tflops"`   // 1e12 operations per second; a multiply-accumulate counts as two
	GBPerS float64 `json:"gb_per_s"` // 1e9 bytes per second between device memory and the engine
}

// Peak returns the highest rates of the chip c, at which every multiplier works in every cycle and
// memory transfers data at full speed.
func Peak(c *hw.Chip) Rates {
	macs := float64(c.Engines.Value * c.MACs.Value)
	return Rates{2 * macs * c.Clock.Value / 1e12, c.TotalRate.Value / 1e9}
}

// NewRates returns the rates of work that processes macs multiply-accumulates and the given bytes
// in the time t. The rates are zero if t is not positive.
func NewRates(macs, bytes uint64, t clock.Nanoseconds) Rates {
	if t <= 0 {
		return Rates{}
	}
	return Rates{tflops(macs, t), float64(bytes) / float64(t)}
}

// RatesOf returns the mean rates of r while its descriptors are busy. The rates are zero if that
// time is 0.
func RatesOf(r *hw.Report) Rates { return NewRates(r.MACs, r.DMA.Total(), r.Working()) }
