package firmware

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Domain is a power domain of the engine.
type Domain uint8

// The five power domains.
const (
	Base Domain = iota
	Cluster0
	Cluster1
	Cluster2
	Cluster3

	domains = 1 + Clusters
)

// String names the domain.
func (d Domain) String() string {
	if d == Base {
		return "base"
	}
	return fmt.Sprintf("cluster %d", d-Cluster0)
}

// powerOn is the low byte of a status word whose domain is fully on; 0 is fully off
// (decompiled, table C.12).
const powerOn = 0xff

// status is the address of the domain's status word. The documents give 0xc000 + 8*d
// without a block; ANE is assumed, where the tile enables follow at 0xd014.
func (d Domain) status() uint64 { return baseANE + 0xc000 + 8*uint64(d) }

// Domains is a set of power domains: bit d is domain d.
type Domains uint8

// AllDomains is the base and the four clusters.
const AllDomains Domains = 1<<domains - 1

// DomainsOf is the set of some domains.
func DomainsOf(ds ...Domain) (s Domains) {
	for _, d := range ds {
		s |= 1 << d
	}
	return s & AllDomains
}

// Has reports whether d is in the set.
func (s Domains) Has(d Domain) bool { return s>>d&1 != 0 }

// String lists the domains.
func (s Domains) String() string {
	var names []string
	for d := range Domain(domains) {
		if s.Has(d) {
			names = append(names, d.String())
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// PowerTimes say what an idle gap does. The firmware has them from its device: see
// hw.Chip for values and evidence. The zero PowerTimes wakes for nothing and goes dark at
// once.
type PowerTimes struct {
	WakeGap  clock.Nanoseconds // the gap from which a wake takes WakeTime
	WakeTime clock.Nanoseconds
	ColdGap  clock.Nanoseconds // the gap from which it takes ColdWake
	ColdWake clock.Nanoseconds
	RailsOff clock.Nanoseconds // how long after a dispatch the rails go off
}

// Wake is what the first call after an idle gap waits: nothing back to back, from there
// on a straight line to WakeTime at WakeGap, flat to ColdGap and ColdWake behind it.
func (t *PowerTimes) Wake(gap clock.Nanoseconds) clock.Nanoseconds {
	switch {
	case gap <= 0:
		return 0
	case gap < t.WakeGap:
		return t.WakeTime * (gap / t.WakeGap)
	case gap < t.ColdGap:
		return t.WakeTime
	}
	return t.ColdWake
}

// Power is the state of the power domains. The zero Power with its Times is that of a
// chip which has just started: every domain down, no time gone by.
//
// A first call since then is a call after an idle gap like any other, the time since the
// start: what was measured (row r0173: 260 ms) is a gap of 5 s, and nothing published
// tells a start from a gap.
type Power struct {
	Times PowerTimes
	// Ungated brings every cluster up with the base: dynamic gating is off.
	Ungated bool

	up  Domains
	gap clock.Nanoseconds // since the last dispatch, or since the start
}

// Up is the domains that are on.
func (p *Power) Up() Domains { return p.up }

// Status is the domain's status word: its low byte reads 0xff when the domain is on.
func (p *Power) Status(d Domain) uint32 {
	if p.up.Has(d) {
		return powerOn
	}
	return 0
}

// Idle lets time pass without a dispatch and returns the part of it with the rails on,
// in which the engine waits under power. After Times.RailsOff everything is down and
// draws nothing.
func (p *Power) Idle(t clock.Nanoseconds) (waiting clock.Nanoseconds) {
	t = max(0, t)
	if p.up != 0 {
		waiting = max(0, min(t, p.Times.RailsOff-p.gap))
	}
	p.gap += t
	if p.gap >= p.Times.RailsOff {
		p.up = 0
	}
	return waiting
}

// Wake brings up the base and the domains of need for a dispatch, and returns how long
// that takes. Domains that are up stay so. The time is a function of the gap alone:
// what a cluster adds was never measured, and is nothing here.
func (p *Power) Wake(need Domains) clock.Nanoseconds {
	took := p.Times.Wake(p.gap)
	if p.Ungated {
		need = AllDomains
	}
	p.up |= (need | DomainsOf(Base)) & AllDomains
	p.gap = 0
	return took
}

// awake reports whether the base is up and no time has gone by since the last wake.
func (p *Power) awake() bool { return p.up.Has(Base) && p.gap == 0 }

// Down takes every domain down at once, as the boundary of secure mode does. The next wake
// is as after the idle gap in which the rails go off (assumed).
func (p *Power) Down() {
	p.up = 0
	if off := p.Times.RailsOff; !math.IsInf(float64(off), 1) {
		p.gap = max(p.gap, off)
	}
}

// clustersOf is the clusters of the engines that a task's work goes to: as many as it
// names, of those with an open tile; engines with both open are taken first, then lower
// ones (assumed). A planar task needs no cluster (assumed: the planar engine is the
// base's).
func clustersOf(t *regs.Task, open uint32) Domains {
	if t.Groups.Planar() {
		return 0
	}
	var s Domains
	left := 1 << min(4, t.Groups.Common.Cfg.ActiveNE())
	for tiles := TilesPerEngine; tiles > 0; tiles-- {
		for e := range EnginesPerCluster * Clusters {
			engine := open >> (TilesPerEngine * e) & (1<<TilesPerEngine - 1)
			if left > 0 && bits.OnesCount32(engine) == tiles {
				s |= DomainsOf(Cluster0 + Domain(e/EnginesPerCluster))
				left--
			}
		}
	}
	return s
}

// PowerOn reports whether the domain's status word says that it is fully on.
func (c *Controller) PowerOn(d Domain) bool {
	return c.mmio.words[d.status()]&0xff == powerOn
}

// Wake brings up the base and the domains of need, as Power.Wake does, and the status
// words with them. Run does it for the work it finds.
func (c *Controller) Wake(need Domains) clock.Nanoseconds {
	c.power.Times, c.power.Ungated = c.PowerTimes, c.Ungated
	took := c.power.Wake(need)
	c.writePower()
	return took
}

// Idle lets time pass without a dispatch, and returns the part of it with the rails on:
// see Power.Idle. Time before the boot does not count.
func (c *Controller) Idle(t clock.Nanoseconds) (waiting clock.Nanoseconds) {
	c.power.Times, c.power.Ungated = c.PowerTimes, c.Ungated
	waiting = c.power.Idle(t)
	c.writePower()
	return waiting
}

// PowerDown takes every domain down at once: see Power.Down. Run and Wake bring them up.
func (c *Controller) PowerDown() {
	c.power.Times, c.power.Ungated = c.PowerTimes, c.Ungated
	c.power.Down()
	c.writePower()
}

// WakeTime is how long the last Run waited for the domains it needed.
func (c *Controller) WakeTime() clock.Nanoseconds { return c.woke }

// raise brings up the clusters that a task needs, in the wake its dispatch has paid for.
func (c *Controller) raise(t *regs.Task, open uint32) {
	if need := clustersOf(t, open); need&^c.power.Up() != 0 {
		c.Wake(need)
	}
}

func (c *Controller) writePower() {
	for d := range Domain(domains) {
		c.mmio.write(d.status(), 0xff, c.power.Status(d))
	}
}
