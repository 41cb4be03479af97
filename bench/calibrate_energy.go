package bench

import (
	"maps"
	"slices"

	"anesim/hw"
)

// energyTerms is the number of constants of a chip's energy.
const energyTerms = 7

// energyConstants are those of a chip's energy, each with its least and greatest value.
func energyConstants(c *hw.Chip) [energyTerms]*hw.Constant {
	return [...]*hw.Constant{&c.DispatchEnergy, &c.MACEnergy, &c.TableEnergy, &c.L2Energy, &c.DRAMEnergy, &c.ActivePower, &c.WaitPower}
}

// What an event can cost: a multiply-accumulate between a fifth of and twice the 2 pJ of
// the public fits, a byte of memory at most twice their 37 pJ, a powered engine at most
// the highest rail seen.
var energyBounds = [energyTerms][2]float64{{0, 0.4e6}, {0.4, 4}, {0.1, 100}, {0.1, 20}, {1, 75}, {0, 3}, {0, 0.4}}

// energyObservation is a row's events: what each constant is multiplied by to make
// nanojoules.
type energyObservation struct {
	terms    [energyTerms]float64
	measured float64 // nJ
}

func (p *Presets) energyObservation(s *Sample) energyObservation {
	e := p.Estimate(s)
	return energyObservation{
		[...]float64{1, float64(e.MACs) / 1e3, float64(e.Lookups) / 1e3, float64(e.L2) / 1e3, float64(e.DMA.Total()) / 1e3, float64(e.Engine), float64(e.Host)},
		s.Row.Energy * 1e6,
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
					sum := 0.0
					for j, t := range o.terms {
						sum += float64(t * constants[j].Value)
					}
					e := (sum - o.measured) / o.measured
					k := 1.0
					if e > threshold {
						k = threshold / e
					} else if e < -threshold {
						k = -threshold / e
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
