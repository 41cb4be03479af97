package anesim

import (
	"fmt"

	"anesim/hw"
	"anesim/hw/clock"
)

// Timeline returns the run's power on the wall clock.
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
		l.addPart(&l.Host, r.Stages(), 0, 0, SpanHost)
	}
	if n := r.repeatedRounds(); n > 0 {
		round := &Timeline{Waiting: l.Waiting}
		for d, p := range r.lastRound() {
			c := r.Counted(p, d)
			round.Add(&c, p.Host)
		}
		l.addRepeats(round, n)
	}
	return l
}

// Waiting returns the function that computes the energy of waits; see [engine.Options.Waiting].
func (r *Result) Waiting() func(engines int, t clock.Nanoseconds) clock.Nanojoules {
	o := r.Options.engineOptions()
	return o.Waiting()
}

// Host returns the time that the host adds to the engine's time.
func (r *Result) Host() (t clock.Nanoseconds) {
	for i := range r.Programs {
		p := &r.Programs[i]
		t += p.Host * clock.Nanoseconds(len(p.Dispatches)+p.Again)
	}
	if len(r.Programs) == 0 {
		t = r.Stages()
	}
	return t
}

// Time returns the engine's time and its interval.
func (r *Result) Time() (clock.Nanoseconds, hw.Interval) {
	return r.Report.Time, r.Report.Bounds()
}

// Wall returns the time on the wall clock: that of the engine and the host, idling and waking.
func (r *Result) Wall() clock.Nanoseconds {
	l := r.Timeline()
	return r.Report.Time + r.Host() + l.Idle.Time + l.Wake.Time
}
