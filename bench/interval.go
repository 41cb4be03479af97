package bench

import (
	"slices"
	"strings"

	"anesim/hw"
	"anesim/internal/measured"
)

// An Interval is a prediction interval for the time of a call. It is meant to contain the fraction
// [hw.IntervalShare] of measurements. Rows is the number of measured rows on whose errors it is
// based.
type Interval struct {
	Low, High float64 // nanoseconds of a call
	Rows      int
}

// holds reports whether a time of ns nanoseconds lies within the interval.
func (i Interval) holds(ns float64) bool { return i.Low <= ns && ns <= i.High }

// leastRows is the smallest number of rows from which an interval is computed. A group with fewer
// rows uses the rows of a larger group.
const leastRows = 8

// enoughRows is the number of rows of a machine from which on its interval comes from them alone: a cut of
// as many must hold its share.
const enoughRows = 20

// A Spreads computes prediction intervals from the errors of the model's estimates for measured rows: for
// a machine with built-in rows from the errors of fits without a row's shape, for others from those of
// fits without its session.
type Spreads struct {
	rows   map[string]int            // by preset
	runs   map[string]map[string]int // rows by preset and session
	spread [numProtocols]*spread     // of those in Protocols
	unseen []deviation               // of the built-in rows by BySession, in order
	folds  []string                  // their sessions
	norms  []ratio                   // of norms, on all machines
}

// A ratio is the measured time of a row divided by the prediction of a fit without it.
type ratio struct {
	value   float64
	session string // or the machine of a later row
}

// NewSpreads returns a Spreads based on the built-in measurements.
func NewSpreads() (*Spreads, error) {
	rows, left, err := readRows()
	if err != nil {
		return nil, err
	}
	later, _, err := CompareLater()
	if err != nil {
		return nil, err
	}
	s := &Spreads{rows: make(map[string]int), runs: make(map[string]map[string]int)}
	// Rows without a prediction that left them out would make the interval too narrow.
	rows = slices.DeleteFunc(rows, func(r measured.Row) bool { _, ok := left[r.ID]; return !ok || r.Latency == 0 })
	for i := range rows {
		r := &rows[i]
		m := findHostPreset(r)
		s.rows[m]++
		if s.runs[m] == nil {
			s.runs[m] = make(map[string]int)
		}
		s.runs[m][rowSession(r)]++
		if isNorm(r) {
			s.norms = append(s.norms, ratio{r.Latency * 1e3 / left[r.ID][BySession].Time, rowSession(r)})
		}
	}
	for i := range later {
		if x := &later[i]; isNorm(x.Row) {
			s.norms = append(s.norms, ratio{x.ratio(), x.Machine})
		}
	}
	// An interval for a session that the fit has not seen must come from fits that left out whole
	// sessions, not single rows.
	for _, protocol := range Protocols() {
		var list []deviation
		for i := range rows {
			r := &rows[i]
			list = append(list, s.newDeviation(r, left[r.ID][protocol].Time, protocol))
		}
		s.spread[protocol] = fitSpread(list)
		if protocol == BySession {
			s.unseen = list
		}
	}
	for i := range rows {
		s.folds = append(s.folds, rowSession(&rows[i]))
	}
	return s, nil
}

// newDeviation returns the deviation of row r from an estimate of its time in nanoseconds.
func (s *Spreads) newDeviation(r *measured.Row, estimate float64, protocol Protocol) deviation {
	d := deviation{features: s.features(r, estimate, protocol), held: isNorm(r)}
	if r.Latency > 0 {
		d.distance = distanceOf(r.Latency * 1e3 / estimate)
	}
	if d.held {
		low, high, _ := s.normBounds(r)
		d.inside = low <= r.Latency*1e3/estimate && r.Latency*1e3/estimate <= high
	}
	for _, c := range listCuts(r) {
		d.cuts = append(d.cuts, c.String())
	}
	return d
}

// features returns the properties that widen or narrow the interval of row r: how well the fit knows its
// machine, its kind of work, and the estimate of its length in nanoseconds.
func (s *Spreads) features(r *measured.Row, estimate float64, protocol Protocol) []string {
	preset, session := findHostPreset(r), rowSession(r)
	known := session
	switch system, _, _ := strings.Cut(preset, "-"); {
	case system == "linux": // at a low clock
		known = system
	case protocol == BySession && s.rows[preset]-s.runs[preset][session] >= leastRows:
		known = "machine seen"
	case protocol == BySession:
		known = "machine unseen"
	}
	return []string{known, workKind(r), lengthClass(estimate / 1e3)}
}

// isNorm reports whether r is a normalization. Their times are the least certain ones: of ten, three took
// more than twice as long as estimated and one took half. Their programs are not known.
func isNorm(r *measured.Row) bool { return strings.HasSuffix(r.Op, "_norm") }

// normBounds returns bounds for norms as multiples of the estimate, from n norms of other sessions than
// that of r.
func (s *Spreads) normBounds(r *measured.Row) (low, high float64, n int) {
	var values []float64
	for _, x := range s.norms {
		if x.session != rowSession(r) {
			values = append(values, x.value)
		}
	}
	low, high = quantileBounds(values)
	return low, high, len(values)
}

// Of returns the prediction interval for row r, given the model's estimate of its time in
// nanoseconds. For a machine without built-in rows, Of uses [BySession] instead of [ByShape].
func (s *Spreads) Of(r *measured.Row, estimate float64, protocol Protocol) Interval {
	if isNorm(r) {
		low, high, n := s.normBounds(r)
		return Interval{float64(estimate * low), float64(estimate * high), n}
	}
	if protocol == ByShape && s.rows[findHostPreset(r)] == 0 {
		protocol = BySession
	}
	x := s.spread[protocol]
	low, high := x.bounds(s.features(r, estimate, protocol)...)
	return Interval{float64(estimate * low), float64(estimate * high), x.rows}
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
	Property string // by which the measurements are grouped, such as "session", or ""
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

// Share returns the fraction of the measurements that lie within their intervals, or 0 if there are
// no measurements.
func (c Coverage) Share() float64 { return float64(c.Holds) / float64(max(1, c.N)) }

// UnseenWidths counts the built-in rows that lie within intervals whose widths are fitted without any row of
// their session, as is the estimate.
func (s *Spreads) UnseenWidths() (c Coverage) {
	fits := make(map[string]*spread)
	for i, session := range s.folds {
		if fits[session] == nil {
			var others []deviation
			for j := range s.unseen {
				if s.folds[j] != session {
					others = append(others, s.unseen[j])
				}
			}
			fits[session] = fitSpread(others)
		}
		d := s.unseen[i]
		low, high := fits[session].bounds(d.features...)
		if d.held {
			c.countMeasurement(d.inside)
		} else {
			c.countMeasurement(distanceOf(low) <= d.distance && d.distance <= distanceOf(high))
		}
	}
	return c
}

// A cut is a group of rows by one property, such as the session macos-air.
type cut struct{ property, name string }

func (c cut) String() string { return c.property + " " + c.name }

// listCuts returns the groups to which row r belongs.
func listCuts(r *measured.Row) (list []cut) {
	for _, n := range listTierGroups(r.Tier) {
		list = append(list, cut{"tier", n})
	}
	return append(list, cut{"session", rowSession(r)}, cut{"machine", findHostPreset(r)}, cut{"kind", rowKind(r)}, cut{"length", sizeClass(r)})
}

// rowKind returns the kind of work of row r for reports: the title of its [workKind], or norm.
func rowKind(r *measured.Row) string {
	if isNorm(r) {
		return "norm"
	}
	return workTitles[workKind(r)]
}

// workTitles spell the kinds of work for reports.
var workTitles = map[string]string{"window": "conv with a window", "point": "1x1 conv", "product": "matmul", "pass": "other"}

// Coverage counts, for each tier, session, machine, kind of work and length, the measurements in a that
// lie within the prediction intervals around their estimates. The argument a must be a result of
// [Accuracy.LeftOut] for the same protocol.
func (s *Spreads) Coverage(a *Accuracy, protocol Protocol) (list []Coverage) {
	count := make(map[cut]*Coverage)
	for i := range a.Rows {
		r := &a.Rows[i]
		if r.Time.Reference == 0 {
			continue
		}
		holds := s.Of(r.Sample.Row, r.Time.Model, protocol).holds(r.Time.Reference)
		for _, c := range listCuts(r.Sample.Row) {
			countInCut(count, c, holds)
		}
	}
	return sortCoverage(count, "tier", "session", "machine", "kind", "length")
}

// countInCut adds a measurement to the cut c. holds says whether it lies within its interval.
func countInCut(count map[cut]*Coverage, c cut, holds bool) {
	if count[c] == nil {
		count[c] = &Coverage{Property: c.property, Name: c.name}
	}
	count[c].countMeasurement(holds)
}

// sortCoverage returns the cuts by the given properties, in that order.
func sortCoverage(count map[cut]*Coverage, properties ...string) (list []Coverage) {
	for _, property := range properties {
		var names []string
		for c := range count {
			if c.property == property {
				names = append(names, c.name)
			}
		}
		for _, n := range sortNames(names, slices.Concat(tierOrder, sizeClasses[:])) {
			list = append(list, *count[cut{property, n}])
		}
	}
	return list
}

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
