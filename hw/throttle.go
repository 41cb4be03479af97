package hw

import (
	"math"

	"anesim/hw/clock"
	"anesim/hw/tiles"
)

// A draw is what the last descriptor of a chain leaves of a power budget to the next.
type draw struct {
	watts    float64          // while it works
	trailing clock.Nanojoules // of its energy, what its last results take beside the next
}

// spare returns the energy that a budget has for a descriptor beside that of its own time: what
// the one before does not draw while both work, less what that one's last results take.
func (l *draw) spare(budget float64, lead clock.Nanoseconds) clock.Nanojoules {
	return clock.Nanojoules(max(0, budget-l.watts)*float64(lead)) - l.trailing
}

// throttle adds the cycles that keep a chain's power within the budget while a descriptor
// runs, with what is to spare beside its own time. What its events cost does not depend on
// how long it takes and what its engines burn grows with that, so that of an energy E of
// events and an active power A it takes E / (budget - A) at the least. How the silicon
// throttles is not known: the documents give thresholds without units.
func (p *params) throttle(d *DescriptorReport, open tiles.Enables, spare clock.Nanojoules) {
	if d.Time <= 0 || float64(d.Energy-spare) <= p.budget*float64(d.Time) {
		return
	}
	active := float64(d.Parts.Active) / float64(d.Time)
	room := p.budget - active
	if room <= 0 {
		return // no speed keeps the budget: NewSession refuses it
	}
	least := float64(d.Energy-d.Parts.Active-spare) / room // nanoseconds
	total := clock.Cycles(math.Ceil(least * float64(p.clock) / 1e9))
	if have := d.Cycles.Total(); total > have {
		d.Cycles.Throttle = total - have
	}
	d.Time = p.clock.Time(d.Cycles.Total())
	d.Parts = p.energy(d, open)
	d.Energy = d.Parts.Total()
}
