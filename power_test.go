package anesim_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/material"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/loader/lower"
)

const ms clock.Nanoseconds = 1e6

// sameSum reports whether a and b are equal within the rounding error of two sums of the same
// numbers.
func sameSum(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// lay returns a timeline with all dispatches of a run.
func lay(res *anesim.Result, chip *hw.Chip, host clock.Nanoseconds) *anesim.Timeline {
	l := &anesim.Timeline{Waiting: chip.Waiting}
	for i := range res.Programs[0].Dispatches {
		l.Add(&res.Programs[0].Dispatches[i], host)
	}
	return l
}

// The spans of a run follow each other from its start to its end, and hold all energy.
func TestTimelineOfEveryProgram(t *testing.T) {
	var files []*loader.Program
	for _, name := range lower.Examples() {
		p, err := lower.ExampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, p)
	}
	for _, name := range material.More(t, "programs/*.hwx", "programs/text/*.bin") {
		p, err := loader.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, p)
	}
	t.Logf("%d programs", len(files))
	highest := 0.0
	for _, chip := range hw.Chips() {
		for _, p := range files {
			plain, err := anesim.Run(p, anesim.Options{Chip: chip})
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			for _, tc := range []struct {
				idle, wake clock.Nanoseconds
				repeat     int
				host       clock.Nanoseconds
			}{
				{0, 0, 1, 0}, {0, 0, 3, 0}, {0, 0, 1, 0.2 * ms}, {0, 0, 3, 0.2 * ms},
				{50 * ms, 0.25 * ms, 1, 0}, {150 * ms, 0.5 * ms, 2, 0.04 * ms}, {7000 * ms, 260 * ms, 2, 0},
			} {
				res, err := anesim.Run(p, anesim.Options{Chip: chip, Idle: time.Duration(tc.idle), Repeat: tc.repeat})
				if err != nil {
					t.Fatalf("%s: %v", p.Name, err)
				}
				r, n := res.Report, clock.Nanoseconds(tc.repeat)
				if len(res.Programs[0].Dispatches) != tc.repeat || r.Cycles != plain.Report.Cycles*clock.Cycles(tc.repeat) {
					t.Errorf("%s, %+v: %d dispatches, %d cycles, once %d", p.Name, tc, len(res.Programs[0].Dispatches), r.Cycles, plain.Report.Cycles)
				}
				l := lay(res, &chip, tc.host)
				var at clock.Nanoseconds
				energy, power := 0.0, 0.0
				descriptors := 0
				for i := range l.Spans {
					s := &l.Spans[i]
					if s.At != at || s.For < 0 || s.Energy < 0 || s.What == "" {
						t.Errorf("%s, %+v: span %d is %+v, the one before ends at %v", p.Name, tc, i, *s, at)
					}
					at += s.For
					energy += float64(s.Energy)
					power += float64(s.Watts() * float64(s.For))
					if s.For == 0 {
						power += float64(s.Energy)
						if s.What != "dispatch" || tc.host > 0 {
							t.Errorf("%s, %+v: span %d of no time: %+v", p.Name, tc, i, *s)
						}
					}
					if strings.HasPrefix(s.What, "descriptor ") {
						descriptors++
					}
				}
				wall := r.Time + n*(tc.idle+tc.wake+tc.host)
				total := float64(r.Energy)
				for _, wait := range [...]clock.Nanoseconds{min(tc.idle, 100*ms), tc.wake, tc.host} {
					total += float64(n) * float64(chip.Waiting(hw.Engines(r.Descriptors), wait))
				}
				if !sameSum(float64(at), float64(wall)) || !sameSum(energy, total) || !sameSum(power, total) || descriptors != len(r.Descriptors) {
					t.Errorf("%s, %+v: spans of %v, %g nJ, by power %g nJ, %d descriptors; want %v, %g nJ, %d",
						p.Name, tc, at, energy, power, descriptors, wall, total, len(r.Descriptors))
				}
				if tc.host > 0 {
					highest = max(highest, l.Peak())
				}
			}
		}
	}
	t.Logf("the highest span of all draws %.2f W", highest)
}

// A timeline in full.
func TestTimeline(t *testing.T) {
	l := anesim.Timeline{Waiting: func(_ int, t clock.Nanoseconds) clock.Nanojoules { return clock.Nanojoules(t / 2) }, Label: func(d *hw.DescriptorReport) string { return "work" }}
	d := anesim.Dispatch{Idle: 30, Waiting: 20, Wake: 4, Energy: 100, Descriptors: []hw.DescriptorReport{{Time: 10, Energy: 70}}}
	l.Add(&d, 50)
	l.Add(&anesim.Dispatch{Energy: 100}, 0)
	want := []anesim.Span{
		{0, 20, 10, "idle"}, {20, 10, 0, "rails off"}, {30, 4, 2, "wake"}, {34, 50, 125, "host"}, {84, 10, 70, "work"}, {94, 0, 100, "dispatch"},
	}
	if d := cmp.Diff(want, l.Spans); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if l.Idle != (anesim.Part{30, 10}) || l.Wake != (anesim.Part{4, 2}) || l.Host != (anesim.Part{50, 25}) || l.Peak() != 7 {
		t.Errorf("idle %+v, wake %+v, host %+v, peak %g W", l.Idle, l.Wake, l.Host, l.Peak())
	}
}

// A dispatch that faults has the descriptors before the fault, and is the last.
func TestDispatchesEndWithAFault(t *testing.T) {
	p, err := lower.IdentityProgram()
	if err != nil {
		t.Fatal(err)
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Repeat: 4, GateTiles: 1<<32 - 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Report.Faults) != 1 || len(res.Programs[0].Dispatches) != 1 || res.Programs[0].Dispatches[0].Energy != res.Report.Dispatch {
		t.Errorf("%d faults, dispatches %+v", len(res.Report.Faults), res.Programs[0].Dispatches)
	}
}

// The rail holds for as long as the host's software lets it, and where that is not known for
// as long as the chip's.
func TestHostsHold(t *testing.T) {
	idle := func(name string) (clock.Nanoseconds, clock.Nanojoules) {
		t.Helper()
		h, err := engine.HostByName(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := anesim.Layer("add") // on no engine
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(t.Context(), anesim.Options{Host: h, Idle: 90 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return clock.Nanoseconds(h.Hold.Value), report.NewRun(res).Total.IdleNJ
	}
	chip := hw.M1()
	for _, name := range []string{"none", "linux-m1", "macos-air", "macos-mbp"} {
		hold, got := idle(name)
		if hold == 0 {
			hold = clock.Nanoseconds(chip.HoldTime.Value)
		}
		if want := chip.ActivePower.Value * float64(hold); math.Abs(float64(got)-want) > 1e-9*want {
			t.Errorf("%s: an idle gap costs %v, want %g nJ, %v of the rail", name, got, want, hold)
		}
	}
}

// Settings of power management are wall time and idle energy, never the engine's.
func TestPowerPolicy(t *testing.T) {
	run := func(p firmware.PowerPolicy) *report.Wall {
		t.Helper()
		res, err := anesim.Identity().Run(t.Context(), anesim.Options{Power: p, Idle: 60 * time.Millisecond, Repeat: 3})
		if err != nil {
			t.Fatal(err)
		}
		d := report.NewRun(res)
		return &d.Total
	}
	own := run(firmware.PowerPolicy{})
	last := clock.Nanoseconds(1e18)
	energy := clock.Nanojoules(0)
	for _, h := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, time.Second} {
		x := run(firmware.PowerPolicy{Hysteresis: clock.Nanoseconds(h)})
		if x.Cycles != own.Cycles || x.EnergyNJ != own.EnergyNJ {
			t.Errorf("hysteresis %v changes the engine's part: %d cycles, %v", h, x.Cycles, x.EnergyNJ)
		}
		if x.WakeNs > last || x.IdleNJ < energy {
			t.Errorf("hysteresis %v: %v of waking and %v idle, with less %v and %v", h, x.WakeNs, x.IdleNJ, last, energy)
		}
		last, energy = x.WakeNs, x.IdleNJ
	}
	on := run(firmware.PowerPolicy{AlwaysOn: true})
	if on.WakeNs != 0 || on.IdleNJ < energy {
		t.Errorf("always on: %v of waking, %v idle", on.WakeNs, on.IdleNJ)
	}
	if open := run(firmware.PowerPolicy{AlwaysOn: true, Ungated: true}); open.IdleNJ <= on.IdleNJ {
		t.Errorf("without gating %v idle, with it %v", open.IdleNJ, on.IdleNJ)
	}
	idle := func(engines float64) clock.Nanojoules {
		o := anesim.Options{Chip: hw.M1(), Power: firmware.PowerPolicy{AlwaysOn: true, Ungated: true}}
		o.Chip.Engines.Value = engines
		e := engine.Options{Chip: o.Chip, Power: o.Power}
		return e.Waiting()(1, 1e6)
	}
	chip := hw.M1()
	if more, want := idle(32)-idle(16), 16*chip.EngineStep.Value*1e6; math.Abs(float64(more)-want) > 1e-6*want {
		t.Errorf("16 engines more draw %v more ungated, want %g nJ", more, want)
	}
	var e *anesim.OptionError
	if _, err := anesim.Identity().Run(t.Context(), anesim.Options{Power: firmware.PowerPolicy{Hysteresis: -1}}); !errors.As(err, &e) {
		t.Errorf("a negative hysteresis: %v", err)
	}
}
