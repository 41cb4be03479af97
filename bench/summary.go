package bench

import (
	"fmt"
	"math"
	"slices"
)

// A Pair is one number of the model beside the number it is held against, in one unit.
type Pair struct{ Model, Reference float64 }

// Error is the model's relative error: 0.1 is ten per cent too much.
func (p Pair) Error() float64 { return (p.Model - p.Reference) / p.Reference }

// Near is the relative error that Summary.Near counts up to: the accuracy that published
// models of such engines call good.
const Near = 0.17

// A Summary says how far a model is from its references: statistics of the magnitudes of
// the relative errors.
type Summary struct {
	N      int
	Median float64
	P90    float64 // 90th percentile
	Near   float64 // share of pairs within Near
}

// A PairError is a pair without a relative error: a number that is not finite, or a
// reference that is not positive.
type PairError struct {
	Index int
	Pair  Pair
}

func (e *PairError) Error() string {
	return fmt.Sprintf("pair %d: model %g, reference %g: no relative error", e.Index, e.Pair.Model, e.Pair.Reference)
}

// Summarize summarizes pairs; of none it is zero. The error is a *PairError. Quantiles
// lie on straight lines between the sorted errors, the first at 0 and the last at 1 (the
// usual median, and the default of most packages).
func Summarize(pairs []Pair) (Summary, error) {
	if len(pairs) == 0 {
		return Summary{}, nil
	}
	errs, near := make([]float64, len(pairs)), 0
	for i, p := range pairs {
		e := math.Abs(p.Error())
		if !(p.Reference > 0) || math.IsInf(p.Reference, 0) || math.IsNaN(e) || math.IsInf(e, 0) {
			return Summary{}, &PairError{i, p}
		}
		if e <= Near {
			near++
		}
		errs[i] = e
	}
	slices.Sort(errs)
	return Summary{
		N:      len(errs),
		Median: quantile(0.5, errs),
		P90:    quantile(0.9, errs),
		Near:   float64(near) / float64(len(errs)),
	}, nil
}

// quantile is the quantile at p of sorted values: value i of n stands at i/(n-1), from 0 on,
// with straight lines between. No product is fused with a sum, so that it is the same on
// every machine; the library's is not.
func quantile(p float64, sorted []float64) float64 {
	at := float64(p * float64(len(sorted)-1))
	i := int(at)
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	part := at - float64(i)
	return float64(sorted[i]*(1-part)) + float64(sorted[i+1]*part)
}

// String is the summary on one line, errors in per cent.
func (s Summary) String() string {
	return fmt.Sprintf("n %d, median %.1f%%, p90 %.1f%%, within %.0f%%: %.0f%%",
		s.N, 100*s.Median, 100*s.P90, 100*Near, 100*s.Near)
}
