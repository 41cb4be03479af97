package hw

import (
	"math"

	"anesim/hw/clock"
	"anesim/internal/datapath/tiles"
)

// A powerDraw holds the power that the last descriptor of a chain draws while the next one starts.
type powerDraw struct {
	watts    float64          // mean power while it works
	trailing clock.Nanojoules // part of its energy: its last results, while the next descriptor runs
}

// spareEnergy returns the energy that a descriptor may use beyond the power budget of its own time.
// It is the energy that the previous descriptor did not use during the time lead, minus the energy
// of its last results.
func (l *powerDraw) spareEnergy(budget float64, lead clock.Nanoseconds) clock.Nanojoules {
	return clock.Nanojoules(max(0, budget-l.watts)*float64(lead)) - l.trailing
}

// throttleToBudget adds cycles to a descriptor until its chain stays within the power budget. spare
// is the energy that is available in addition to that of the descriptor's own time. The energy of
// events does not depend on the duration and the active energy grows with it, so a descriptor with
// event energy E and active power A takes at least E / (budget - A). How the silicon throttles is
// not known: the documents give thresholds without units.
func (p *params) throttleToBudget(d *DescriptorReport, open tiles.Enables, spare clock.Nanojoules) {
	if d.Time <= 0 || float64(d.Energy-spare) <= p.budget*float64(d.Time) {
		return
	}
	active := float64(d.Parts.Active) / float64(d.Time)
	room := p.budget - active
	if room <= 0 {
		return // no speed keeps the budget; NewSession rejects such budgets
	}
	least := float64(d.Energy-d.Parts.Active-spare) / room // nanoseconds
	total := clock.Cycles(math.Ceil(least * float64(p.clock) / 1e9))
	if have := d.Cycles.Total(); total > have {
		d.Cycles.Throttle = total - have
	}
	d.Time = p.clock.Time(d.Cycles.Total())
	d.Parts = p.computeEnergy(d, open)
	d.Energy = d.Parts.Total()
}
