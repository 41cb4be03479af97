package anesim

import (
	"fmt"

	"anesim/hw"
	"anesim/hw/clock"
)

// A Span is a stretch of a run's wall time at one power.
type Span struct {
	At, For clock.Nanoseconds // since the run's start
	Energy  clock.Nanojoules
	What    string
}

// The span that a dispatch begins with: the host's, or none without a host.
const (
	SpanHost     = "host"
	SpanDispatch = "dispatch"
)

// Watts is the span's power. A span of no time has none, only energy.
func (s *Span) Watts() float64 {
	if s.For <= 0 {
		return 0
	}
	return float64(s.Energy) / float64(s.For)
}

// A Part is a kind of time on the wall clock and the energy that went in it.
type Part struct {
	Time   clock.Nanoseconds
	Energy clock.Nanojoules
}

// A Timeline is the engine's power over a run's wall time: spans that follow each other
// without a gap. A dispatch is
//
//	idle | rails off | wake | host | descriptor | descriptor | ...
//
// where those that take no time are left out. The engine draws Waiting while it idles
// with the rails on, while it wakes and while the host works: as much as at work for as long
// as the rail holds, then nothing.
// The host's time is taken to be all before the descriptors, and has the dispatch's own
// energy too. Without a host nothing on the wall clock holds that: it is then a span
// of no time, "dispatch", so that the spans' energies are still all there is.
type Timeline struct {
	// Waiting is the energy of a wait after work on a number of engines: Chip.Waiting.
	Waiting func(engines int, t clock.Nanoseconds) clock.Nanojoules
	// Label says what a descriptor's span is; nil for its index and operation.
	Label func(*hw.DescriptorReport) string

	Spans []Span
	Idle  Part
	Wake  Part
	Host  Part // energy without the dispatches' own
	End   clock.Nanoseconds
}

// Add adds a dispatch and the host's part of it.
func (l *Timeline) Add(d *Dispatch, host clock.Nanoseconds) {
	engines := max(hw.Engines(d.Descriptors), d.Rest.Engines)
	waiting := func(t clock.Nanoseconds) clock.Nanojoules { return l.Waiting(engines, t) }
	l.part(&l.Idle, d.Waiting, waiting(d.Waiting), 0, "idle")
	l.part(&l.Idle, d.Idle-d.Waiting, 0, 0, "rails off")
	l.part(&l.Wake, d.Wake, waiting(d.Wake), 0, "wake")
	if host > 0 {
		l.part(&l.Host, host, waiting(host), d.Energy, SpanHost)
	} else {
		l.span(0, d.Energy, SpanDispatch)
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
		l.span(t.Time, t.Energy, what)
	}
	l.spread(first, d.Descriptors)
	if r := &d.Rest; r.Count > 0 {
		l.span(r.Time, r.Energy, fmt.Sprintf("%d descriptors that are not listed", r.Count))
	}
}

// spread moves energy between the spans of descriptors that work beside each other: each one's
// own is spread evenly over the time in which it works.
func (l *Timeline) spread(first int, list []hw.DescriptorReport) {
	spans := l.Spans[first:]
	// move moves energy of span i to those within a time before it or behind it. What has no
	// span there stays.
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

// repeat adds another timeline so many times: the energy of its spans of no time as one,
// and all else as one.
func (l *Timeline) repeat(round *Timeline, times int) {
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
		l.span(0, clock.Nanojoules(n*float64(instant)), fmt.Sprintf("%d dispatches", times))
	}
	l.span(clock.Nanoseconds(n*float64(round.End)), clock.Nanojoules(n*float64(energy)), what)
}

// part adds a span of a kind, with energy of another source in it.
func (l *Timeline) part(p *Part, time clock.Nanoseconds, energy, more clock.Nanojoules, what string) {
	if time <= 0 {
		return
	}
	p.Time += time
	p.Energy += energy
	l.span(time, energy+more, what)
}

func (l *Timeline) span(time clock.Nanoseconds, energy clock.Nanojoules, what string) {
	l.Spans = append(l.Spans, Span{l.End, time, energy, what})
	l.End += time
}

// Peak is the power of the highest span, in watts.
func (l *Timeline) Peak() (watts float64) {
	for i := range l.Spans {
		watts = max(watts, l.Spans[i].Watts())
	}
	return watts
}

// RailsOff is how long into an idle gap the rails go off, infinitely long where the power
// policy keeps them on.
func (r *Result) RailsOff() clock.Nanoseconds {
	o := r.Options.engine()
	return o.PowerTimes().RailsOff
}
