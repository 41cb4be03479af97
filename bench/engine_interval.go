package bench

import (
	"slices"

	"anesim/bench/measured"
	"anesim/hw/host"
)

// An EngineBand is what the interval of a descriptor's time is made with: measured over
// estimated time of the engine, of so many rows whose session the fit had not seen.
type EngineBand struct {
	Kind      string // window, point, product or pass
	Low, High float64
	Rows      int
	// Holds counts the rows that bounds of the other sessions' rows hold.
	Holds Coverage
	// Width says how many times as far from 1 the bounds lie as the quantiles, so that they
	// hold their share.
	Width float64
}

// An engineRatio is a measured over an estimated time of the engine.
type engineRatio struct {
	value         float64
	kind, session string
}

// EngineBands are the bands that the left-out predictions of the built-in rows make.
func EngineBands() ([]EngineBand, error) {
	rows, err := measured.Rows()
	if err != nil {
		return nil, err
	}
	left, err := LeftOuts()
	if err != nil {
		return nil, err
	}
	return engineBands(rows, left), nil
}

func engineBands(rows []measured.Row, left map[string]LeftOut) (bands []EngineBand) {
	all := engineRatios(rows, left)
	for _, kind := range [...]string{"window", "point", "product", "pass"} {
		list := slices.DeleteFunc(slices.Clone(all), func(r engineRatio) bool { return r.kind != kind })
		if len(list) < leastRows {
			list = all
		}
		bands = append(bands, engineBand(kind, list))
	}
	return bands
}

// engineRatios are those of rows whose time is mostly the engine's. What the host left out
// of them is the host's of a fit without their session. Memory in a slow state is none of
// the engine's.
func engineRatios(rows []measured.Row, left map[string]LeftOut) (list []engineRatio) {
	for i := range rows {
		r := &rows[i]
		l, ok := left[r.ID]
		p := &l[BySession]
		us := r.Warm()
		if !ok || us == 0 || p.Engine <= p.Time/2 || slowHost(RowHost(r)) {
			continue
		}
		list = append(list, engineRatio{(us*1e3 - (p.Time - p.Engine)) / p.Engine, kindOf(r), RowSession(r)})
	}
	return list
}

// engineBand is the band of ratios. Bounds made of the other sessions are tried on each
// session's rows to tell how far apart they must be.
func engineBand(kind string, list []engineRatio) EngineBand {
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
	b := EngineBand{Kind: kind, Rows: len(list), Width: width(trials)}
	var values []float64
	for _, x := range list {
		values = append(values, x.value)
	}
	low, high := band(values)
	b.Low, b.High = widened(low, high, b.Width)
	for _, x := range trials {
		low, high := widened(x.low, x.high, b.Width)
		b.Holds.add(low <= x.value && x.value <= high)
	}
	b.Holds.Name = kind
	return b
}

// slowHost reports that a host's sessions found memory in a slow state: its constants hold
// one for every megabyte that the engine moves.
func slowHost(name string) bool {
	return slices.ContainsFunc(host.Presets(), func(h host.Host) bool { return h.Name == name && h.Memory.Value > 0 })
}
