package firmware

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Domain is a part of the engine that can be powered separately.
type Domain uint8

// Power domains: the base and four clusters of MAC engines.
const (
	Base Domain = iota
	Cluster0
	Cluster1
	Cluster2
	Cluster3

	domains = 1 + clusters
)

// String returns the name of the domain, such as "cluster 0".
func (d Domain) String() string {
	if d == Base {
		return "base"
	}
	return fmt.Sprintf("cluster %d", d-Cluster0)
}

// powerOn is the low byte of a status word whose domain is fully on. It is 0 for a domain
// that is fully off (decompiled, table C.12).
const powerOn = 0xff

// statusAddress returns the address of the domain's status word. The documents give 0xc000
// + 8*d without a block. The block is assumed to be ANE, whose tile enables follow at
// 0xd014.
func (d Domain) statusAddress() uint64 { return baseANE + 0xc000 + 8*uint64(d) }

// Domains represents a set of power domains. Bit d is set if the set contains domain d.
type Domains uint8

// AllDomains is the set of the base and the four clusters.
const AllDomains Domains = 1<<domains - 1

// DomainsOf returns the set of the given domains.
func DomainsOf(ds ...Domain) (s Domains) {
	for _, d := range ds {
		s |= 1 << d
	}
	return s & AllDomains
}

// Has reports whether d is in the set.
func (s Domains) Has(d Domain) bool { return s>>d&1 != 0 }

// String returns the names of the domains in the set, separated by commas, or "none" if it
// is empty.
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

// PowerTimes holds how long the engine stays on while idle and how long it needs to wake up. The
// values for a chip are in hw.Chip. The zero PowerTimes describes an engine that powers down at
// once and wakes up without delay.
type PowerTimes struct {
	WakeGap  clock.Nanoseconds // shortest gap after which a wake takes WakeTime
	WakeTime clock.Nanoseconds
	ColdGap  clock.Nanoseconds // shortest gap after which a wake takes ColdWake
	ColdWake clock.Nanoseconds
	RailsOff clock.Nanoseconds // time from a dispatch until the rails go off
}

// Wake returns the time that the engine needs to wake up after an idle gap. The time grows linearly
// from 0 to WakeTime for gaps up to WakeGap, stays at WakeTime for longer gaps, and is ColdWake for
// gaps of ColdGap or more.
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

// A Power is the state of the engine's power domains. The zero Power with Times set describes a
// chip that has just started: all domains are off, and the time since the start counts as an idle
// gap.
type Power struct {
	Times PowerTimes
	// Ungated powers all clusters with the base, instead of only those that a task needs.
	Ungated bool

	up  Domains
	gap clock.Nanoseconds // since the last dispatch, or since the start
}

// Up returns the set of domains that are on.
func (p *Power) Up() Domains { return p.up }

// Status returns the status register of domain d. Its low byte is 0xff if the domain is on.
func (p *Power) Status(d Domain) uint32 {
	if p.up.Has(d) {
		return powerOn
	}
	return 0
}

// Idle advances the time by t without work, and returns how long the power rails are on during t.
// Once the engine has been idle for Times.RailsOff, all domains are off and draw no power.
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

// Wake turns on the base and all domains in the set need, and returns the duration of the wake-up.
// Domains that are already on stay on. The duration depends only on the length of the idle gap,
// because the additional time of a cluster was never measured.
func (p *Power) Wake(need Domains) clock.Nanoseconds {
	took := p.Times.Wake(p.gap)
	if p.Ungated {
		need = AllDomains
	}
	p.up |= (need | DomainsOf(Base)) & AllDomains
	p.gap = 0
	return took
}

// isAwake reports whether the base domain is on and has finished waking up, because no time has
// passed since the last wake.
func (p *Power) isAwake() bool { return p.up.Has(Base) && p.gap == 0 }

// turnOff turns off all domains at once, as happens when the engine enters or leaves secure mode. The
// next wake-up is assumed to take at least as long as one after an idle gap of Times.RailsOff.
func (p *Power) turnOff() {
	p.up = 0
	if off := p.Times.RailsOff; !math.IsInf(float64(off), 1) {
		p.gap = max(p.gap, off)
	}
}

// clustersForTask returns the clusters with the engines that execute task t if the tiles in the
// mask open are enabled. The task gives a number of engines. Engines with both tiles enabled are
// used first, then engines with lower numbers (assumed). A planar task needs no cluster, because
// the planar engine is assumed to belong to the base.
func clustersForTask(t *regs.Task, open uint32) Domains {
	if t.Groups.Planar() {
		return 0
	}
	var s Domains
	left := 1 << min(4, t.Groups.Common.Cfg.ActiveNE())
	for tiles := tilesPerEngine; tiles > 0; tiles-- {
		for e := range enginesPerCluster * clusters {
			engine := open >> (tilesPerEngine * e) & (1<<tilesPerEngine - 1)
			if left > 0 && bits.OnesCount32(engine) == tiles {
				s |= DomainsOf(Cluster0 + Domain(e/enginesPerCluster))
				left--
			}
		}
	}
	return s
}

// PowerOn reports whether domain d is fully on, according to its status register.
func (c *Controller) PowerOn(d Domain) bool {
	return c.mmio.words[d.statusAddress()]&0xff == powerOn
}

// Wake turns on the power domains in need and the base domain, updates their status registers, and
// returns the duration of the wake-up. [Controller.Run] does this for the tasks of a chain.
func (c *Controller) Wake(need Domains) clock.Nanoseconds {
	c.power.Times, c.power.Ungated = c.PowerTimes, c.Ungated
	took := c.power.Wake(need)
	c.writePowerStatus()
	return took
}

// Idle advances the time by t without work, and returns how long the power rails are on during t.
// Time before [Controller.Boot] does not count.
func (c *Controller) Idle(t clock.Nanoseconds) (waiting clock.Nanoseconds) {
	c.power.Times, c.power.Ungated = c.PowerTimes, c.Ungated
	waiting = c.power.Idle(t)
	c.writePowerStatus()
	return waiting
}

// PowerDown turns off all domains at once and updates their status registers. See
// Power.down.
func (c *Controller) PowerDown() {
	c.power.Times, c.power.Ungated = c.PowerTimes, c.Ungated
	c.power.turnOff()
	c.writePowerStatus()
}

// WakeTime returns how long the last [Controller.Run] waited for the engine to wake up.
func (c *Controller) WakeTime() clock.Nanoseconds { return c.wakeTime }

// powerOnClusters turns on the clusters that task t needs if only the tiles in the mask open are
// enabled. It does not lengthen the wake-up of the dispatch.
func (c *Controller) powerOnClusters(t *regs.Task, open uint32) {
	if need := clustersForTask(t, open); need&^c.power.Up() != 0 {
		c.Wake(need)
	}
}

// writePowerStatus writes the status of every power domain to its register.
func (c *Controller) writePowerStatus() {
	for d := range Domain(domains) {
		c.mmio.writeMasked(d.statusAddress(), 0xff, c.power.Status(d))
	}
}
