package bench

import (
	"fmt"
	"math"
	"slices"
)

// A Pair holds an estimate and the measured value, in the same unit.
type Pair struct{ Model, Reference float64 }

// Error returns the relative error of the estimate, such as 0.1 if the estimate is ten percent too
// large.
func (p Pair) Error() float64 { return (p.Model - p.Reference) / p.Reference }

// Near is the largest relative error that Summary.Near counts. Publications about models of similar
// engines call it good accuracy.
const Near = 0.17

// A Summary holds statistics of relative errors. All but Bias are of their magnitudes.
type Summary struct {
	N      int
	Median float64
	Bias   float64 // median of the errors with their signs
	P90    float64 // 90th percentile
	Near   float64 // fraction of pairs with an error of at most Near
}

// A PairError reports a pair whose relative error cannot be computed, because a number is not
// finite or the measured value is not positive.
type PairError struct {
	Index int
	Pair  Pair
}

// Error returns a message with the index and the values of the pair.
func (e *PairError) Error() string {
	return fmt.Sprintf("pair %d has no relative error: model is %g and reference is %g; want finite numbers and a positive reference", e.Index, e.Pair.Model, e.Pair.Reference)
}

// Summarize returns statistics of the relative errors of pairs. The quantiles are interpolated
// linearly between the sorted errors. Without pairs, Summarize returns a zero Summary. The error is
// a *[PairError].
func Summarize(pairs []Pair) (Summary, error) {
	if len(pairs) == 0 {
		return Summary{}, nil
	}
	errs, signed, near := make([]float64, len(pairs)), make([]float64, len(pairs)), 0
	for i, p := range pairs {
		signed[i] = p.Error()
		e := math.Abs(signed[i])
		if !(p.Reference > 0) || math.IsInf(p.Reference, 0) || math.IsNaN(e) || math.IsInf(e, 0) {
			return Summary{}, &PairError{i, p}
		}
		if e <= Near {
			near++
		}
		errs[i] = e
	}
	slices.Sort(errs)
	slices.Sort(signed)
	return Summary{
		N:      len(errs),
		Median: quantile(0.5, errs),
		Bias:   quantile(0.5, signed),
		P90:    quantile(0.9, errs),
		Near:   float64(near) / float64(len(errs)),
	}, nil
}

// quantile returns the quantile at p, between 0 and 1, of sorted values. Value i of n is the
// quantile at i/(n-1); others are interpolated linearly. The result is the same on every machine,
// because sums and products are rounded separately.
func quantile(p float64, sorted []float64) float64 {
	at := float64(p * float64(len(sorted)-1))
	i := int(at)
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	part := at - float64(i)
	return float64(sorted[i]*(1-part)) + float64(sorted[i+1]*part)
}

// String returns the statistics on one line, such as "n 120, median 4.1%, bias -0.5%, p90 17.0%, within
// 17%: 90%".
func (s Summary) String() string {
	return fmt.Sprintf("n %d, median %.1f%%, bias %+.1f%%, p90 %.1f%%, within %.0f%%: %.0f%%",
		s.N, 100*s.Median, 100*s.Bias, 100*s.P90, 100*Near, 100*s.Near)
}
