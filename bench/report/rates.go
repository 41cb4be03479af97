package report

import (
	"anesim/hw"
	"anesim/hw/clock"
)

// Rates are what a chip can do at most, or what a run came to.
type Rates struct {
	TFLOPS float64 `json:"tflops"`   // 1e12 operations a second; a multiply-accumulate is two
	GBPerS float64 `json:"gb_per_s"` // 1e9 bytes a second between device memory and the engine
}

// Peak are a chip's rates: every multiplier of every MAC engine at work in each cycle,
// and all traffic that memory takes.
func Peak(c *hw.Chip) Rates {
	macs := float64(c.Engines.Value * c.MACs.Value)
	return Rates{2 * macs * c.Clock.Value / 1e12, c.TotalRate.Value / 1e9}
}

// rates are what work came to in a time, zeros in none.
func rates(macs, bytes uint64, t clock.Nanoseconds) Rates {
	if t <= 0 {
		return Rates{}
	}
	return Rates{tflops(macs, t), float64(bytes) / float64(t)}
}

// RatesOf is what a report's work came to over the time in which it was done.
func RatesOf(r *hw.Report) Rates { return rates(r.MACs, r.DMA.Total(), r.Working()) }
