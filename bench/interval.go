package bench

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/measured"
	"anesim/hw"
)

// An Interval is a prediction interval for the time of a call. It is meant to contain the fraction
// [hw.IntervalShare] of measurements. Rows is the number of measured rows on whose errors it is
// based.
type Interval struct {
	Low, High float64 // nanoseconds of a call
	Rows      int
}

// Holds reports whether a time of ns nanoseconds lies within the interval.
func (i Interval) Holds(ns float64) bool { return i.Low <= ns && ns <= i.High }

// leastRows is the smallest number of rows from which an interval is computed. A group with fewer
// rows uses the rows of a larger group.
const leastRows = 8

// leastTrials is the smallest number of rows from which the width of intervals is computed. Bounds
// that must hold four of five rows and one more would have to hold all of eight.
const leastTrials = 20

// A ratio is the measured time of a row divided by the prediction of a fit without it, with the
// properties by which rows are grouped.
type ratio struct {
	value  float64
	preset string
	folds  [numProtocols]string
	kind   string
	state  string
	engine bool // the row is in a tier whose time is largely the engine's
}

// A Spreads computes prediction intervals from the errors of the model's estimates for measured
// rows. It is not safe for concurrent use.
type Spreads struct {
	ratios [numProtocols][]ratio
	rows   map[string]int                    // by preset
	runs   map[string]map[string]bool        // sessions by preset
	widen  map[string]map[widthGroup]float64 // by protocol and fold: see widths
}

// NewSpreads returns a Spreads based on the built-in measurements.
func NewSpreads() (*Spreads, error) {
	rows, left, err := readRows()
	if err != nil {
		return nil, err
	}
	s := &Spreads{rows: make(map[string]int), runs: make(map[string]map[string]bool), widen: make(map[string]map[widthGroup]float64)}
	for i := range rows {
		r := &rows[i]
		if _, ok := left[r.ID]; !ok || r.Latency == 0 {
			continue
		}
		m := findHostPreset(r)
		s.rows[m]++
		if s.runs[m] == nil {
			s.runs[m] = make(map[string]bool)
		}
		s.runs[m][RowSession(r)] = true
	}
	for i := range rows {
		r := &rows[i]
		l, ok := left[r.ID]
		if !ok || r.Latency == 0 {
			continue
		}
		for p := range s.ratios {
			x := s.newRatio(r, Protocol(p))
			x.value = r.Latency * 1e3 / l[p].Time
			s.ratios[p] = append(s.ratios[p], x)
		}
	}
	return s, nil
}

// A widthGroup identifies rows whose bounds are widened by the same factor.
type widthGroup struct {
	state  string
	engine bool
}

// computeWidths returns the factor by which the bounds of each group of rows are widened. Errors
// within a session are correlated, so the quantiles of other sessions contain too few of its rows.
// The factors are computed from all rows outside the given fold. A group with few rows gets the
// factor of all rows whose time is the engine's in the same way.
func (s *Spreads) computeWidths(protocol Protocol, fold string) map[widthGroup]float64 {
	within, tiers := make(map[widthGroup][]trial), make(map[bool][]trial)
	states := make(map[string]bool)
	for i := range s.ratios[protocol] {
		x := &s.ratios[protocol][i]
		if x.folds[protocol] == fold {
			continue
		}
		low, high, n := s.boundsOfSimilarRows(x, protocol, fold)
		if n == 0 {
			continue
		}
		t := trial{x.value, low, high}
		g := widthGroup{x.state, x.engine}
		within[g] = append(within[g], t)
		tiers[x.engine] = append(tiers[x.engine], t)
		states[x.state] = true
	}
	widths := make(map[widthGroup]float64)
	for state := range states {
		for _, engine := range [...]bool{false, true} {
			g := widthGroup{state, engine}
			if len(within[g]) >= leastTrials {
				widths[g] = findWidthOfTrials(within[g])
			} else {
				widths[g] = findWidthOfTrials(tiers[engine])
			}
		}
	}
	return widths
}

// A trial is a ratio with the bounds that other rows predict for it.
type trial struct{ value, low, high float64 }

// countTrialsWithinBounds counts all trials, and the trials whose ratio lies within their bounds
// after these are widened by the factor w.
func countTrialsWithinBounds(list []trial, w float64) (c Coverage) {
	for _, x := range list {
		low, high := widenBounds(x.low, x.high, w)
		c.countMeasurement(low <= x.value && x.value <= high)
	}
	return c
}

// narrowest is the smallest factor by which bounds change. Quantiles of few rows lie outside those of
// many, so that bounds may have to become narrower.
const narrowest = 0.4

// findWidthOfTrials returns the smallest factor by which the bounds of all trials must be widened
// to contain the required share of the ratios.
func findWidthOfTrials(list []trial) float64 {
	return findSmallestWidth(len(list), narrowest, func(w float64) float64 { return float64(countTrialsWithinBounds(list, w).Holds) })
}

// findSmallestWidth returns the smallest factor w from least on, in steps of 0.05, for which held(w) is at least
// the fraction [hw.IntervalShare] of n+1. The function held returns how many of n trials lie within
// bounds that are widened by w. The added 1 counts the next trial, which may lie outside.
func findSmallestWidth(n int, least float64, held func(w float64) float64) float64 {
	const step, most = 0.05, 400
	for i := range most {
		w := least + float64(step*float64(i))
		if h := held(w); h >= float64(n) || h >= float64(hw.IntervalShare*float64(n+1)) {
			return w
		}
	}
	return least + step*most
}

// widenBounds returns low and high with their distances from 1 multiplied by w. The distance of low
// is measured on its reciprocal.
func widenBounds(low, high, w float64) (float64, float64) {
	return 1 / (1 + float64(w*(1/low-1))), 1 + float64(w*(high-1))
}

// newRatio returns a ratio with the properties of row r but without a value.
func (s *Spreads) newRatio(r *measured.Row, protocol Protocol) ratio {
	m := findHostPreset(r)
	x := ratio{preset: m, folds: [...]string{ByShape: shapeKey(r), BySession: RowSession(r), ByKind: workKind(r)}, kind: workKind(r), engine: isEngineTier(r.Tier)}
	x.state = s.describeMachineFit(m, x.folds[BySession], protocol)
	return x
}

// describeMachineFit returns a name for how well a fit knows the machine of a row. This depends on
// whether the fit has enough rows of the machine or, if the protocol leaves out sessions, another
// session of the machine.
func (s *Spreads) describeMachineFit(preset, session string, protocol Protocol) string {
	if protocol == BySession {
		for run := range s.runs[preset] {
			if run != session {
				return "machine seen"
			}
		}
		return "machine unseen"
	}
	if s.rows[preset] >= leastRows {
		return preset
	}
	return "few rows"
}

// Of returns the prediction interval for row r, given the model's estimate of its time in
// nanoseconds. The interval is computed from the model's errors for similar rows or, if there are
// too few, for all rows. Rows in the same fold as r under the protocol are excluded. For a machine
// without built-in rows, Of uses [BySession] instead of [ByShape]. If too few rows remain, the
// interval is from 0 to infinity and its Rows is 0.
func (s *Spreads) Of(r *measured.Row, estimate float64, protocol Protocol) Interval {
	own := s.newRatio(r, protocol)
	if protocol == ByShape && s.rows[own.preset] == 0 {
		protocol = BySession
		own = s.newRatio(r, protocol)
	}
	low, high, n := s.boundsOfSimilarRows(&own, protocol, "")
	if n == 0 {
		return Interval{0, math.Inf(1), 0}
	}
	name := fmt.Sprint(protocol, own.folds[protocol])
	if s.widen[name] == nil {
		s.widen[name] = s.computeWidths(protocol, own.folds[protocol])
	}
	low, high = widenBounds(low, high, s.widen[name][widthGroup{own.state, own.engine}])
	return Interval{float64(estimate * low), float64(estimate * high), n}
}

// boundsOfSimilarRows returns quantiles (low and high) of the n ratios that are most similar to
// own. It excludes ratios in the fold of own and in the given fold. If there are too few ratios, n
// is 0.
func (s *Spreads) boundsOfSimilarRows(own *ratio, protocol Protocol, fold string) (low, high float64, n int) {
	var near, alike, all []float64
	for _, x := range s.ratios[protocol] {
		if f := x.folds[protocol]; f == own.folds[protocol] || f == fold {
			continue
		}
		all = append(all, x.value)
		if x.state == own.state {
			alike = append(alike, x.value)
			if x.kind == own.kind {
				near = append(near, x.value)
			}
		}
	}
	for _, list := range [...][]float64{near, alike, all} {
		if len(list) >= leastRows {
			low, high = quantileBounds(list)
			return low, high, len(list)
		}
	}
	return 0, 0, 0
}

// quantileBounds returns bounds that contain a further value of the same distribution with the
// probability [hw.IntervalShare]. The bounds always include 1. quantileBounds sorts values in
// place.
func quantileBounds(values []float64) (low, high float64) {
	slices.Sort(values)
	at := func(p float64) float64 {
		n := float64(len(values))
		return quantile(min(max((float64(p*(n+1))-1)/(n-1), 0), 1), values)
	}
	const below = (1 - hw.IntervalShare) / 2
	return min(1, at(below)), max(1, at(1-below))
}

// A Coverage counts measurements: of N in total, Holds lie within their prediction intervals.
type Coverage struct {
	Name     string
	N, Holds int
}

// countMeasurement adds one measurement to c. holds says whether it lies within its interval.
func (c *Coverage) countMeasurement(holds bool) {
	c.N++
	if holds {
		c.Holds++
	}
}

// isSufficient reports whether at least the fraction [hw.IntervalShare] of the measurements lies
// within their intervals.
func (c *Coverage) isSufficient() bool {
	return float64(c.Holds) >= float64(hw.IntervalShare*float64(c.N))
}

// Share returns the fraction of the measurements that lie within their intervals, or 0 if there are
// no measurements.
func (c Coverage) Share() float64 { return float64(c.Holds) / float64(max(1, c.N)) }

// Coverage counts, for each tier and for each session, the measurements in a that lie within the
// prediction intervals around their estimates. The argument a must be a result of
// [Accuracy.LeftOut] for the same protocol.
func (s *Spreads) Coverage(a *Accuracy, protocol Protocol) (tiers, sessions []Coverage) {
	count := make(map[string]*Coverage)
	var names []string
	add := func(name string, holds bool) {
		c := count[name]
		if c == nil {
			c = &Coverage{Name: name}
			count[name] = c
			names = append(names, name)
		}
		c.countMeasurement(holds)
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		if r.Time.Reference == 0 {
			continue
		}
		holds := s.Of(r.Sample.Row, r.Time.Model, protocol).Holds(r.Time.Reference)
		for _, n := range listTierGroups(r.Sample.Row.Tier) {
			add(n, holds)
		}
		add(sessionGroup+r.Sample.Session, holds)
	}
	for _, n := range sortNames(names, tierOrder) {
		c := *count[n]
		if len(n) > len(sessionGroup) && n[:len(sessionGroup)] == sessionGroup {
			c.Name = n[len(sessionGroup):]
			sessions = append(sessions, c)
			continue
		}
		tiers = append(tiers, c)
	}
	return tiers, sessions
}

const sessionGroup = "session "

// workKind returns the kind of work that row r mostly measures: "window" for a convolution with a
// window, "point" for a 1x1 convolution, "product" for a matmul, and "pass" otherwise.
func workKind(r *measured.Row) string {
	switch {
	case r.Kh*r.Kw > 1:
		return "window"
	case r.Kh*r.Kw == 1:
		return "point"
	case slices.Contains([]string{"matmul", "bmm", "linear", "chain_matmul", "chain_matmul_slope", "decode_model", "sdpa", "mha", "lm_head"}, r.Op):
		return "product"
	}
	return "pass"
}
