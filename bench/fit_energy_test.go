package bench

import (
	"maps"
	"math"
	"slices"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// energyTerms is the number of constants of a chip's energy that enter it linearly.
const energyTerms = 5

// energyConstants are those of a chip's energy, each with its least and greatest value.
func energyConstants(c *hw.Chip) [energyTerms]*evidence.Constant {
	return [...]*evidence.Constant{&c.DispatchEnergy, &c.MACEnergy, &c.DRAMEnergy, &c.ActivePower, &c.WaitPower}
}

// What an event can cost: a dispatch at most a little more than the public fits (0.158 and
// 0.183 mJ, which hold the wait too) and a quarter of them at least, a multiply-accumulate
// between a fifth of and twice their 2 pJ, a byte of memory at most twice their 37 pJ,
// powered engines half of the highest rail seen, and a rail that waits no more than that
// of a dispatch-bound loop (0.85 W).
var energyBounds = [energyTerms][2]float64{{0.04e6, 0.21e6}, {0.4, 4}, {1, 75}, {0, 3}, {0.05, 0.85}}

// Rails let go between the shortest calls that were measured and RailsOff.
const minHold, maxHold = 0.5e6, 100e6

// holdRows are the energies a session must have for a hold time of its own.
const holdRows = 4

// energyObservation is a row's events: what each constant is multiplied by to make
// nanojoules.
type energyObservation struct {
	terms    [energyTerms]float64 // the last for the session's hold
	engines  int
	host     clock.Nanoseconds
	preset   string
	known    float64 // nJ of events whose cost is not fitted
	measured float64 // nJ
	times    float64 // how much the row counts
}

func (p *Presets) energyObservation(s *Sample) energyObservation {
	e, chip := p.Estimate(s), p.Chips[s.Chip]
	chip.WaitPower.Value = 0
	return energyObservation{
		terms:   [...]float64{1, float64(e.MACs-e.ZeroMACs) / 1e3, float64(e.DMA.Total()) / 1e3, float64(e.Engine), 0},
		engines: e.Engines, host: e.Host, preset: s.Host,
		known: float64(chip.TableEnergy.Value*float64(e.Lookups)/1e3) + float64(chip.L2Energy.Value*float64(e.L2)/1e3) +
			float64(chip.ZeroMACEnergy.Value*float64(e.ZeroMACs)/1e3) - float64(chip.EngineStep.Value*float64(e.Spared)) +
			float64(chip.Waiting(e.Engines, e.Host)),
		measured: s.Row.Energy * 1e6,
		times:    importance(s.Row.Tier),
	}
}

// error is the relative error that constants make of an observation.
func (o *energyObservation) error(constants *[energyTerms]*evidence.Constant) float64 {
	sum := o.known
	for j, t := range o.terms {
		sum += float64(t * constants[j].Value)
	}
	return (sum - o.measured) / o.measured
}

// hold gives observations of a preset the wait of a hold time: that of a rail of 1 W.
func hold(obs []energyObservation, preset string, time float64) {
	for i := range obs {
		if o := &obs[i]; o.preset == preset {
			o.terms[energyTerms-1] = heldFor(o.host, time)
		}
	}
}

// heldFor is the nanojoules that a rail of 1 W draws in a wait.
func heldFor(wait clock.Nanoseconds, hold float64) float64 {
	c := hw.Chip{WaitPower: evidence.Constant{Value: 1}, HoldTime: evidence.Constant{Value: hold}}
	return float64(c.Waiting(0, wait))
}

// fitEnergy fits every chip's constants and the hold times of its machines.
func (p *Presets) fitEnergy(samples []Sample) {
	groups := make(map[string][]energyObservation)
	for i := range samples {
		if s := &samples[i]; s.Row.Energy > 0 {
			groups[s.Chip] = append(groups[s.Chip], p.energyObservation(s))
		}
	}
	for name, h := range p.Hosts {
		h.Hold.Value = 0 // none of its own
		p.Hosts[name] = h
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		chip := p.Chips[name]
		for preset, time := range solveEnergy(&chip, groups[name]) {
			h := p.Hosts[preset]
			h.Hold.Value = time
			p.Hosts[preset] = h
		}
		p.Chips[name] = chip
	}
}

// solveEnergy fits a chip's constants by coordinate descent on reweighted squares of
// relative errors, within their bounds, and between rounds the hold times by the loss. It
// returns those of presets with rows enough for one of their own.
func solveEnergy(chip *hw.Chip, obs []energyObservation) map[string]float64 {
	rows := make(map[string]int)
	for i := range obs {
		rows[obs[i].preset]++
	}
	presets := slices.Sorted(maps.Keys(rows))
	own, times := make(map[string]float64), make(map[string]float64)
	set := func(preset string, time float64) {
		times[preset] = time
		hold(obs, preset, time)
	}
	for _, name := range presets {
		set(name, chip.HoldTime.Value)
		if rows[name] >= holdRows {
			own[name] = chip.HoldTime.Value
		}
	}
	constants := energyConstants(chip)
	loss := func() (sum float64) {
		for i := range obs {
			sum += float64(obs[i].times * huber(obs[i].error(&constants)))
		}
		return sum
	}
	const rounds, steps = 60, 10
	for range rounds {
		for range steps {
			descend(&constants, obs)
		}
		logs := 0.0
		for _, name := range presets {
			if _, ok := own[name]; !ok {
				continue
			}
			best, least, from := times[name], loss(), times[name]
			for _, by := range [...]float64{0.5, 0.7, 0.9, 0.97, 1.03, 1.1, 1.4, 2} {
				set(name, min(max(from*by, minHold), maxHold))
				if l := loss(); l < least {
					best, least = times[name], l
				}
			}
			set(name, best)
			own[name] = best
			logs += math.Log(best)
		}
		if len(own) > 0 {
			chip.HoldTime.Value = math.Exp(logs / float64(len(own)))
		}
		for _, name := range presets {
			if _, ok := own[name]; !ok {
				set(name, chip.HoldTime.Value)
			}
		}
	}
	return own
}

// descend is a round of coordinate descent.
func descend(constants *[energyTerms]*evidence.Constant, obs []energyObservation) {
	for i, c := range constants {
		num, den := 0.0, 0.0
		for k := range obs {
			o := &obs[k]
			e := o.error(constants)
			w := o.times
			if a := math.Abs(e); a > threshold {
				w *= threshold / a
			}
			x := o.terms[i] / o.measured
			num += float64(w * x * (float64(c.Value*x) - e))
			den += float64(w * x * x)
		}
		if den > 0 {
			c.Value = min(max(num/den, energyBounds[i][0]), energyBounds[i][1])
		}
	}
}
