package report

import (
	"anesim/hw"
	"anesim/hw/clock"
)

// Rates holds rates of computation and memory: the peaks of a chip, or those achieved by a
// run.
type Rates struct {
	TFLOPS float64 `json:"tflops"`   // 1e12 operations per second; a multiply-accumulate counts as two
	GBPerS float64 `json:"gb_per_s"` // 1e9 bytes per second between device memory and the engine
}

// Peak returns a chip's peak rates: all multipliers of all MAC engines busy in every cycle,
// and the maximum memory traffic.
func Peak(c *hw.Chip) Rates {
	macs := float64(c.Engines.Value * c.MACs.Value)
	return Rates{2 * macs * c.Clock.Value / 1e12, c.TotalRate.Value / 1e9}
}

// rates returns the rates of work done in time t, zero if t is not positive.
func rates(macs, bytes uint64, t clock.Nanoseconds) Rates {
	if t <= 0 {
		return Rates{}
	}
	return Rates{tflops(macs, t), float64(bytes) / float64(t)}
}

// RatesOf returns the rates of a report over its working time.
func RatesOf(r *hw.Report) Rates { return rates(r.MACs, r.DMA.Total(), r.Working()) }
