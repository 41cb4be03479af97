package firmware

import (
	"errors"
	"math/rand/v2"
	"testing"

	"anesim/hw/clock"
)

func TestParsePowerPolicy(t *testing.T) {
	for list, want := range map[string]PowerPolicy{
		"": {}, "management=on": {}, "management=off": {AlwaysOn: true}, "gating=off, hysteresis=50ms": {Ungated: true, Hysteresis: 50 * ms},
	} {
		if got, err := ParsePowerPolicy(list); err != nil || got != want {
			t.Errorf("%q: %+v, %v", list, got, err)
		}
	}
	for _, list := range []string{"gating", "gating=maybe", "hysteresis=-1s", "hysteresis=5", "dpe=on", "gating=on,gating=off", "management=off,hysteresis=1s"} {
		var e *PolicyError
		if p, err := ParsePowerPolicy(list); !errors.As(err, &e) || p != (PowerPolicy{}) {
			t.Errorf("%q: %+v, %v", list, p, err)
		}
	}
}

// The longer everything stays on the less calls wait and the longer the rails are on; with
// management off no call waits, and the chip's own time as hysteresis changes nothing.
func TestHysteresisIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for range 50 {
		var gaps []clock.Nanoseconds
		for range 20 {
			gaps = append(gaps, clock.Nanoseconds(r.ExpFloat64()*float64(300*ms)))
		}
		play := func(p PowerPolicy) (woke, on clock.Nanoseconds) {
			x := Power{Times: m1.With(p), Ungated: p.Ungated}
			x.Wake(AllDomains)
			for _, g := range gaps {
				on += x.Idle(g)
				woke += x.Wake(DomainsOf(Cluster0))
			}
			return woke, on
		}
		own, ownOn := play(PowerPolicy{})
		if same, sameOn := play(PowerPolicy{Hysteresis: m1.RailsOff}); same != own || sameOn != ownOn {
			t.Fatalf("the chip's own hysteresis: %v and %v, by itself %v and %v", same, sameOn, own, ownOn)
		}
		woke, on := clock.Nanoseconds(1e18), clock.Nanoseconds(-1)
		for _, h := range []clock.Nanoseconds{1 * ms, 10 * ms, 100 * ms, 300 * ms, 2000 * ms, 20000 * ms} {
			w, o := play(PowerPolicy{Hysteresis: h})
			if w > woke || o < on {
				t.Fatalf("hysteresis %v: calls wait %v and the rails are on for %v, at less %v and %v", h, w, o, woke, on)
			}
			woke, on = w, o
		}
		total := clock.Nanoseconds(0)
		for _, g := range gaps {
			total += g
		}
		if w, o := play(PowerPolicy{AlwaysOn: true}); w != 0 || o != total {
			t.Fatalf("without management calls wait %v, the rails are on %v of %v", w, o, total)
		}
	}
}

// Without dynamic gating a call that needs one cluster has them all.
func TestUngated(t *testing.T) {
	gated, ungated := Power{Times: m1}, Power{Times: m1, Ungated: true}
	gated.Wake(DomainsOf(Cluster2))
	ungated.Wake(DomainsOf(Cluster2))
	if gated.Up() != DomainsOf(Base, Cluster2) || ungated.Up() != AllDomains {
		t.Errorf("%v and %v", gated.Up(), ungated.Up())
	}
}

// TestPowerDown checks that a power cycle clears the status words, and that the next call
// wakes the domains as after a gap.
func TestPowerDown(t *testing.T) {
	c := New(Known())
	if err := c.Boot(); err != nil {
		t.Fatal(err)
	}
	c.PowerTimes = m1
	c.Wake(AllDomains)
	if !c.PowerOn(Cluster2) {
		t.Fatal("a cluster is down")
	}
	c.PowerDown()
	for d := range Domain(domains) {
		if c.PowerOn(d) {
			t.Errorf("%v is on", d)
		}
	}
	if took := c.Wake(DomainsOf(Cluster2)); took != m1.WakeTime || !c.PowerOn(Cluster2) || c.PowerOn(Cluster0) {
		t.Errorf("the wake takes %v", took)
	}
	always := Power{Times: m1.With(PowerPolicy{AlwaysOn: true})}
	always.Wake(AllDomains)
	always.turnOff()
	if took := always.Wake(0); took != 0 || always.Up() != DomainsOf(Base) {
		t.Errorf("without management: %v, %v up", took, always.Up())
	}
}

func FuzzParsePowerPolicy(f *testing.F) {
	for _, s := range []string{"", "management=off", "gating=off,hysteresis=50ms", "hysteresis=1h,,gating=on"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		p, err := ParsePowerPolicy(list)
		var e *PolicyError
		if err != nil && !errors.As(err, &e) || err == nil && p.Hysteresis < 0 {
			t.Errorf("%q: %+v, %v", list, p, err)
		}
	})
}

func FuzzParseTiles(f *testing.F) {
	for _, s := range []string{"", "0-3,7", "31", "3-1", "0-31,", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		mask, err := ParseTiles(list)
		var e *TileError
		if err != nil && (mask != 0 || !errors.As(err, &e)) {
			t.Errorf("%q: %#x, %v", list, mask, err)
		}
	})
}
