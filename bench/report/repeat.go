package report

import (
	"anesim"
	"anesim/hw/clock"
)

// A Repeat describes the dispatches of a repeated run: their number, the number that is
// listed, and the times of the first and of each later one. Unlisted dispatches are
// included in all totals.
type Repeat struct {
	Dispatches   int               `json:"dispatches"`
	Listed       int               `json:"listed"`
	FirstNs      clock.Nanoseconds `json:"first_ns"`       // of the engine
	SteadyNs     clock.Nanoseconds `json:"steady_ns"`      // of the engine
	FirstWallNs  clock.Nanoseconds `json:"first_wall_ns"`  // with the host, the gap before it and the wake
	SteadyWallNs clock.Nanoseconds `json:"steady_wall_ns"` // likewise
}

// repeatOf returns the times of the first and each later dispatch of a run, or nil for a
// single dispatch.
func repeatOf(r *anesim.Result) *Repeat {
	if r.Options.Repeat < 2 {
		return nil
	}
	d := new(Repeat)
	for k := range r.Programs {
		p := &r.Programs[k]
		n := len(p.Dispatches)
		if n == 0 {
			continue
		}
		d.Dispatches, d.Listed = max(d.Dispatches, n+p.Again), max(d.Listed, n)
		for _, part := range [...]struct {
			at           *anesim.Dispatch
			engine, wall *clock.Nanoseconds
		}{{&p.Dispatches[0], &d.FirstNs, &d.FirstWallNs}, {&p.Dispatches[n-1], &d.SteadyNs, &d.SteadyWallNs}} {
			var t clock.Nanoseconds
			for i := range part.at.Descriptors {
				t += part.at.Descriptors[i].Time
			}
			*part.engine += t
			*part.wall += t + p.Host + part.at.Idle + part.at.Wake
		}
	}
	return d
}
