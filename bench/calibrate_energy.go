package bench

import (
	"maps"
	"math"
	"slices"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/tiles"
)

// energyTerms is the number of constants of a chip's energy.
const energyTerms = 5

// energyConstants are those of a chip's energy, each with its least and greatest value.
func energyConstants(c *hw.Chip) [energyTerms]*evidence.Constant {
	return [...]*evidence.Constant{&c.DispatchEnergy, &c.MACEnergy, &c.DRAMEnergy, &c.ActivePower, &c.WaitPower}
}

// What an event can cost: a dispatch between what a dispatch-bound loop at 0.75 W leaves
// for it and a little more than the public fits (0.158 and 0.183 mJ), a
// multiply-accumulate between a fifth of and twice their 2 pJ, a byte of memory at most
// twice their 37 pJ, powered engines half of the highest rail seen, and sixteen that wait
// their steps of 10.5 mW at least.
var energyBounds = [energyTerms][2]float64{{0.12e6, 0.21e6}, {0.4, 4}, {1, 75}, {0, 3}, {0.168, 0.4}}

// energyObservation is a row's events: what each constant is multiplied by to make
// nanojoules.
type energyObservation struct {
	terms    [energyTerms]float64
	known    float64 // nJ of events whose cost is not fitted
	measured float64 // nJ
	times    float64 // how much the row counts
}

func (p *Presets) energyObservation(s *Sample) energyObservation {
	e, chip := p.Estimate(s), p.Chips[s.Chip]
	spared := e.Spared + clock.Nanoseconds(clock.Nanoseconds(tiles.Engines-e.Engines)*e.Host)
	return energyObservation{
		[...]float64{1, float64(e.MACs) / 1e3, float64(e.DMA.Total()) / 1e3, float64(e.Engine), float64(e.Host)},
		float64(chip.TableEnergy.Value*float64(e.Lookups)/1e3) + float64(chip.L2Energy.Value*float64(e.L2)/1e3) -
			float64(chip.EngineStep.Value*float64(spared)),
		s.Row.Energy * 1e6,
		importance(s.Row.Tier),
	}
}

// fitEnergy fits every chip's constants by coordinate descent on reweighted squares of
// relative errors, within their bounds.
func (p *Presets) fitEnergy(samples []Sample) {
	groups := make(map[string][]energyObservation)
	for i := range samples {
		if s := &samples[i]; s.Row.Energy > 0 {
			groups[s.Chip] = append(groups[s.Chip], p.energyObservation(s))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		chip := p.Chips[name]
		constants := energyConstants(&chip)
		for range 400 {
			for i, c := range constants {
				num, den := 0.0, 0.0
				for _, o := range groups[name] {
					sum := o.known
					for j, t := range o.terms {
						sum += float64(t * constants[j].Value)
					}
					e := (sum - o.measured) / o.measured
					k := o.times
					if a := math.Abs(e); a > threshold {
						k *= threshold / a
					}
					x := o.terms[i] / o.measured
					num += float64(k * x * (float64(c.Value*x) - e))
					den += float64(k * x * x)
				}
				if den > 0 {
					c.Value = min(max(num/den, energyBounds[i][0]), energyBounds[i][1])
				}
			}
		}
		p.Chips[name] = chip
	}
}
