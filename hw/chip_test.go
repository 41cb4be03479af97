package hw

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

func TestEveryConstantSaysWhatItRestsOn(t *testing.T) {
	known := []evidence.Kind{evidence.Measured, evidence.Bytes, evidence.Decompiled, evidence.Fitted, evidence.Inferred, evidence.Assumed}
	zero := []string{"DispatchEnergy", "Winograd"} // what energies do not show, and what no chip with a preset does
	for _, c := range Chips() {
		n := 0
		for name, k := range c.Constants() {
			n++
			if k.Value < 0 || k.Value == 0 && !slices.Contains(zero, name) || k.Unit == "" || k.Source == "" || !slices.Contains(known, k.Evidence) {
				t.Errorf("%s: %s: %+v", c.Name, name, k)
			}
		}
		// All fields but the name, the target and the spread: an unset one has no unit.
		if want := reflect.TypeFor[Chip]().NumField() - 3; n != want {
			t.Errorf("%s: %d constants of %d", c.Name, n, want)
		}
	}
}

// A consumer of Constants may stop early.
func TestConstantsStop(t *testing.T) {
	for name := range M1().Constants() {
		if name != "Clock" {
			t.Errorf("%s comes first", name)
		}
		break
	}
}

// A clock state changes the work of a second, not of a cycle, and leaves memory alone.
func TestAtClock(t *testing.T) {
	full, slow := M1Max().newParams(), M1Max().AtClock(300e6)
	p := slow.newParams()
	near := func(a, b clock.Rate) bool { return math.Abs(float64(a/b)-1) < 1e-9 }
	if p.clock != 300e6 || !near(p.planar, full.planar) || !near(p.dma.Tile, full.dma.Tile) || !near(p.dma.Lane, full.dma.Lane) || p.transpose != full.transpose {
		t.Errorf("%+v, at full speed %+v", p, full)
	}
	if slow.ReadRate != M1Max().ReadRate || slow.TotalRate != M1Max().TotalRate {
		t.Error("the rates of memory follow the engine's clock")
	}
}

// The units compute with the preset's numbers, in cycles of the preset's clock.
func TestParams(t *testing.T) {
	c := M1()
	c.MemoryLatency.Value = 1000
	p := c.newParams()
	if p.clock != 1.464e9 || p.tiles.PatchPixels != 256 || p.tiles.MaxPack != 8 || p.l2.Bytes != 2<<20 || p.l2.Banks != 64 || p.l2.Granule != 16 {
		t.Errorf("%+v", p)
	}
	if got := p.dma.Latency; got != 1464 { // a microsecond
		t.Errorf("a latency of %d cycles", got)
	}
	// A second's worth of bytes and elements takes a second's worth of cycles.
	for name, got := range map[string]clock.Cycles{
		"read":   p.dma.Read.Cycles(uint64(c.ReadRate.Value)),
		"total":  p.dma.ReadWrite.Cycles(uint64(c.TotalRate.Value)),
		"tile":   p.dma.Tile.Cycles(uint64(c.TileRate.Value)),
		"lane":   p.dma.Lane.Cycles(uint64(c.LaneRate.Value)),
		"planar": p.planar.Cycles(uint64(c.PlanarRate.Value)),
	} {
		if got < 1.464e9 || got > 1.464e9+1 {
			t.Errorf("%s: %d cycles", name, got)
		}
	}
	if d := New(newMemory(t), Options{Chip: c}); d.frequency() != p.clock {
		t.Errorf("%v", d.frequency())
	}
}

// Gated engines burn nothing: the same work over the same time takes less energy.
func TestGatedTilesBurnLess(t *testing.T) {
	s := shape{4, 2, 2}
	for name, task := range map[string]*regs.Task{
		"planar":       newPlanar(regs.FormConstant, regs.PlanarAdd, s, s),
		"pass-through": newPass(s),
		"conv":         newConv(s, s),
	} {
		var before DescriptorReport
		for i, mask := range []uint32{0xffffffff, 0x0000ffff, 0x000000ff} {
			d := New(newMemory(t), Options{Chip: M1()})
			d.SetTileEnables(mask)
			if d.Execute(task) {
				t.Fatal(d.Report().Faults)
			}
			r := d.Report().Descriptors[0]
			if i > 0 && (r.Energy >= before.Energy || r.Time != before.Time) {
				t.Errorf("%s, tiles %#x: %v over %v, before %v over %v", name, mask, r.Energy, r.Time, before.Energy, before.Time)
			}
			before = r
		}
	}
}

func TestDispatchEnergy(t *testing.T) {
	c := M1()
	c.DispatchEnergy.Value = 1e5
	d := New(newMemory(t), Options{Chip: c})
	d.Dispatch()
	task := newPass(shape{4, 2, 2})
	d.Execute(task)
	r := d.Report()
	if want := clock.Nanojoules(2 * c.DispatchEnergy.Value); r.Dispatch != want {
		t.Errorf("%v for two dispatches, want %v", r.Dispatch, want)
	}
	if got, want := r.Energy, r.Dispatch+r.Descriptors[0].Energy; got != want {
		t.Errorf("%v in all, want %v", got, want)
	}
}

// The rail lets go after a wait's start, and engines that were at work sooner than it.
func TestWaiting(t *testing.T) {
	c := M1Max()
	c.ActivePower.Value, c.EngineStep.Value = 0.2, 0.01
	c.HoldTime.Value, c.EngineHold.Value = 5e6, 2e6
	for _, tt := range []struct {
		engines int
		t       clock.Nanoseconds
		want    float64
	}{
		{0, 0, 0}, {0, 1e3, 0.2 * 1e3}, {16, 1e3, 0.36 * 1e3}, // full power at first
		{0, 5e6, 0.2 * 5e6}, {4, 3e6, 0.2*3e6 + 0.04*2e6},
		{0, 1e12, 0.2 * 5e6}, {16, 1e12, 0.2*5e6 + 0.16*2e6}, // nothing more once it let go
	} {
		if got := float64(c.Waiting(tt.engines, tt.t)); math.Abs(got-tt.want) > 1e-12*tt.want {
			t.Errorf("%d engines, %v: %v nJ, want %v", tt.engines, tt.t, got, tt.want)
		}
	}
}

// Engines that do nothing draw a step less each, and never less than nothing.
func TestEngineStep(t *testing.T) {
	c := M1Max()
	c.EngineStep.Value, c.ActivePower.Value = 0.01, 1
	p := c.newParams()
	for _, tt := range []struct {
		engines int
		open    tiles.Enables
		want    clock.Nanojoules
	}{
		{16, tiles.AllTiles, 1000}, {4, tiles.AllTiles, 880}, {4, 0xffff, 460}, {0, 0, 0},
	} {
		e := p.computeEnergy(&DescriptorReport{Engines: tt.engines, Time: 1000}, tt.open)
		if math.Abs(float64(e.Active-tt.want)) > 1e-9 || e.Total() != e.Active {
			t.Errorf("%d engines of %v: %+v, want %v", tt.engines, tt.open, e, tt.want)
		}
	}
}
