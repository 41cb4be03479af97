package hw

import (
	"math"

	"anesim/hw/clock"
	"anesim/hw/tiles"
)

// throttle adds the cycles that keep a descriptor's mean power within the budget. What its
// events cost does not depend on how long it takes and what its engines burn grows with
// that, so that of an energy E of events and an active power A it takes E / (budget - A) at
// the least. How the silicon throttles is not known: the documents give thresholds without
// units.
func (p *params) throttle(d *DescriptorReport, open tiles.Enables) {
	if d.Time <= 0 || float64(d.Energy) <= p.budget*float64(d.Time) {
		return
	}
	active := float64(d.Parts.Active) / float64(d.Time)
	room := p.budget - active
	if room <= 0 {
		return // no speed keeps the budget: NewSession refuses it
	}
	least := float64(d.Energy-d.Parts.Active) / room // nanoseconds
	total := clock.Cycles(math.Ceil(least * float64(p.clock) / 1e9))
	if have := d.Cycles.Total(); total > have {
		d.Cycles.Throttle = total - have
	}
	d.Time = p.clock.Time(d.Cycles.Total())
	d.Parts = p.energy(d, open)
	d.Energy = d.Parts.Total()
}
