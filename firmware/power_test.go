package firmware

import (
	"testing"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

const ms clock.Nanoseconds = 1e6

// m1 are the times of hw.M1.
var m1 = PowerTimes{WakeGap: 100 * ms, WakeTime: 0.5 * ms, ColdGap: 5000 * ms, ColdWake: 260 * ms, RailsOff: 100 * ms}

func TestWakeAfterAGap(t *testing.T) {
	for _, tc := range []struct{ gap, want clock.Nanoseconds }{
		{-1, 0}, {0, 0}, {1 * ms, 0.005 * ms}, {50 * ms, 0.25 * ms}, {100 * ms, 0.5 * ms}, {150 * ms, 0.5 * ms},
		{4999 * ms, 0.5 * ms}, {5000 * ms, 260 * ms}, {3600e3 * ms, 260 * ms},
	} {
		if got := m1.Wake(tc.gap); got != tc.want {
			t.Errorf("a wake after %v takes %v, want %v", tc.gap, got, tc.want)
		}
	}
	var none PowerTimes
	if got := none.Wake(5000 * ms); got != 0 {
		t.Errorf("without times a wake takes %v", got)
	}
}

// A step is an event for the domains and its expected result.
type step struct {
	idle    clock.Nanoseconds // then
	wake    bool
	need    Domains
	waiting clock.Nanoseconds // of idle
	took    clock.Nanoseconds
	up      Domains // at the end
}

func TestPowerOverTime(t *testing.T) {
	base, all := DomainsOf(Base), AllDomains
	first := DomainsOf(Cluster0)
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"a start is an idle gap", []step{
			{idle: 30 * ms}, {wake: true, need: first, took: 0.15 * ms, up: base | first},
		}},
		{"a first call long after the start", []step{
			{idle: 5000 * ms, wake: true, took: 260 * ms, up: base},
		}},
		{"back to back", []step{
			{wake: true, need: first, up: base | first}, {wake: true, need: DomainsOf(Cluster3), up: base | first | DomainsOf(Cluster3)},
		}},
		{"rails on", []step{
			{wake: true, need: all, up: all}, {idle: 60 * ms, waiting: 60 * ms, up: all}, {wake: true, took: 0.3 * ms, up: all},
		}},
		{"rails off", []step{
			{wake: true, need: all, up: all}, {idle: 100 * ms, waiting: 100 * ms}, {idle: 50 * ms}, {wake: true, need: first, took: 0.5 * ms, up: base | first},
		}},
		{"a gap in pieces", []step{
			{wake: true, up: base}, {idle: 40 * ms, waiting: 40 * ms, up: base}, {idle: 70 * ms, waiting: 60 * ms}, {idle: 4890 * ms}, {wake: true, took: 260 * ms, up: base},
		}},
		{"time does not run whose end is below its start", []step{
			{wake: true, up: base}, {idle: -5 * ms, up: base}, {wake: true, up: base},
		}},
	} {
		p := Power{Times: m1}
		for i, s := range tc.steps {
			if got := p.Idle(s.idle); got != s.waiting {
				t.Errorf("%s, step %d: %v of %v with the rails on, want %v", tc.name, i, got, s.idle, s.waiting)
			}
			if s.wake {
				if got := p.Wake(s.need); got != s.took {
					t.Errorf("%s, step %d: the wake took %v, want %v", tc.name, i, got, s.took)
				}
			}
			if p.Up() != s.up {
				t.Errorf("%s, step %d: %v up, want %v", tc.name, i, p.Up(), s.up)
			}
			for d := range Domain(domains) {
				if on := p.Status(d)&0xff == 0xff; on != s.up.Has(d) {
					t.Errorf("%s, step %d: %v reads on %v", tc.name, i, d, on)
				}
			}
		}
	}
}

func TestDomains(t *testing.T) {
	for s, want := range map[Domains]string{
		0: "none", DomainsOf(Base): "base", DomainsOf(Cluster2, Base): "base, cluster 2", DomainsOf(200): "none",
	} {
		if s.String() != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
}

// work returns a chain with one task that uses 1<<active engines.
func work(active uint32) *regs.Stream {
	d := regs.Descriptor{Records: []regs.Record{
		{Addr: 4 * 13, Values: []uint32{regs.Raw(regs.CommonCfg{}.WithActiveNE(active)), regs.Raw(regs.TaskInfo{}.WithTaskNID(1))}},
	}}
	return &regs.Stream{Text: d.Append(nil)}
}

// A dispatch raises the clusters of the open engines that its tasks name, and no others.
func TestRunRaisesTheClustersOfItsWork(t *testing.T) {
	for _, tc := range []struct {
		name  string
		chain *regs.Stream
		gated string
		up    Domains
	}{
		{"planar", chain(), "", DomainsOf(Base)},
		{"one engine", work(0), "", DomainsOf(Base, Cluster0)},
		{"four engines", work(2), "", DomainsOf(Base, Cluster0)},
		{"eight engines", work(3), "", DomainsOf(Base, Cluster0, Cluster1)},
		{"sixteen", work(4), "", AllDomains},
		{"more than there are", work(7), "", AllDomains},
		{"eight, the first cluster gated", work(3), "0-7", DomainsOf(Base, Cluster1, Cluster2)},
		{"four, the first engine of one tile", work(2), "0", DomainsOf(Base, Cluster0, Cluster1)},
		{"one, all of one tile but the last", work(0), "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28", DomainsOf(Base, Cluster3)},
		{"none open", work(4), "0-31", DomainsOf(Base)},
	} {
		c := booted(t)
		mask, err := ParseTiles(tc.gated)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.GateTiles(mask); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(tc.chain, &recorder{haltAt: -1}); err != nil {
			t.Fatal(err)
		}
		for d := range Domain(domains) {
			if c.PowerOn(d) != tc.up.Has(d) {
				t.Errorf("%s: %v powered %v", tc.name, d, c.PowerOn(d))
			}
		}
	}
}

// TestControllerIdles checks that the status words follow the rails, and that a run waits as
// long as the gap before it requires.
func TestControllerIdles(t *testing.T) {
	c := booted(t)
	c.PowerTimes = m1
	for _, tc := range []struct{ idle, waiting, wake clock.Nanoseconds }{
		{0, 0, 0}, {20 * ms, 20 * ms, 0.1 * ms}, {150 * ms, 100 * ms, 0.5 * ms}, {6000 * ms, 100 * ms, 260 * ms}, {0, 0, 0},
	} {
		if got := c.Idle(tc.idle); got != tc.waiting {
			t.Errorf("%v with the rails on in a gap of %v, want %v", got, tc.idle, tc.waiting)
		}
		if tc.idle >= m1.RailsOff && (c.PowerOn(Base) || c.PowerOn(Cluster0)) {
			t.Errorf("domains on after %v", tc.idle)
		}
		if _, err := c.Run(work(4), &recorder{haltAt: -1}); err != nil {
			t.Fatal(err)
		}
		if c.WakeTime() != tc.wake || !c.PowerOn(Base) || !c.PowerOn(Cluster3) {
			t.Errorf("a run after %v waits %v, want %v", tc.idle, c.WakeTime(), tc.wake)
		}
	}
}
