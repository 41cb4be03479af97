package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"anesim/bench/host"
	"anesim/hw"
)

// A free constant is one the measurements decide, within what is physical.
type free struct {
	name      string
	low, high float64
	at        func(*hw.Chip) *hw.Constant
	chip      string // empty for both chips
}

// freeConstants are those of the engine's time.
func freeConstants() []free {
	read := func(c *hw.Chip) *hw.Constant { return &c.ReadRate }
	total := func(c *hw.Chip) *hw.Constant { return &c.TotalRate }
	return []free{
		// The weight stream was measured at 58-60 GB/s with a host's part in it, all
		// traffic at 68 on the M1 and 79-90 on the M1 Max. A descriptor takes at least the
		// vendor's 44 cycles and at most 2.8 us measured; each of 64 banks takes one
		// element a cycle at most, and the planar engine no more.
		{"ReadRate", 50e9, 68e9, read, "m1"},
		{"ReadRate", 50e9, 68e9, read, "m1max"},
		{"TotalRate", 55e9, 68e9, total, "m1"},
		{"TotalRate", 79e9, 90e9, total, "m1max"},
		{"TaskOverhead", 31, 2800, func(c *hw.Chip) *hw.Constant { return &c.TaskOverhead }, ""},
		{"TransposeRate", 4, 64, func(c *hw.Chip) *hw.Constant { return &c.TransposeRate }, ""},
		{"PlanarRate", 10e9, 91e9, func(c *hw.Chip) *hw.Constant { return &c.PlanarRate }, ""},
	}
}

// A Fit calibrates presets on samples.
type Fit struct {
	Presets Presets
	// Evaluations bounds the search; 0 is enough for a first fit.
	Evaluations int
}

// Calibrate fits the free constants of the engine and the hosts to the latencies. The
// loss is the sum of Huber losses of relative errors: an outlier pulls no harder than a
// row at the threshold. Hosts enter linearly and are solved for inside each step; the
// engine's constants are searched along their axes, in logarithms, with steps that halve
// when none helps.
func (f *Fit) Calibrate(samples []Sample) {
	frees, prior := freeConstants(), f.Presets.Hosts
	best := f.Presets.clone()
	least := best.fitHosts(samples, prior)
	left := cmp.Or(f.Evaluations, defaultEvaluations)
	for step := firstStep; step > lastStep && left > 0; {
		improved := false
		for i := range frees {
			for _, by := range [...]float64{math.Exp(step), math.Exp(-step)} {
				p := best.clone()
				frees[i].scale(&p, by)
				left--
				if l := p.fitHosts(samples, prior); l < least {
					best, least, improved = p, l, true
					break
				}
			}
		}
		if !improved {
			step /= 2
		}
	}
	best.fitEnergy(samples)
	f.Presets = best
}

const (
	firstStep          = 0.4 // of a logarithm
	lastStep           = 0.004
	defaultEvaluations = 1000
)

// scale multiplies a constant, within its bounds.
func (c *free) scale(p *Presets, by float64) {
	for name, chip := range p.Chips {
		if c.chip == "" || c.chip == name {
			k := c.at(&chip)
			k.Value = min(max(k.Value*by, c.low), c.high)
			p.Chips[name] = chip
		}
	}
}

func (p *Presets) clone() Presets { return Presets{maps.Clone(p.Chips), maps.Clone(p.Hosts)} }

// importance is how much a row counts: those that the host dominates say little of the
// engine.
func importance(tier string) float64 {
	if tier == "T2" {
		return 1
	}
	return 3
}

// threshold is the relative error from which the loss grows linearly.
const threshold = 0.03

func huber(e float64) float64 {
	if e = math.Abs(e); e > threshold {
		return threshold * (e - threshold/2)
	}
	return e * e / 2
}

// An observation is a host's row: what the terms must make of what the engine leaves.
type observation struct {
	terms  host.Vector
	left   float64 // microseconds
	weight float64 // 1 / latency
	times  float64 // how much the row counts
}

// fitHosts solves for every host and returns the loss over all rows.
func (p *Presets) fitHosts(samples []Sample, prior map[string]host.Host) float64 {
	groups := make(map[string][]observation)
	for i := range samples {
		s := &samples[i]
		if s.Row.Latency == 0 {
			continue
		}
		e := s.Chain.Estimate(p.Chips[s.Chip], host.Host{})
		groups[s.Host] = append(groups[s.Host], observation{
			s.Chain.Host.Terms(), s.Row.Latency - float64(e.Engine)/1e3, 1 / s.Row.Latency, importance(s.Row.Tier),
		})
	}
	loss := 0.0
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		h := p.Hosts[name]
		before := prior[name]
		solveHost(&h, &before, groups[name])
		p.Hosts[name] = h
		v := h.Values()
		for _, o := range groups[name] {
			loss += float64(o.times * huber(o.error(v)))
		}
	}
	return loss
}

func (o *observation) error(v host.Vector) float64 {
	e := -o.left
	for i, t := range o.terms {
		e += float64(v[i] * t)
	}
	return e * o.weight
}

// solveHost fits the constants a preset has (those that are not zero) by coordinate
// descent on reweighted squares, never below zero. Priors keep constants with little
// evidence where they were: tightly the floor, which was measured by itself on every
// kind of host (164-190 us under macOS, 38-42 us under Linux), loosely the others.
func solveHost(h, prior *host.Host, obs []observation) {
	v, before := prior.Values(), prior.Values()
	var weight host.Vector
	for i, b := range before {
		if b > 0 {
			weight[i] = priorWeights(i) / (b * b)
		}
	}
	for range 60 {
		for i := range v {
			if before[i] == 0 {
				continue
			}
			num, den := weight[i]*before[i], weight[i]
			for _, o := range obs {
				e := o.error(v)
				k := o.times
				if a := math.Abs(e); a > threshold {
					k *= threshold / a
				}
				x := o.terms[i] * o.weight
				num += float64(k * x * (float64(v[i]*x) - e))
				den += float64(k * x * x)
			}
			v[i] = max(0, num/den)
		}
	}
	h.Set(v)
}

// priorWeights are in rows: how many that rest on one constant alone weigh as much.
func priorWeights(i int) float64 {
	if i == 0 {
		return 5
	}
	return 0.1
}

// A Residual is a row beside the model's word on it.
type Residual struct {
	Sample *Sample
	Time   Pair // nanoseconds; the reference is 0 when no latency was published
	Energy Pair // nanojoules; likewise
}

func (p *Presets) residual(s *Sample) Residual {
	e := p.Estimate(s)
	return Residual{
		Sample: s,
		Time:   Pair{float64(e.Wall()), s.Row.Latency * 1e3},
		Energy: Pair{float64(e.Energy), s.Row.Energy * 1e6},
	}
}

// shape is what rows of one fold have in common.
func (s *Sample) shape() string {
	return fmt.Sprintf("%s %+v %s", s.Row.Op, s.Row.Shape, s.Row.Weights)
}

// CrossValidate leaves every shape out once, on all machines at once, fits the rest and
// says what the fit makes of it.
func (f *Fit) CrossValidate(samples []Sample) []Residual {
	folds := make(map[string][]int)
	for i := range samples {
		k := samples[i].shape()
		folds[k] = append(folds[k], i)
	}
	var out []Residual
	for _, k := range slices.Sorted(maps.Keys(folds)) {
		var rest []Sample
		for i := range samples {
			if samples[i].shape() != k {
				rest = append(rest, samples[i])
			}
		}
		g := Fit{f.Presets, f.Evaluations}
		g.Calibrate(rest)
		for _, i := range folds[k] {
			out = append(out, g.Presets.residual(&samples[i]))
		}
	}
	return out
}
