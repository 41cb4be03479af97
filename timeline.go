package anesim

import (
	"fmt"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/machine"
)

// A Span is a part of a run's wall time, with the energy that the engine draws in it. The field
// What names the engine's activity, such as "idle", [SpanHost], or the index and operation of a
// descriptor.
type Span struct {
	At, For clock.Nanoseconds // start, counted from the start of the run, and duration
	Energy  clock.Nanojoules
	What    string
}

// Values of Span.What for the first span of a dispatch: the host's time or, without a host, a span
// without duration.
const (
	SpanHost     = "host"
	SpanDispatch = "dispatch"
)

// Watts returns the mean power of the span in watts. It returns 0 for a span without duration.
func (s *Span) Watts() float64 {
	if s.For <= 0 {
		return 0
	}
	return float64(s.Energy) / float64(s.For)
}

// A Part holds the total duration and energy of all spans of one kind, such as the idle ones.
type Part struct {
	Time   clock.Nanoseconds
	Energy clock.Nanojoules
}

// A Timeline divides a run's wall time into consecutive spans and holds the energy of each. Every
// dispatch adds these spans, but none for a step without a duration:
//
//	idle | rails off | wake | host | descriptor | descriptor | ...
//
// The host's time is assumed to precede the descriptors. The function Waiting determines the energy
// of the idle, wake and host spans. While the supply rails are off, the engine draws none.
//
// A dispatch also has a fixed energy, which the host span includes. Without a host, Spans has an
// additional span "dispatch" with this energy and no duration, so that the energies of the spans
// always sum to the total.
type Timeline struct {
	// Waiting returns the energy that the engine draws while it waits for a time t after work
	// on the given number of MAC engines. See [Result.Waiting].
	Waiting func(engines int, t clock.Nanoseconds) clock.Nanojoules
	// Label returns the text of a descriptor's span. If Label is nil, it is the index and
	// operation.
	Label func(*hw.DescriptorReport) string

	Spans []Span
	Idle  Part
	Wake  Part
	Host  Part // without the fixed energy of dispatches
	End   clock.Nanoseconds
}

// Add appends the spans of dispatch d to the timeline. The argument host is the time that the host
// adds to the dispatch, or 0 for a dispatch without a host.
func (l *Timeline) Add(d *Dispatch, host clock.Nanoseconds) {
	engines := d.Engines()
	waiting := func(t clock.Nanoseconds) clock.Nanojoules { return l.Waiting(engines, t) }
	l.addPartSpan(&l.Idle, d.Waiting, waiting(d.Waiting), 0, "idle")
	l.addPartSpan(&l.Idle, d.Idle-d.Waiting, 0, 0, "rails off")
	l.addPartSpan(&l.Wake, d.Wake, waiting(d.Wake), 0, "wake")
	if host > 0 {
		l.addPartSpan(&l.Host, host, waiting(host), d.Energy, SpanHost)
	} else {
		l.addSpan(0, d.Energy, SpanDispatch)
	}
	first := len(l.Spans)
	for i := range d.Descriptors {
		t := &d.Descriptors[i]
		what := ""
		if l.Label != nil {
			what = l.Label(t)
		} else {
			what = fmt.Sprintf("descriptor %d: %v", t.Index, t.Op)
		}
		l.addSpan(t.Time, t.Energy, what)
	}
	l.spreadEnergy(first, d.Descriptors)
	if r := &d.Rest; r.Count > 0 {
		l.addSpan(r.Time, r.Energy, fmt.Sprintf("%d descriptors that are not listed", r.Count))
	}
}

// spreadEnergy distributes the energy of each descriptor in list evenly over the time in which it
// works, which overlaps with the spans of its neighbors. The span of list[0] is l.Spans[first].
func (l *Timeline) spreadEnergy(first int, list []hw.DescriptorReport) {
	spans := l.Spans[first:]
	// move moves energy of span i to its neighbors in direction step, up to a distance of
	// within. Energy for times without a span stays.
	move := func(i, step int, within clock.Nanoseconds, watts float64) {
		for k := i + step; k >= 0 && k < len(spans) && within > 0; k += step {
			part := min(within, spans[k].For)
			e := clock.Nanojoules(watts * float64(part))
			spans[k].Energy += e
			spans[i].Energy -= e
			within -= part
		}
	}
	for i := range list {
		d := &list[i]
		watts := d.Watts()
		move(i, -1, d.Lead, watts)
		move(i, +1, d.Trail, watts)
	}
}

// addRepeats appends a single span for times copies of the timeline round. If spans of the round
// have no duration, it appends a second span without duration for their energy.
func (l *Timeline) addRepeats(round *Timeline, times int) {
	n := float64(times)
	var energy, instant clock.Nanojoules
	for i := range round.Spans {
		if s := &round.Spans[i]; s.For > 0 {
			energy += s.Energy
		} else {
			instant += s.Energy
		}
	}
	for _, p := range [...]struct{ to, of *Part }{{&l.Idle, &round.Idle}, {&l.Wake, &round.Wake}, {&l.Host, &round.Host}} {
		p.to.Time += clock.Nanoseconds(n * float64(p.of.Time))
		p.to.Energy += clock.Nanojoules(n * float64(p.of.Energy))
	}
	what := fmt.Sprintf("%d dispatches like the one before", times)
	if instant > 0 {
		l.addSpan(0, clock.Nanojoules(n*float64(instant)), fmt.Sprintf("%d dispatches", times))
	}
	l.addSpan(clock.Nanoseconds(n*float64(round.End)), clock.Nanojoules(n*float64(energy)), what)
}

// addPartSpan appends a span with the duration time and the energy energy + more. It adds time and
// energy, but not more, to p. It does nothing if time is not positive.
func (l *Timeline) addPartSpan(p *Part, time clock.Nanoseconds, energy, more clock.Nanojoules, what string) {
	if time <= 0 {
		return
	}
	p.Time += time
	p.Energy += energy
	l.addSpan(time, energy+more, what)
}

// addSpan appends a span that starts at l.End and moves l.End to the end of the span.
func (l *Timeline) addSpan(time clock.Nanoseconds, energy clock.Nanojoules, what string) {
	l.Spans = append(l.Spans, Span{l.End, time, energy, what})
	l.End += time
}

// Energy returns the sum of the energies of all spans.
func (l *Timeline) Energy() (e clock.Nanojoules) {
	for i := range l.Spans {
		e += l.Spans[i].Energy
	}
	return e
}

// Peak returns the highest power of any span in watts, or 0 if there are no spans.
func (l *Timeline) Peak() (watts float64) {
	for i := range l.Spans {
		watts = max(watts, l.Spans[i].Watts())
	}
	return watts
}

// RailsOff returns how long the engine idles before its supply rails are switched off, or infinity
// if the power policy never switches them off.
func (r *Result) RailsOff() clock.Nanoseconds {
	o := r.Options.toEngineOptions()
	return o.PowerTimes().RailsOff
}

// Timeline returns the engine's energy over the wall time of the run, including the idle gaps and
// the time of the host. Dispatches of a repeated run that the result does not list have equal
// costs and are combined at the end of the timeline.
func (r *Result) Timeline() *Timeline {
	l := &Timeline{Waiting: r.Waiting()}
	for d, p := range r.Dispatches() {
		if r.Model.kind == KindNetwork {
			l.Label = func(d *hw.DescriptorReport) string {
				return fmt.Sprintf("%s: descriptor %d: %v", r.LayerOf(p, d).Layer.Name, d.Index, d.Op)
			}
		}
		c := r.Counted(p, d)
		l.Add(&c, p.Host)
	}
	if len(r.Programs) == 0 { // the host alone
		l.addPartSpan(&l.Host, r.Stages(), 0, 0, SpanHost)
	}
	if n := r.countUnlistedRounds(); n > 0 {
		round := &Timeline{Waiting: l.Waiting}
		for d, p := range r.yieldLastRound() {
			c := r.Counted(p, d)
			round.Add(&c, p.Host)
		}
		l.addRepeats(round, n)
	}
	return l
}

// Waiting returns a function that computes the energy of a wait. Its arguments are the number of
// MAC engines that worked before the wait, and the duration t of the wait. See
// [engine.Options.Waiting].
func (r *Result) Waiting() func(engines int, t clock.Nanoseconds) clock.Nanojoules {
	o := r.Options.toEngineOptions()
	return o.Waiting()
}

// Host returns how much time the host adds to the engine's time, summed over all dispatches.
func (r *Result) Host() (t clock.Nanoseconds) {
	for i := range r.Programs {
		p := &r.Programs[i]
		t += clock.Nanoseconds(p.Host * clock.Nanoseconds(len(p.Dispatches)+p.Again))
	}
	if len(r.Programs) == 0 {
		t = r.Stages()
	}
	return t
}

// Time returns how long the engine is busy, summed over all dispatches, and the prediction interval
// of that time.
func (r *Result) Time() (clock.Nanoseconds, hw.Interval) {
	return r.Report.Time, r.Report.Bounds()
}

// Wall returns the time from the start to the end of the run: the sum of the engine's time, the
// host's time, and the time in which the engine idles or wakes up.
func (r *Result) Wall() clock.Nanoseconds {
	l := r.Timeline()
	return machine.Wall(r.Report.Time, r.Host()) + l.Idle.Time + l.Wake.Time
}

// Call returns the mean wall time of a dispatch of the run, without idling and waking up.
func (r *Result) Call() clock.Nanoseconds {
	return machine.Wall(r.Report.Time, r.Host()) / clock.Nanoseconds(max(1, r.Options.Repeat))
}

// CallEnergy returns the mean energy of a call of the run, without idling and waking up, and its
// prediction interval if the run is on a scaled machine. Otherwise low and high are 0.
func (r *Result) CallEnergy() (energy, low, high clock.Nanojoules) {
	energy = (r.Report.Energy + r.Timeline().Host.Energy) / clock.Nanojoules(max(1, r.Options.Repeat))
	if m := r.Options.Machine; m != nil && m.Energy.Rows > 0 {
		low, high = energy*clock.Nanojoules(m.Energy.Low), energy*clock.Nanojoules(m.Energy.High)
	}
	return energy, low, high
}

// CallBounds returns the prediction interval of [Result.Call]. It rests on the calls that were measured
// on such a machine, or on machines with such a host, and is never narrower than the interval of the
// engine's time with that of the host added.
func (r *Result) CallBounds() hw.Interval {
	b := r.Report.Bounds()
	n := clock.Nanoseconds(max(1, r.Options.Repeat))
	b.Low, b.High = machine.Wall(b.Low, r.Host())/n, machine.Wall(b.High, r.Host())/n
	spread := machine.HostSpread(r.Options.Host.Name)
	if m := r.Options.Machine; m != nil {
		spread = m.Call
	}
	if spread.Rows == 0 {
		return b
	}
	b.Rows = spread.Rows
	low, high := spread.Bounds(r.Call())
	// The errors of the engine's work, or of calls: the wider ones.
	b.Low, b.High = min(b.Low, low), max(b.High, high)
	return b
}
