package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/internal/measured"
)

// A free constant is one that the measurements decide, within physical bounds.
type free struct {
	name      string
	low, high float64
	at        func(*hw.Chip) *evidence.Constant
	chip      string // empty for both chips
}

// freeConstants returns the constants of the engine's time that can only be fitted to whole calls,
// with their bounds.
func freeConstants() []free {
	read := func(c *hw.Chip) *evidence.Constant { return &c.ReadRate }
	return []free{
		// The weight stream was measured at 58-60 GB/s with a host's part in it. Each of 64
		// banks takes one element a cycle at most, and the planar engine no more. Of
		// coefficients on their way the array waits for all or for next to none.
		{"ReadRate", 50e9, 68e9, read, "m1"},
		{"ReadRate", 50e9, 68e9, read, "m1max"},
		{"TransposeRate", 4, 64, func(c *hw.Chip) *evidence.Constant { return &c.TransposeRate }, ""},
		{"PlanarRate", 10e9, 91e9, func(c *hw.Chip) *evidence.Constant { return &c.PlanarRate }, ""},
		{"KernelOverlap", 0.05, 1, func(c *hw.Chip) *evidence.Constant { return &c.KernelOverlap }, ""},
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
// engine's constants are searched by a simplex, in logarithms between their bounds. The
// error is the search's.
func (f *Fit) Calibrate(samples []Sample) error {
	frees, start := freeConstants(), f.Presets
	x := make([]float64, len(frees))
	for i := range frees {
		x[i] = frees[i].place(&start)
	}
	best, least := start.clone(), math.Inf(1)
	problem := optimize.Problem{Func: func(x []float64) float64 {
		p := start.clone()
		for i := range frees {
			frees[i].put(&p, x[i])
		}
		loss := p.fitHosts(samples, start.Hosts)
		if loss < least {
			best, least = p, loss
		}
		return loss
	}}
	// The loss has more than one valley along what rows hardly bind, so that every start
	// puts those constants elsewhere.
	for _, shift := range [...]float64{0, -valley, valley} {
		from := slices.Clone(x)
		for i := range frees {
			if frees[i].chip == "" {
				from[i] += shift
			}
		}
		settings := optimize.Settings{
			FuncEvaluations: cmp.Or(f.Evaluations, defaultEvaluations),
			Converger:       &optimize.FunctionConverge{Absolute: converged, Iterations: patience},
		}
		if _, err := optimize.Minimize(problem, from, &settings, &optimize.NelderMead{SimplexSize: firstStep}); err != nil {
			return fmt.Errorf("calibration: %w", err)
		}
	}
	best.pool(samples)
	best.fitEnergy(samples)
	f.Presets = best
	return nil
}

const (
	firstStep          = 0.8 // of a place
	valley             = 2   // of a place
	converged          = 1e-5
	patience           = 40 // steps without a better loss
	defaultEvaluations = 1000
)

// place maps the value of the constant to an unbounded number: the position between the logarithms
// of its bounds, with 0 in the middle.
func (c *free) place(p *Presets) float64 {
	chip := p.Chips[cmp.Or(c.chip, "m1")]
	const margin = 1e-3 // a bound itself is infinitely far
	t := math.Log(c.at(&chip).Value/c.low) / math.Log(c.high/c.low)
	t = min(max(t, margin), 1-margin)
	return math.Log(t / (1 - t))
}

// put sets the constant to the value whose place is the given one.
func (c *free) put(p *Presets, place float64) {
	t := 1 / (1 + math.Exp(-place))
	for name, chip := range p.Chips {
		if c.chip == "" || c.chip == name {
			c.at(&chip).Value = c.low * math.Pow(c.high/c.low, t)
			p.Chips[name] = chip
		}
	}
}

func (p *Presets) clone() Presets { return Presets{maps.Clone(p.Chips), maps.Clone(p.Hosts)} }

// importance returns the weight of a row in the fit. Rows whose time is mostly host time have a low
// weight, because they contain little information about the engine, and so have rows at a low clock,
// whose clock and memory rate are inferred from other rows.
func importance(r *measured.Row) float64 {
	if r.Tier == "T2" || r.Clock > 0 {
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

// An observation is a host's row: the terms and the time that the engine leaves to them.
type observation struct {
	terms  host.Vector
	left   float64 // microseconds
	weight float64 // 1 / latency
	times  float64 // how much the row counts
}

// fitHosts fits the constants of every host and returns the loss over all rows.
func (p *Presets) fitHosts(samples []Sample, prior map[string]host.Host) float64 {
	groups := make(map[string][]observation)
	for i := range samples {
		s := &samples[i]
		us := s.Row.Warm()
		if us == 0 || s.Row.Unexplained {
			continue
		}
		e := s.Chain.estimate(p.chipOf(s), host.Host{})
		groups[s.Host] = append(groups[s.Host], observation{
			s.Chain.Host.Terms(), us - float64(e.Engine)/1e3, 1 / us, importance(s.Row),
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

// solveHost fits the non-zero constants of a preset, within values of at least 0, by coordinate
// descent on reweighted squares. The prior keeps constants with little evidence near their earlier
// values: tightly for the fixed time, which was measured on every kind of host (164-190 us under
// macOS, 38-42 us under Linux), and loosely for the others.
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

// priorWeights returns the weight of the prior of constant i, as a number of rows that depend on
// this constant alone.
func priorWeights(i int) float64 {
	if i == 0 {
		return 5
	}
	return 0.1
}
