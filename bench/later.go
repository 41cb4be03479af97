package bench

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/internal/measured"
)

// A LaterResidual pairs the published time of a call on a machine after the M1 with the time of an
// M1's program that is scaled to the machine.
type LaterResidual struct {
	Row     *measured.Row
	Machine string
	Engine  clock.Nanoseconds
	load    host.Load
	macs    uint64
	bytes   uint64 // moved
	// Time is the estimate with the constants of a call fitted to all machines, NewMachine the one
	// with constants that were fitted without this machine.
	Time, NewMachine Pair
	// Low and High bound the published time, as factors of NewMachine's estimate.
	Low, High float64
}

// holds reports whether the published time lies within the interval of the estimate.
func (r *LaterResidual) holds() bool {
	x := r.ratio()
	return r.Low <= x && x <= r.High
}

func (r *LaterResidual) ratio() float64 { return r.NewMachine.Reference / r.NewMachine.Model }

// laterMachines maps the chip of a row to the machine that is scaled for it.
var laterMachines = map[string]string{
	"M2": "m2", "M2Max": "m2max", "M2Pro": "m2pro", "M3Pro": "m3pro", "M3Max": "m3max",
	"M4": "m4", "M4Pro": "m4pro", "M4Max": "m4max", "M5": "m5", "M5Pro": "m5pro", "M6": "m6",
}

// floors are the times of a call in microseconds by software that was measured on one or two machines
// only, so that no other machine shows them. Each is the middle of the range that its source states for small
// calls: a private client on an M4 (112 to 119), the same with counters (346 to 430), a prediction on
// an M6 (145 to 165), Core AI on an M5 Pro (340), a request up to the end of its task on an M6 (27 to 30).
var floors = map[string]float64{"client": 115, "counters": 388, "coreml": 155, "coreai": 340, "task": 29, "engine": 0}

// A call holds the constants of a call by the private runtime: us, and us per MB of inputs and outputs.
// One rate serves both directions, because the rows hardly tell them apart.
type call [2]float64

func (r *LaterResidual) terms() call {
	return call{1, float64(r.load.In+r.load.Out) / 1e6}
}

// CompareLater estimates every measured row of a machine after the M1 that can be modelled, and
// returns an error for each other row.
func CompareLater() (list []LaterResidual, unmodelled []error, err error) {
	x, err := compareLater()
	return slices.Clone(x.list), x.unmodelled, err
}

// A laterComparison is the result of [CompareLater].
type laterComparison struct {
	list       []LaterResidual
	unmodelled []error
}

// compareLater makes the comparison once: it takes most of the time of a report.
var compareLater = sync.OnceValues(func() (laterComparison, error) {
	list, unmodelled, err := estimateLater()
	if err != nil {
		return laterComparison{}, err
	}
	for i := range list {
		x := &list[i]
		us := x.Row.Warm() * 1e3
		x.Time = Pair{float64(x.callTime(fitCall(list, ""))), us}
		x.NewMachine = Pair{float64(x.callTime(fitCall(list, x.Machine))), us}
	}
	setLaterBounds(list)
	return laterComparison{list, unmodelled}, nil
})

// estimateLater returns the engine's time of every row.
func estimateLater() (list []LaterResidual, unmodelled []error, err error) {
	rows, err := measured.LaterRows()
	if err != nil {
		return nil, nil, err
	}
	l := newLowerer()
	for i := range rows {
		r := &rows[i]
		c, err := l.chain(r)
		if err != nil {
			unmodelled = append(unmodelled, err)
			continue
		}
		m, err := machine.ByName(laterMachines[r.Chip])
		if err != nil {
			return nil, nil, err
		}
		e := c.estimate(laterChip(&m, r), host.Host{})
		e.Engine += quantizing(&m.Chip, r, c.Host)
		list = append(list, LaterResidual{Row: r, Machine: m.Name, Engine: e.Engine, load: c.Host, macs: e.MACs, bytes: e.DMA.Total()})
	}
	return list, unmodelled, nil
}

// quantizing returns the time for a row with 8-bit activations in which the planar engine turns its fp16 input into 8-bit
// values and its result back, an element at a time. On an M4, the layers of two tools whose input and output are
// large take that much longer than their arithmetic. Calls through Core AI, of an M5 Pro, do not.
func quantizing(c *hw.Chip, r *measured.Row, load host.Load) clock.Nanoseconds {
	if r.Activations != "int8" || r.Path == "coreai" {
		return 0
	}
	const elementBytes = 2
	elements := float64(load.In+load.Out) / elementBytes
	return clock.Hertz(c.PlanarRate.Value).Time(clock.Cycles(elements))
}

// laterChip returns the chip of m for row r: at the row's clock, at twice the rate for 8-bit
// activations, which the array of H16 and later multiplies so (503 of 512 a core on an M4 Pro) and of which memory and
// DMA move twice as many, and with weights from the system cache if all layers of a chain share them.
func laterChip(m *machine.Machine, r *measured.Row) hw.Chip {
	c := m.Chip
	if r.Clock > 0 {
		c = c.AtClock(clock.Hertz(r.Clock) * 1e6)
	}
	if r.Activations == "int8" {
		// The rates of weights stay: their bytes are counted.
		for _, k := range [...]*evidence.Constant{&c.Clock, &c.ReadRate, &c.TotalRate, &c.TileRate} {
			k.Value *= 2
		}
	}
	if r.Shared {
		c.LaneRate.Value *= 16
		c.BusyLaneRate.Value *= 16
		// Layers of 64 pixels with the weights of all 128 layers read them at 104 to 123 bytes a cycle on an M3
		// Pro, an M4 Max and an M5, more than tensors move.
		c.ReadRate.Value *= 2
		c.TotalRate.Value *= 2
	}
	return c
}

// isEarly reports whether the machine of r has an M2, whose host copies as slowly as that of an M1
// Max. Hosts from the M3 on copy three times as fast.
func (r *LaterResidual) isEarly() bool { return strings.HasPrefix(r.Row.Chip, "M2") }

// callTime returns the time of a call if c holds the constants of the private runtime.
func (r *LaterResidual) callTime(c call) clock.Nanoseconds {
	us, terms := floors[r.Row.Path], r.terms()
	switch {
	case r.Row.Path == "e5rt" && r.isEarly():
		h := machine.EarlyHost()
		return machine.Wall(r.Engine, h.Time(r.load))
	case r.Row.Path == "e5rt":
		us = c[0] + float64(c[1]*terms[1])
	}
	return machine.Wall(r.Engine, clock.Nanoseconds(1e3*us))
}

// fitCall returns the constants of a call by the private runtime that minimize the sum of the relative
// errors of the rows of all machines from the M3 on but one. Each constant in turn becomes the
// weighted median of the rest. All machines count the same.
func fitCall(list []LaterResidual, except string) (c call) {
	fits := func(x *LaterResidual) bool { return x.Row.Path == "e5rt" && !x.isEarly() && x.Machine != except }
	counts := make(map[string]float64)
	for i := range list {
		if x := &list[i]; fits(x) {
			counts[x.Machine]++
		}
	}
	for range 20 {
		for k := range c {
			var rests []weighted
			for i := range list {
				x := &list[i]
				t := x.terms()
				if !fits(x) || t[k] == 0 {
					continue
				}
				own := c
				own[k] = 0
				us := x.Row.Warm() - float64(x.callTime(own))/1e3
				rests = append(rests, weighted{us / t[k], t[k] / x.Row.Warm() / counts[x.Machine]})
			}
			c[k] = max(0, weightedMedian(rests))
		}
	}
	return c
}

// A weighted is a value with its weight.
type weighted struct{ value, weight float64 }

// weightedMedian returns the value from which the sum of the weighted distances is least, or 0 for no
// values. It sorts list.
func weightedMedian(list []weighted) float64 {
	half := 0.0
	for _, x := range list {
		half += x.weight / 2
	}
	slices.SortFunc(list, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	for _, x := range list {
		if half -= x.weight; half <= 0 {
			return x.value
		}
	}
	return 0
}

// setLaterBounds sets the bounds of every row. Their width depends on the machine, the kind of work, the
// length of the call and the software; norms have bounds from the norms of other machines.
func setLaterBounds(list []LaterResidual) {
	var rows []deviation
	for i := range list {
		x := &list[i]
		d := deviation{
			distance: distanceOf(x.ratio()),
			features: []string{x.Machine, x.Row.Path, workKind(x.Row), lengthClass(x.NewMachine.Model / 1e3)},
		}
		for _, c := range x.listCuts() {
			d.cuts = append(d.cuts, c.String())
		}
		if isNorm(x.Row) {
			x.Low, x.High = laterBounds(list, func(o *LaterResidual) bool { return isNorm(o.Row) && o.Machine != x.Machine })
			d.held, d.inside = true, x.holds()
		}
		rows = append(rows, d)
	}
	s := fitSpread(rows)
	for i := range list {
		if !rows[i].held {
			list[i].Low, list[i].High = s.bounds(rows[i].features...)
		}
	}
}

// listCuts returns the groups to which r belongs.
func (r *LaterResidual) listCuts() []cut {
	return []cut{{"all", "all"}, {"machine", r.Machine}, {"software", r.Row.Path}, {"kind", rowKind(r.Row)}, {"length", sizeClass(r.Row)}}
}

// LaterCoverage counts the rows of list inside their intervals by machine, software, kind of work and length.
func LaterCoverage(list []LaterResidual) []Coverage {
	count := make(map[cut]*Coverage)
	for i := range list {
		for _, c := range list[i].listCuts() {
			countInCut(count, c, list[i].holds())
		}
	}
	return sortCoverage(count, "all", "machine", "software", "kind", "length")
}

// laterBounds returns quantiles of published over estimated time of the rows that keep selects.
func laterBounds(list []LaterResidual, keep func(*LaterResidual) bool) (low, high float64) {
	var ratios []float64
	for i := range list {
		if x := &list[i]; keep(x) {
			ratios = append(ratios, x.ratio())
		}
	}
	return quantileBounds(ratios)
}

// isEngineCall reports whether the engine accounts for more than half of the time of r in a fit without its machine.
// Norms are not judged with others.
func (r *LaterResidual) isEngineCall() bool {
	return 2*float64(r.Engine) > r.NewMachine.Model && !isNorm(r.Row)
}

// engineRatio returns the published time less the estimated part of the host, divided by the estimated time of the
// engine.
func (r *LaterResidual) engineRatio() float64 {
	return (r.NewMachine.Reference - (r.NewMachine.Model - float64(r.Engine))) / float64(r.Engine)
}

// unseenEngineSpread returns the spread of the engine's time on the named machine, from calls on others that are
// mostly the engine's.
func unseenEngineSpread(list []LaterResidual, name string) (s hw.Spread) {
	var ratios []float64
	for i := range list {
		if x := &list[i]; x.Machine != name && x.isEngineCall() {
			ratios = append(ratios, x.engineRatio())
		}
	}
	s.Low, s.High = quantileBounds(ratios)
	s.Rows = len(ratios)
	return s
}

// laterEngineSpread returns the spread of the engine's time on the named machine: that of its own rows if
// they are enough, and otherwise that of unseenEngineSpread. Both together would hold too many.
func laterEngineSpread(list []LaterResidual, name string) hw.Spread {
	s := unseenEngineSpread(list, name)
	var own []float64
	for i := range list {
		if x := &list[i]; x.Machine == name && x.isEngineCall() {
			own = append(own, x.engineRatio())
		}
	}
	if len(own) >= enoughRows {
		s.Low, s.High = quantileBounds(own)
		s.Rows = len(own)
	}
	return s
}

// EngineCoverage counts, by machine, the calls that are mostly the engine's and lie within the spread of
// the engine's time that comes from other machines.
func EngineCoverage(list []LaterResidual) []Coverage {
	count := make(map[cut]*Coverage)
	for i := range list {
		if x := &list[i]; x.isEngineCall() {
			s, ratio := unseenEngineSpread(list, x.Machine), x.engineRatio()
			countInCut(count, cut{"all", "all"}, s.Low <= ratio && ratio <= s.High)
			countInCut(count, cut{"machine", x.Machine}, s.Low <= ratio && ratio <= s.High)
		}
	}
	return sortCoverage(count, "all", "machine")
}

// A LaterSummary holds the errors of the rows of one machine, or of all, with the machine left out.
type LaterSummary struct {
	Machine string
	Summary
	Holds  Coverage // rows within their intervals
	Within int      // rows with an error of at most 25 %
}

// SummarizeLater returns the errors of each machine in list and, last, those of all machines.
func SummarizeLater(list []LaterResidual) ([]LaterSummary, error) {
	var judged []judgedCall
	for i := range list {
		x := &list[i]
		judged = append(judged, judgedCall{x.Machine, x.NewMachine, x.holds()})
	}
	return summarizeMachines(judged)
}

// A judgedCall pairs a published figure of a call on a machine with its estimate. holds says whether the figure
// lies in the interval of the estimate.
type judgedCall struct {
	machine string
	Pair
	holds bool
}

// summarizeMachines returns the errors of each machine in list and, last, those of all machines.
func summarizeMachines(list []judgedCall) ([]LaterSummary, error) {
	var out []LaterSummary
	for _, name := range append(machine.Names(), "all") {
		s := LaterSummary{Machine: name}
		var pairs []Pair
		for i := range list {
			x := &list[i]
			if name != "all" && x.machine != name {
				continue
			}
			e := x.Error()
			pairs = append(pairs, x.Pair)
			s.Holds.countMeasurement(x.holds)
			// Counted apart, because most of these machines have a few rows only, whose median says
			// little.
			if -0.25 <= e && e <= 0.25 {
				s.Within++
			}
		}
		if len(pairs) == 0 && name != "all" {
			continue // a machine without rows has no errors; without any, Summarize says so
		}
		var err error
		if s.Summary, err = Summarize(pairs); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
