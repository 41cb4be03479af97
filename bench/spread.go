package bench

import (
	"maps"
	"math"
	"slices"

	"anesim/hw"
)

// A deviation says how far a measurement lies from its estimate, and which properties may tell.
type deviation struct {
	// distance is 0 if both are equal, d if the measurement is 1+d times the estimate, and -d if the
	// estimate is 1+d times the measurement.
	distance float64
	// features name what is known before the measurement: the machine, the kind of work, the estimated length.
	features []string
	// cuts name the groups of rows in which the intervals must hold their share.
	cuts []string
	// held is true if the interval of the row does not depend on the fit, and inside whether it holds
	// the row.
	held, inside bool

	factors []*float64 // of the features, during the fit
}

// width returns the product of the factors of all features but one.
func (d *deviation) width(except *float64) float64 {
	w := 1.0
	for _, f := range d.factors {
		if f != except {
			w *= *f
		}
	}
	return w
}

// distanceOf returns the distance for a ratio of measurement and estimate.
func distanceOf(ratio float64) float64 {
	if ratio >= 1 {
		return ratio - 1
	}
	return 1 - 1/ratio
}

// A spread gives prediction intervals whose width is a product of one factor for each feature of a row.
type spread struct {
	below, above float64 // distances of the bounds if all factors are 1; below is at most 0
	factors      map[string]*float64
	rows         int
}

// bounds returns the bounds of the measurement, as multiples of the estimate, for a row with the given
// features. A feature that the fit had not seen has the factor 1.
func (s *spread) bounds(features ...string) (low, high float64) {
	w := 1.0
	for _, f := range features {
		if x := s.factors[f]; x != nil {
			w *= *x
		}
	}
	return 1 / (1 - float64(w*s.below)), 1 + float64(w*s.above)
}

const (
	// leastInCut is the number of rows from which a cut must hold between leastShare and mostShare. A smaller
	// one must not be less likely than one in twenty by chance.
	leastInCut            = 20
	leastShare, mostShare = 0.75, 0.88
	// drawn is the number of rows of usual errors that each factor is drawn to 1 by.
	drawn = 8
)

// fitSpread returns a spread for rows. It first sets each factor to the median magnitude of the errors of the rows with the
// feature, relative to that of all, and then changes one factor after the other while this brings
// more cuts to their share. The share in a cut is thus a result of the fit; the errors are not.
func fitSpread(rows []deviation) *spread {
	s := &spread{factors: make(map[string]*float64), rows: len(rows)}
	counts := make(map[*float64]float64)
	for i := range rows {
		r := &rows[i]
		r.factors = nil
		for _, f := range r.features {
			if s.factors[f] == nil {
				s.factors[f] = new(1.0)
			}
			r.factors = append(r.factors, s.factors[f])
			if !r.held {
				counts[s.factors[f]]++
			}
		}
	}
	terms := []*float64{&s.below, &s.above}
	for _, f := range slices.Sorted(maps.Keys(s.factors)) {
		terms = append(terms, s.factors[f])
	}
	usual := usualDistance(rows, nil)
	for range 10 { // the factors depend on each other; they settle in fewer rounds
		for _, f := range terms[2:] {
			if n := counts[f]; n >= leastRows {
				*f = (float64(usualDistance(rows, f)/usual*n) + drawn) / (n + drawn)
			}
		}
	}
	var scaled []float64
	for i := range rows {
		if r := &rows[i]; !r.held {
			scaled = append(scaled, 1+r.distance/r.width(nil)) // quantileBounds are around 1
		}
	}
	low, high := quantileBounds(scaled)
	s.below, s.above = low-1, high-1
	s.fitToCuts(rows, terms)
	return s
}

// usualDistance returns the median magnitude of the distances of the rows with the given factor, or of all rows
// for nil, each divided by the row's other factors.
func usualDistance(rows []deviation, factor *float64) float64 {
	var list []float64
	for i := range rows {
		if r := &rows[i]; !r.held && (factor == nil || slices.Contains(r.factors, factor)) {
			list = append(list, max(r.distance, -r.distance)/r.width(factor))
		}
	}
	slices.Sort(list)
	return quantile(0.5, list)
}

// fitToCuts searches for the terms of the least loss from several widths, since each search ends in a valley of its
// own.
func (s *spread) fitToCuts(rows []deviation, terms []*float64) {
	var start, best []float64
	for _, x := range terms {
		start = append(start, *x)
	}
	cuts := indexCuts(rows)
	least := math.Inf(1)
	for _, width := range [...]float64{1, 0.8, 0.9, 1.1, 1.25} {
		for i, x := range terms {
			*x = start[i]
		}
		s.below, s.above = float64(s.below*width), float64(s.above*width)
		if l := s.descend(rows, cuts, terms, start); l < least {
			least, best = l, nil
			for _, x := range terms {
				best = append(best, *x)
			}
		}
		if least < 1./leastInCut { // every cut has its share
			break
		}
	}
	for i, x := range terms {
		*x = best[i]
	}
}

// descend changes one term after the other by a step, and two at a time once no single change helps, as long as
// this reduces the loss, which it returns.
func (s *spread) descend(rows []deviation, cuts [][]int, terms []*float64, start []float64) float64 {
	least := s.loss(rows, cuts, terms, start)
	// try keeps the best of the steps of x, and reports whether one is better than before.
	try := func(x *float64, steps ...float64) bool {
		from, best := *x, *x
		for _, step := range steps {
			*x = float64(from * step)
			if l := s.loss(rows, cuts, terms, start); l < least-1e-9 {
				least, best = l, *x
			}
		}
		*x = best
		return best != from
	}
	for better := true; better; {
		better = false
		for _, x := range terms {
			better = try(x, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.25, 1.4, 2, 4, 8) || better
		}
		for i := 0; i < len(terms) && !better; i++ {
			from := *terms[i]
			for _, step := range [...]float64{0.8, 0.9, 1.1, 1.25} {
				*terms[i] = float64(from * step)
				for _, y := range terms[i+1:] {
					better = better || try(y, 0.8, 0.9, 1.1, 1.25)
				}
				if better {
					break
				}
				*terms[i] = from
			}
		}
	}
	return least
}

// loss returns by how many rows the cuts miss their shares, and little for terms that are far from start.
func (s *spread) loss(rows []deviation, cuts [][]int, terms []*float64, start []float64) float64 {
	loss := 0.0
	for _, c := range s.coverage(rows, cuts) {
		loss += c.loss()
	}
	const near = 0.01 // far less than a row
	for i, x := range terms {
		if start[i] != 0 {
			loss += float64(near * (max(*x/start[i], start[i]/(*x)) - 1))
		}
	}
	return loss
}

// loss returns by how many rows the intervals in c miss their share, or 1 for a small cut that chance hardly makes.
func (c *Coverage) loss() float64 {
	n, k := float64(c.N), float64(c.Holds)
	switch {
	case c.N >= leastInCut:
		return max(0, float64(leastShare*n)-k, k-float64(mostShare*n))
	case !c.isPlausible():
		return 1
	}
	return 0
}

// indexCuts returns the cuts of each row as indices, in the order in which rows name them.
func indexCuts(rows []deviation) (list [][]int) {
	index := make(map[string]int)
	for i := range rows {
		var own []int
		for _, name := range rows[i].cuts {
			if _, ok := index[name]; !ok {
				index[name] = len(index)
			}
			own = append(own, index[name])
		}
		list = append(list, own)
	}
	return list
}

// coverage counts the rows inside their intervals in each cut.
func (s *spread) coverage(rows []deviation, cuts [][]int) (list []Coverage) {
	for i := range rows {
		inside := s.holds(&rows[i])
		for _, at := range cuts[i] {
			for at >= len(list) {
				list = append(list, Coverage{})
			}
			list[at].countMeasurement(inside)
		}
	}
	return list
}

// holds reports whether r lies inside its interval.
func (s *spread) holds(r *deviation) bool {
	if r.held {
		return r.inside
	}
	w := r.width(nil)
	return float64(w*s.below) <= r.distance && r.distance <= float64(w*s.above)
}

// holdsShare reports whether the measurements inside their intervals are 75 to 88 % of c or, if c has fewer than 20,
// whether their number could be chance if each lay inside with the probability [hw.IntervalShare].
func (c *Coverage) holdsShare() bool {
	if c.N < leastInCut {
		return c.isPlausible()
	}
	return leastShare <= c.Share() && c.Share() <= mostShare
}

// isPlausible reports whether as few as c.Holds of c.N or fewer, and as many or more, each have a probability
// of at least 2.5 % if one has [hw.IntervalShare].
func (c *Coverage) isPlausible() bool {
	fewer, more := 0.0, 0.0
	for k := range c.N + 1 {
		p := 1.0
		for i := range c.N {
			if i < k {
				p *= hw.IntervalShare * float64(c.N-i) / float64(k-i)
			} else {
				p *= 1 - hw.IntervalShare
			}
		}
		if k <= c.Holds {
			fewer += p
		}
		if k >= c.Holds {
			more += p
		}
	}
	return min(fewer, more) >= 0.025
}
