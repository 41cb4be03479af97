package bench

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// energyTerms is the number of constants of a chip's energy that enter it linearly.
const energyTerms = 5

// energyConstants returns pointers to the fitted energy constants of a chip.
func energyConstants(c *hw.Chip) [energyTerms]*evidence.Constant {
	return [...]*evidence.Constant{&c.MACEnergy, &c.DRAMEnergy, &c.PlanarEnergy, &c.TableEnergy, &c.ActivePower}
}

// What an event can cost: a multiply-accumulate between a fifth of and twice the 2 pJ of the public
// fits, a byte of memory at most twice their 37 pJ, an element of the planar engine and a look-up in
// a table as much as fifty multiply-accumulates, and a powered rail, at work or waiting, no more than
// that of a dispatch-bound loop (0.85 W). A dispatch itself costs nothing: with a term of its own
// from 0 up, both chips get 0, and short calls that the fit did not see are further off.
var energyBounds = [energyTerms][2]float64{{0.4, 4}, {1, 75}, {0, 100}, {0, 100}, {0.05, 0.85}}

// Rails let go between the shortest calls that were measured and RailsOff.
const minHold, maxHold, holdStep = 0.5e6, 100e6, 1.25

// holdRows are the energies a session must have for a hold time of its own.
const holdRows = 4

// energyObservation is a row's events: the factor of each constant that makes
// nanojoules.
type energyObservation struct {
	terms    [energyTerms]float64 // the last with the session's hold
	engine   clock.Nanoseconds
	host     clock.Nanoseconds
	preset   string
	known    float64 // nJ of events whose cost is not fitted
	measured float64 // nJ
	times    float64 // how much the row counts
}

func (p *Presets) energyObservation(s *Sample) energyObservation {
	e, chip := p.estimate(s), p.chipOf(s)
	chip.ActivePower.Value = 0
	return energyObservation{
		terms:  [...]float64{float64(e.MACs-e.ZeroMACs) / 1e3, float64(e.DMA.Total()) / 1e3, float64(e.Planar) / 1e3, float64(e.Lookups) / 1e3, 0},
		engine: e.Engine, host: e.Host, preset: s.Host,
		known: float64(chip.L2Energy.Value*float64(e.L2)/1e3) +
			float64(chip.ZeroMACEnergy.Value*float64(e.ZeroMACs+e.ZeroTaps)/1e3) - float64(chip.EngineStep.Value*float64(e.Spared)) +
			float64(chip.Waiting(e.Engines, e.Host)),
		measured: s.Row.Energy * 1e6,
		times:    importance(s.Row),
	}
}

// error returns the relative error of the energy that constants predict for an observation.
func (o *energyObservation) error(constants *[energyTerms]*evidence.Constant) float64 {
	sum := o.known
	for j, t := range o.terms {
		sum += float64(t * constants[j].Value)
	}
	return (sum - o.measured) / o.measured
}

// hold sets the last term of the preset's observations for a hold time: the energy that a supply
// rail of 1 W draws while it works and waits.
func hold(obs []energyObservation, preset string, time float64) {
	for i := range obs {
		if o := &obs[i]; o.preset == preset {
			o.terms[energyTerms-1] = float64(o.engine) + heldFor(o.host, time)
		}
	}
}

// heldFor returns the energy in nanojoules that a supply rail of 1 W with the given hold time draws
// during a wait.
func heldFor(wait clock.Nanoseconds, hold float64) float64 {
	c := hw.Chip{ActivePower: evidence.Constant{Value: 1}, HoldTime: evidence.Constant{Value: hold}}
	return float64(c.Waiting(0, wait))
}

// fitEnergy fits the energy constants of every chip and the hold times of its machines.
func (p *Presets) fitEnergy(samples []Sample) {
	groups := make(map[string][]energyObservation)
	for i := range samples {
		if s := &samples[i]; s.Row.Energy > 0 && !s.Row.Unexplained {
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

// solveEnergy fits the energy constants of a chip, within their bounds, by reweighted least squares
// of the relative errors. It also fits the hold time of each preset, chosen from a list of values.
// The loss has several local minima in the hold times, so the search starts several times, with all
// presets at the same value. solveEnergy returns the hold times of the presets with enough rows.
func solveEnergy(chip *hw.Chip, obs []energyObservation) map[string]float64 {
	rows := make(map[string]int)
	for i := range obs {
		rows[obs[i].preset]++
	}
	presets := slices.Sorted(maps.Keys(rows))
	owners := slices.DeleteFunc(slices.Clone(presets), func(name string) bool { return rows[name] < holdRows })
	var ladder []float64
	for t := minHold; t <= maxHold; t *= holdStep {
		ladder = append(ladder, t)
	}
	constants := energyConstants(chip)
	// try fits the constants to hold times, presets without one holding for the mean.
	try := func(own map[string]float64) float64 {
		mean := meanHold(own, chip.HoldTime.Value)
		for _, name := range presets {
			hold(obs, name, cmp.Or(own[name], mean))
		}
		return solveLinear(&constants, obs)
	}
	for i, c := range constants {
		c.Value = (energyBounds[i][0] + energyBounds[i][1]) / 2
	}
	best, least := map[string]float64{}, math.Inf(1)
	for start := 0; start < len(ladder) && len(owners) > 0; start += 4 {
		own := make(map[string]float64)
		for _, name := range owners {
			own[name] = ladder[start]
		}
		loss := try(own)
		for better := true; better; {
			better = false
			for _, name := range owners {
				was := own[name]
				for _, t := range ladder {
					from := own[name]
					own[name] = t
					if l := try(own); l < loss-lossStep {
						loss = l
					} else {
						own[name] = from
					}
				}
				better = better || own[name] != was
			}
		}
		if loss < least {
			best, least = own, loss
		}
	}
	try(best)
	chip.HoldTime.Value = meanHold(best, chip.HoldTime.Value)
	return best
}

// lossStep is the smallest fall of a loss that counts.
const lossStep = 1e-9

// meanHold returns the geometric mean of hold times, or stands if there are none.
func meanHold(times map[string]float64, fallback float64) float64 {
	if len(times) == 0 {
		return fallback
	}
	logs := 0.0
	for _, name := range slices.Sorted(maps.Keys(times)) {
		logs += math.Log(times[name])
	}
	return math.Exp(logs / float64(len(times)))
}

// solveLinear fits the constants that enter the energy linearly, starting at their current values,
// and returns the loss.
func solveLinear(constants *[energyTerms]*evidence.Constant, obs []energyObservation) (loss float64) {
	const rounds, settled = 2000, 1e-7
	for range rounds {
		if descend(constants, obs) < settled {
			break
		}
	}
	for i := range obs {
		loss += float64(obs[i].times * huber(obs[i].error(constants)))
	}
	return loss
}

// descend performs one round of coordinate descent. It returns the largest step, as a fraction of
// the range between the bounds.
func descend(constants *[energyTerms]*evidence.Constant, obs []energyObservation) (largest float64) {
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
			was, low, high := c.Value, energyBounds[i][0], energyBounds[i][1]
			c.Value = min(max(num/den, low), high)
			largest = max(largest, math.Abs(c.Value-was)/(high-low))
		}
	}
	return largest
}
