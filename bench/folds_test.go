package bench

import (
	"maps"
	"math"
	"slices"
	"strings"

	"anesim/hw/host"
)

// CrossValidate leaves every fold out once, fits the rest and says what the fit makes of
// the fold, in the order of samples.
func (f *Fit) CrossValidate(samples []Sample, by Protocol) ([]Residual, error) {
	folds := make(map[string][]int)
	for i := range samples {
		k := by.fold(&samples[i])
		folds[k] = append(folds[k], i)
	}
	out := make([]Residual, len(samples))
	for _, k := range slices.Sorted(maps.Keys(folds)) {
		list, err := f.without(samples, by, k)
		if err != nil {
			return nil, err
		}
		for n, i := range folds[k] {
			out[i] = list[n]
		}
	}
	return out, nil
}

// without fits samples without a fold and says what the fit makes of the fold's, in order.
func (f *Fit) without(samples []Sample, by Protocol, fold string) (list []Residual, err error) {
	var rest []Sample
	for i := range samples {
		if by.fold(&samples[i]) != fold {
			rest = append(rest, samples[i])
		}
	}
	g := *f
	if err := g.Calibrate(rest); err != nil {
		return nil, err
	}
	for i := range samples {
		if by.fold(&samples[i]) == fold {
			list = append(list, g.Presets.newResidual(&samples[i]))
		}
	}
	return list, nil
}

// pool gives the presets that no sample is of the constants of their kind: the geometric
// mean of each constant over the presets that have rows, where most of those have it.
func (p *Presets) pool(samples []Sample) {
	seen := make(map[string]bool)
	for i := range samples {
		seen[samples[i].Host] = true
	}
	for name, h := range p.Hosts {
		if seen[name] || name == noHost {
			continue
		}
		v := h.Values()
		for i := range v {
			sum, n, all := 0.0, 0, 0
			for _, other := range slices.Sorted(maps.Keys(p.Hosts)) {
				if !seen[other] || hostKind(other) != hostKind(name) {
					continue
				}
				all++
				o := p.Hosts[other]
				if c := o.Values()[i]; c > 0 {
					sum += math.Log(c)
					n++
				}
			}
			if all > 0 {
				v[i] = 0
			}
			if 2*n > all && !slices.Contains(host.StateTerms(), i) {
				v[i] = math.Exp(sum / float64(n))
			}
		}
		h.Set(v)
		p.Hosts[name] = h
	}
}

// fold is what samples of one fold have in common.
func (p Protocol) fold(s *Sample) string {
	switch p {
	case BySession:
		return s.Session
	case ByKind:
		return workKind(s.Row)
	}
	return shapeKey(s.Row)
}

// hostKind is what presets have in common whose constants stand in for each other's: the
// operating system.
func hostKind(preset string) string {
	kind, _, _ := strings.Cut(preset, "-")
	return kind
}
