package bench

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/measured"
	"anesim/hw"
)

// An Interval bounds what a measurement of a row would give: [hw.IntervalShare] of them lie
// within. It rests on the left-out errors of so many rows.
type Interval struct {
	Low, High float64 // nanoseconds of a call
	Rows      int
}

// Holds reports whether a time lies within.
func (i Interval) Holds(ns float64) bool { return i.Low <= ns && ns <= i.High }

// leastRows are the fewest rows that an interval rests on: fewer are pooled with others.
const leastRows = 8

// A ratio is a measured call over a left-out prediction of it.
type ratio struct {
	value  float64
	preset string
	folds  [numProtocols]string
	kind   string
	state  string
	engine bool // of the tiers that the engine has most or much of
}

// Spreads are the ratios that intervals are made of. It is for one goroutine.
type Spreads struct {
	ratios [numProtocols][]ratio
	rows   map[string]int                    // by preset
	runs   map[string]map[string]bool        // sessions by preset
	widen  map[string]map[widthGroup]float64 // by protocol and fold: see widths
}

// NewSpreads makes the spreads of the built-in rows.
func NewSpreads() (*Spreads, error) {
	rows, err := measured.Rows()
	if err != nil {
		return nil, err
	}
	left, err := LeftOuts()
	if err != nil {
		return nil, err
	}
	s := &Spreads{rows: make(map[string]int), runs: make(map[string]map[string]bool), widen: make(map[string]map[widthGroup]float64)}
	for i := range rows {
		r := &rows[i]
		if _, ok := left[r.ID]; !ok || r.Latency == 0 {
			continue
		}
		m := machineHost(r)
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
			x := s.of(r, Protocol(p))
			x.value = r.Latency * 1e3 / l[p].Time
			s.ratios[p] = append(s.ratios[p], x)
		}
	}
	return s, nil
}

// A widthGroup is what rows have in common whose bounds are widened alike.
type widthGroup struct {
	state  string
	engine bool
}

// widths says how many times as far from 1 the bounds of each group's intervals lie as the
// quantiles, told by the rows outside a fold. Errors of one session go together, so that
// quantiles of other sessions hold fewer of its rows than their share. A group of few rows
// has the state's.
func (s *Spreads) widths(by Protocol, fold string) map[widthGroup]float64 {
	within, states := make(map[widthGroup][]trial), make(map[string][]trial)
	for i := range s.ratios[by] {
		x := &s.ratios[by][i]
		if x.folds[by] == fold {
			continue
		}
		low, high, n := s.bounds(x, by, fold)
		if n == 0 {
			continue
		}
		t := trial{x.value, low, high}
		g := widthGroup{x.state, x.engine}
		within[g] = append(within[g], t)
		states[x.state] = append(states[x.state], t)
	}
	widths := make(map[widthGroup]float64)
	for state, all := range states {
		for _, engine := range [...]bool{false, true} {
			g := widthGroup{state, engine}
			if len(within[g]) >= leastRows {
				widths[g] = width(within[g])
			} else {
				widths[g] = width(all)
			}
		}
	}
	return widths
}

// A trial is a ratio with bounds that it has no part in.
type trial struct{ value, low, high float64 }

// width is the least factor, in steps of a twentieth, with which widened bounds hold
// hw.IntervalShare of one trial more than there are, as the next one may lie outside.
func width(list []trial) float64 {
	const perUnit, most = 20, 400
	for n := range most {
		w := float64(perUnit+n) / perUnit
		var c Coverage
		for _, x := range list {
			low, high := widened(x.low, x.high, w)
			c.add(low <= x.value && x.value <= high)
		}
		if c.Holds == c.N || float64(c.Holds) >= float64(hw.IntervalShare*float64(c.N+1)) {
			return w
		}
	}
	return float64(perUnit+most) / perUnit
}

// widened are bounds so many times as far from 1, the lower by its reciprocal.
func widened(low, high, w float64) (float64, float64) {
	return 1 / (1 + float64(w*(1/low-1))), 1 + float64(w*(high-1))
}

// of says what kind of row a row is.
func (s *Spreads) of(r *measured.Row, by Protocol) ratio {
	m := machineHost(r)
	x := ratio{preset: m, folds: [...]string{ByShape: shapeOf(r), BySession: RowSession(r)}, kind: kindOf(r), engine: engineTier(r.Tier)}
	x.state = s.state(m, x.folds[BySession], by)
	return x
}

// state is how well the fit knows a session: whether the machine's constants rest on rows
// enough of its own, and, with the session left out, on another session of it at all.
func (s *Spreads) state(preset, session string, by Protocol) string {
	if by == BySession {
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

// Of is the interval around the model's time of a row, in nanoseconds. The row's own fold
// has no part in it. A machine that no built-in row is of has the interval of one left
// out.
func (s *Spreads) Of(r *measured.Row, model float64, by Protocol) Interval {
	own := s.of(r, by)
	if by == ByShape && s.rows[own.preset] == 0 {
		by = BySession
		own = s.of(r, by)
	}
	low, high, n := s.bounds(&own, by, "")
	if n == 0 {
		return Interval{0, math.Inf(1), 0}
	}
	name := fmt.Sprint(by, own.folds[by])
	if s.widen[name] == nil {
		s.widen[name] = s.widths(by, own.folds[by])
	}
	low, high = widened(low, high, max(1, s.widen[name][widthGroup{own.state, own.engine}]))
	return Interval{float64(model * low), float64(model * high), n}
}

// bounds are the quantiles of the ratios that are most like a row's and neither of its fold
// nor of another, and how many those are.
func (s *Spreads) bounds(own *ratio, by Protocol, fold string) (low, high float64, n int) {
	var near, alike, all []float64
	for _, x := range s.ratios[by] {
		if f := x.folds[by]; f == own.folds[by] || f == fold {
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
			low, high = band(list)
			return low, high, len(list)
		}
	}
	return 0, 0, 0
}

// band returns the bounds between which the next of so many values lies in hw.IntervalShare of
// the cases: the values at the quantiles of one more than there are, with 1 between them.
func band(values []float64) (low, high float64) {
	slices.Sort(values)
	at := func(p float64) float64 {
		n := float64(len(values))
		return quantile(min(max((float64(p*(n+1))-1)/(n-1), 0), 1), values)
	}
	const below = (1 - hw.IntervalShare) / 2
	return min(1, at(below)), max(1, at(1-below))
}

// A Coverage says how many of some measurements their intervals hold.
type Coverage struct {
	Name     string
	N, Holds int
}

// add counts a measurement.
func (c *Coverage) add(holds bool) {
	c.N++
	if holds {
		c.Holds++
	}
}

// sound reports whether they hold their share.
func (c *Coverage) sound() bool { return float64(c.Holds) >= float64(hw.IntervalShare*float64(c.N)) }

// Share is the part that is held.
func (c Coverage) Share() float64 { return float64(c.Holds) / float64(max(1, c.N)) }

// Coverage counts how many measurements the intervals around left-out predictions hold:
// by tier, then by session.
func (s *Spreads) Coverage(left *Accuracy, by Protocol) (tiers, sessions []Coverage) {
	count := make(map[string]*Coverage)
	var names []string
	add := func(name string, holds bool) {
		c := count[name]
		if c == nil {
			c = &Coverage{Name: name}
			count[name] = c
			names = append(names, name)
		}
		c.add(holds)
	}
	for i := range left.Rows {
		r := &left.Rows[i]
		if r.Time.Reference == 0 {
			continue
		}
		holds := s.Of(r.Sample.Row, r.Time.Model, by).Holds(r.Time.Reference)
		for _, n := range tierNames(r.Sample.Row.Tier) {
			add(n, holds)
		}
		add(sessionGroup+r.Sample.Session, holds)
	}
	for _, n := range sorted(names, tierOrder) {
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

// kindOf is the kind of descriptor that most of a row's time goes to.
func kindOf(r *measured.Row) string {
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
