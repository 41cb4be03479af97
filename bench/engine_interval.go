package bench

import (
	"maps"
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
	// that no row covers, it counts rows that were predicted without any row of their kind.
	Holds Coverage
	// Width is the factor by which the distance of the bounds from 1 exceeds that of the
	// quantiles, so that they hold the required share.
	Width float64
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
	for _, kind := range [...]string{"window", "point", "product", "pass"} {
		list := slices.DeleteFunc(slices.Clone(all), func(r engineRatio) bool { return r.kind != kind })
		if len(list) < leastRows {
			list = all
		}
		bands = append(bands, newEngineBand(kind, list))
	}
	unmeasured := newUnmeasuredBand(engineRatios(rows, left, ByKind))
	for _, b := range bands { // work without rows is not known better than work with rows
		unmeasured.Low, unmeasured.High = min(unmeasured.Low, b.Low-0.001), max(unmeasured.High, b.High+0.001)
	}
	return append(bands, unmeasured)
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
// ratios in list. It widens the band until bounds that are computed from all other sessions contain
// the required share of each session's rows.
func newEngineBand(kind string, list []engineRatio) EngineBand {
	var trials []trial
	for _, own := range list {
		others := listRatioValues(list, own.session)
		if len(others) < 2 {
			continue
		}
		low, high := quantileBounds(others)
		trials = append(trials, trial{own.value, low, high})
	}
	return newWidenedBand(kind, list, trials, findWidthOfTrials(trials))
}

// newUnmeasuredBand returns the band for work that no row covers. Such work is another operation,
// so the band must contain the required share of operations, not of rows. An operation counts in
// proportion to the share of its rows within the band.
func newUnmeasuredBand(list []engineRatio) EngineBand {
	low, high := quantileBounds(listRatioValues(list, ""))
	var trials []trial
	operations := make(map[string][]trial)
	for _, x := range list {
		t := trial{x.value, low, high}
		trials = append(trials, t)
		operations[x.op] = append(operations[x.op], t)
	}
	width := findSmallestWidth(len(operations), 1, func(w float64) (held float64) {
		for _, op := range slices.Sorted(maps.Keys(operations)) {
			c := countTrialsWithinBounds(operations[op], w)
			held += c.Share()
		}
		return held
	})
	return newWidenedBand(Unmeasured, list, trials, width)
}

// listRatioValues returns the values of the ratios in list whose session is not except. If except
// is "", it returns all values.
func listRatioValues(list []engineRatio, except string) (values []float64) {
	for _, x := range list {
		if x.session != except {
			values = append(values, x.value)
		}
	}
	return values
}

// newWidenedBand returns a band between quantiles of list that are widened by the factor width. The
// band's field Holds is the number of trials whose ratio lies within their own bounds, widened by
// the same factor.
func newWidenedBand(kind string, list []engineRatio, trials []trial, width float64) EngineBand {
	low, high := quantileBounds(listRatioValues(list, ""))
	b := EngineBand{Kind: kind, Rows: len(list), Holds: countTrialsWithinBounds(trials, width), Width: width}
	b.Low, b.High = widenBounds(low, high, width)
	b.Holds.Name = kind
	return b
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
