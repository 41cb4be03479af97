package bench

import (
	"slices"

	"anesim/bench/measured"
	"anesim/hw/host"
)

// An EngineBand holds the bounds for the interval of a descriptor's time: quantiles of
// measured over estimated engine time, from rows whose session the fit had not seen.
type EngineBand struct {
	Kind      string // window, point, product or pass
	Low, High float64
	Rows      int
	// Holds counts the rows that lie within the bounds derived from other sessions.
	Holds Coverage
	// Width is the factor by which the distance of the bounds from 1 exceeds that of the
	// quantiles, so that they hold the required share.
	Width float64
}

// An engineRatio is the measured engine time of a row divided by the estimated one.
type engineRatio struct {
	value         float64
	kind, session string
}

// EngineBands returns the bands derived from left-out predictions of the built-in rows.
func EngineBands() ([]EngineBand, error) {
	rows, err := measured.Rows()
	if err != nil {
		return nil, err
	}
	left, err := LeftOuts()
	if err != nil {
		return nil, err
	}
	return computeEngineBands(rows, left), nil
}

func computeEngineBands(rows []measured.Row, left map[string]LeftOut) (bands []EngineBand) {
	all := engineRatios(rows, left)
	for _, kind := range [...]string{"window", "point", "product", "pass"} {
		list := slices.DeleteFunc(slices.Clone(all), func(r engineRatio) bool { return r.kind != kind })
		if len(list) < leastRows {
			list = all
		}
		bands = append(bands, newEngineBand(kind, list))
	}
	return bands
}

// engineRatios returns the ratios of rows whose time is mostly the engine's. The host's
// part is subtracted, from a fit without the row's session. Hosts with memory in a slow
// state are excluded.
func engineRatios(rows []measured.Row, left map[string]LeftOut) (list []engineRatio) {
	for i := range rows {
		r := &rows[i]
		l, ok := left[r.ID]
		p := &l[BySession]
		us := r.Warm()
		if !ok || us == 0 || p.Engine <= p.Time/2 || isSlowHost(RowHost(r)) {
			continue
		}
		list = append(list, engineRatio{(us*1e3 - (p.Time - p.Engine)) / p.Engine, kindOf(r), RowSession(r)})
	}
	return list
}

// newEngineBand returns the band of ratios. To find the required width, it tests the bounds
// from other sessions on each session's rows.
func newEngineBand(kind string, list []engineRatio) EngineBand {
	var trials []trial
	for _, own := range list {
		var others []float64
		for _, x := range list {
			if x.session != own.session {
				others = append(others, x.value)
			}
		}
		if len(others) < 2 {
			continue
		}
		low, high := band(others)
		trials = append(trials, trial{own.value, low, high})
	}
	b := EngineBand{Kind: kind, Rows: len(list), Width: findWidth(trials)}
	var values []float64
	for _, x := range list {
		values = append(values, x.value)
	}
	low, high := band(values)
	b.Low, b.High = widen(low, high, b.Width)
	for _, x := range trials {
		low, high := widen(x.low, x.high, b.Width)
		b.Holds.add(low <= x.value && x.value <= high)
	}
	b.Holds.Name = kind
	return b
}

// isSlowHost reports whether a host's sessions found memory in a slow state, so that its
// constants include a time for every megabyte that the engine moves.
func isSlowHost(name string) bool {
	return slices.ContainsFunc(host.Presets(), func(h host.Host) bool { return h.Name == name && h.Memory.Value > 0 })
}
