package bench

import (
	"math"
	"slices"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/measured"
)

// An EngineBand bounds the measured engine time for one kind of work, as a multiple of the
// estimate. Low and High come from quantiles of the ratios for measured rows. To test the model on
// unseen data, each row is estimated by a fit without the row's session or, for the kind
// [Unmeasured], without any row of its kind.
type EngineBand struct {
	Kind      string // window, point, product or pass, or unmeasured
	Low, High float64
	Rows      int
	// Holds counts the rows that lie within bounds derived from other sessions only. For work
	// that no row covers, it counts rows that were predicted without any row of their kind, and lie
	// within bounds derived from other operations only.
	Holds Coverage
	// Width is the factor by which the distance of the bounds from 1 exceeds that of the
	// quantiles, so that they hold the required share.
	Width float64

	cuts []Coverage // of the rows that Holds counts
}

// An engineRatio is the measured engine time of a row divided by the estimated one.
type engineRatio struct {
	value             float64
	kind, session, op string
}

// EngineBands returns a band for each kind of work, and one for work that no measurement covers. It
// computes them from the built-in measurements.
func EngineBands() ([]EngineBand, error) {
	rows, left, err := readRows()
	if err != nil {
		return nil, err
	}
	return computeEngineBands(rows, left), nil
}

// Unmeasured is the Kind of the [EngineBand] for work that no measured row covers.
const Unmeasured = "unmeasured"

func computeEngineBands(rows []measured.Row, left map[string]LeftOut) (bands []EngineBand) {
	all := engineRatios(rows, left, BySession)
	least := EngineBand{Low: 1, High: 1}
	for _, kind := range [...]string{"window", "point", "product", "pass"} {
		list := slices.DeleteFunc(slices.Clone(all), func(r engineRatio) bool { return r.kind != kind })
		if len(list) < leastRows {
			list = all
		}
		b := newEngineBand(kind, list, EngineBand{Low: 1, High: 1}, func(r *engineRatio) string { return r.session })
		least.Low, least.High = min(least.Low, b.Low-0.001), max(least.High, b.High+0.001)
		bands = append(bands, b)
	}
	// Work without rows is another operation, which its bounds must not have seen either. It is not
	// known better than work with rows.
	return append(bands, newEngineBand(Unmeasured, engineRatios(rows, left, ByKind), least, func(r *engineRatio) string { return r.op }))
}

// isEngineRow reports whether the engine accounts for more than half of the time of row r,
// according to the prediction of a model that was fitted without r's session.
func isEngineRow(r *measured.Row, predictions map[string]LeftOut) bool {
	l, ok := predictions[r.ID]
	p := &l[BySession]
	return ok && r.Warm() > 0 && p.Engine > p.Time/2
}

// engineRatios returns, for each row whose time is mostly engine time, the measured engine time
// divided by the predicted one. The measured engine time is the row's time minus the predicted time
// of the host. The protocol selects the predictions.
func engineRatios(rows []measured.Row, predictions map[string]LeftOut, protocol Protocol) (list []engineRatio) {
	for i := range rows {
		r := &rows[i]
		// Rows that nothing explains, and rows at a low clock, which is inferred from other rows, bound
		// work that is unlike all measured work, but nothing about a kind of work.
		if !isEngineRow(r, predictions) || protocol != ByKind && (r.Unexplained || r.Clock > 0) {
			continue
		}
		l := predictions[r.ID]
		p := &l[protocol]
		list = append(list, engineRatio{(float64(r.Warm()*1e3) - (p.Time - p.Engine)) / p.Engine, workKind(r), rowSession(r), r.Op})
	}
	return list
}

// newEngineBand computes the band of measured over predicted time for a kind of work from the
// ratios in list. The band is not narrower than least. Each ratio is tried with bounds that come from
// all ratios of other groups, where group names that of a ratio. The bounds are widened by the
// smallest factor with which every cut of the ratios holds its share.
func newEngineBand(kind string, list []engineRatio, least EngineBand, group func(*engineRatio) string) EngineBand {
	var trials []trial
	for i := range list {
		own := &list[i]
		others := listRatioValues(list, func(r *engineRatio) bool { return group(r) != group(own) })
		if len(others) < 2 {
			continue
		}
		low, high := quantileBounds(others)
		trials = append(trials, trial{own, low, high})
	}
	b := EngineBand{Kind: kind, Rows: len(list)}
	b.Width, b.cuts = findWidth(trials, &least)
	b.Holds = Coverage{Name: kind, N: b.cuts[0].N, Holds: b.cuts[0].Holds}
	low, high := quantileBounds(listRatioValues(list, func(*engineRatio) bool { return true }))
	b.Low, b.High = least.widen(low, high, b.Width)
	return b
}

// A trial is a ratio with the bounds that other ratios predict for it.
type trial struct {
	*engineRatio
	low, high float64
}

// findWidth returns the smallest factor for the bounds of all trials with which every cut holds its share,
// or comes nearest to it, and the cuts. The first cut has all trials. It must hold
// [hw.IntervalShare] of one trial more, because the next one may lie outside.
func findWidth(trials []trial, least *EngineBand) (width float64, cuts []Coverage) {
	// Quantiles of few rows lie outside those of many, so that bounds may have to become narrower.
	const narrowest, step, most = 0.4, 0.05, 400
	lost := math.Inf(1)
	for i := range most {
		w := narrowest + float64(step*float64(i))
		list := countCuts(trials, least, w)
		all := &list[0]
		loss := max(0, min(float64(all.N), float64(hw.IntervalShare*float64(all.N+1)))-float64(all.Holds))
		for k := range list {
			loss += list[k].loss()
		}
		if loss < lost {
			lost, width, cuts = loss, w, list
		}
	}
	return width, cuts
}

// countCuts counts the trials within their bounds, widened by the factor width: all of them, and those of each kind of
// work, operation and session.
func countCuts(trials []trial, least *EngineBand, width float64) []Coverage {
	count := make(map[cut]*Coverage)
	for _, x := range trials {
		low, high := least.widen(x.low, x.high, width)
		for _, c := range [...]cut{{"all", "all"}, {"kind", x.kind}, {"operation", x.op}, {"session", x.session}} {
			countInCut(count, c, low <= x.value && x.value <= high)
		}
	}
	return sortCoverage(count, "all", "kind", "operation", "session")
}

// widen returns low and high with their distances from 1 multiplied by width, and not inside b. The distance of low
// is measured on its reciprocal.
func (b *EngineBand) widen(low, high, width float64) (float64, float64) {
	return min(b.Low, 1/(1+float64(width*(1/low-1)))), max(b.High, 1+float64(width*(high-1)))
}

// listRatioValues returns the values of the ratios in list that keep selects.
func listRatioValues(list []engineRatio, keep func(*engineRatio) bool) (values []float64) {
	for i := range list {
		if x := &list[i]; keep(x) {
			values = append(values, x.value)
		}
	}
	return values
}

// A WorkBand bounds the time of one kind of work as a multiple of its estimate. Rows is the number
// of measured rows that consist mostly of this work: it accounts for more than half of the engine time,
// and the engine accounts for more than half of the total.
type WorkBand struct {
	Work      hw.Work
	Rows      int
	Low, High float64
}

// WorkBands returns a band for each kind of work that package hw distinguishes, in the order of the
// kinds. It computes them from the built-in measurements.
func WorkBands() ([]WorkBand, error) {
	rows, left, err := readRows()
	if err != nil {
		return nil, err
	}
	p := DefaultPresets()
	list, err := computeWorkBands(rows, left, &p)
	if err != nil {
		return nil, err
	}
	bands := computeEngineBands(rows, left)
	for i := range list {
		x := &list[i]
		b := &bands[slices.IndexFunc(bands, func(b EngineBand) bool { return b.Kind == x.engineBandKind() })]
		x.Low, x.High = b.Low, b.High
	}
	return list, nil
}

// engineBandKind returns the Kind of the [EngineBand] that provides the bounds for the work x.
func (x *WorkBand) engineBandKind() string {
	switch {
	case x.Rows == 0:
		return Unmeasured
	case x.Work == hw.WindowWork:
		return "window"
	case x.Work == hw.PointWork:
		return "point"
	case x.Work == hw.ProductWork:
		return "product"
	}
	return "pass"
}

// computeWorkBands counts the rows that cover each kind of work. It leaves the bounds of the bands
// zero.
func computeWorkBands(rows []measured.Row, predictions map[string]LeftOut, p *Presets) ([]WorkBand, error) {
	list := make([]WorkBand, hw.WorkKinds)
	for i := range list {
		list[i].Work = hw.Work(i)
	}
	l := newLowerer()
	for i := range rows {
		r := &rows[i]
		if !isEngineRow(r, predictions) {
			continue
		}
		c, err := l.chain(r)
		if err != nil {
			return nil, err
		}
		if w, ok := c.dominantWork(p.Chips[rowChip(r).Name]); ok {
			list[w].Rows++
		}
	}
	return list, nil
}

// dominantWork returns the kind of work that causes more than half of the chain's time on the chip.
// The passes and copies of a chain with matmuls count as matmul, because they prepare its operands.
// The result ok is false if no kind does.
func (c *Chain) dominantWork(chip hw.Chip) (most hw.Work, ok bool) {
	var times [hw.WorkKinds]clock.Nanoseconds
	var all clock.Nanoseconds
	var d hw.DescriptorReport
	timer := hw.NewTimer(chip)
	for n, task := range distinctDescriptors(c.Steps) {
		timer.Time(&d, task)
		t := clock.Nanoseconds(clock.Nanoseconds(n) * d.Time)
		times[d.Work()] += t
		all += t
	}
	if times[hw.ProductWork] > 0 {
		times[hw.ProductWork] += times[hw.PassWork] + times[hw.CopyWork]
		times[hw.PassWork], times[hw.CopyWork] = 0, 0
	}
	for i, t := range times {
		if t > all/2 {
			return hw.Work(i), true
		}
	}
	return 0, false
}
