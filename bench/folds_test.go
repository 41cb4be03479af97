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

// without fits the samples outside a fold and returns the residuals of the samples in the fold, in
// order.
func (f *Fit) without(samples []Sample, protocol Protocol, fold string) (list []Residual, err error) {
	var rest []Sample
	for i := range samples {
		if protocol.fold(&samples[i]) != fold {
			rest = append(rest, samples[i])
		}
	}
	g := *f
	if err := g.Calibrate(rest); err != nil {
		return nil, err
	}
	for i := range samples {
		if protocol.fold(&samples[i]) == fold {
			list = append(list, g.Presets.newResidual(&samples[i]))
		}
	}
	return list, nil
}

// pool sets the constants of each preset without samples to the geometric means over the presets of
// the same operating system that have samples, for each constant that most of those have.
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

// fold returns the name of the fold to which a sample belongs.
func (p Protocol) fold(s *Sample) string {
	switch p {
	case BySession:
		return s.Session
	case ByKind:
		return workKind(s.Row)
	}
	return shapeKey(s.Row)
}

// hostKind returns the operating system of a host preset, such as "macos". Presets with the same
// operating system share constants.
func hostKind(preset string) string {
	kind, _, _ := strings.Cut(preset, "-")
	return kind
}
