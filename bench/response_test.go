package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
	"anesim/internal/measured"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

const (
	allTiles = uint32(tiles.AllTiles)
	firsts   = 0x55555555 // the first tile of every engine
)

// gates returns sets of tiles to gate, by name. Each leaves at least one tile open.
func gates() map[string]uint32 {
	m := map[string]uint32{
		"tile 0": 1, "tile 31": 1 << 31, "first tiles": firsts, "second tiles": firsts << 1,
		"one cluster open": 0xffffff00, "all but tile 17": allTiles &^ (1 << 17),
		"half of three engines": 0b010110, "two engines and a half": 0b11111,
	}
	for e := range tiles.Engines {
		m[fmt.Sprintf("engine %d", e)] = 3 << (2 * e)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 8 {
		set := rng.Uint32()
		m[fmt.Sprintf("%#08x", set)] = set
	}
	return m
}

// Gated tiles change no value and never save a cycle.
func TestGates(t *testing.T) {
	programs := examples(t)
	for _, p := range realPrograms(t) {
		if executable(t, p, affordable()>>9) {
			programs = append(programs, p)
		}
	}
	for _, p := range programs {
		open := sound(t, p, anesim.Options{Values: true})
		for name, mask := range gates() {
			what := fmt.Sprintf("%s with %s gated", p.Name, name)
			gated := sound(t, p, anesim.Options{Values: true, GateTiles: mask})
			sameOutputs(t, what, open, gated)
			neverFewer(t, what, open.Report, gated.Report)
		}
	}
}

func neverFewer(t *testing.T, what string, before, after *hw.Report) {
	t.Helper()
	// A descriptor may gain what the one before loses, for they overlap; where a chain
	// stands after each may not move forward.
	b, a := clock.Cycles(0), clock.Cycles(0)
	for i := range before.Descriptors {
		b += before.Descriptors[i].Cycles.Total()
		if a += after.Descriptors[i].Cycles.Total(); a < b {
			t.Errorf("%s: descriptor %d ends after %d cycles instead of %d", what, i, a, b)
		}
	}
}

// Fewer open engines compute for longer: the array's own cycles, before anything hides
// them.
func TestGatesSlowTheArray(t *testing.T) {
	p := example(t, "identity")
	const compute = 1 // the descriptor that multiplies, on all sixteen engines
	last := sound(t, p, anesim.Options{}).Report.Descriptors[compute].Units.NEDouble
	if last == 0 {
		t.Fatal("the identity layer takes the array no time")
	}
	for _, tt := range []struct {
		name string
		mask uint32
		more bool
	}{
		{"one tile", 1, true},
		{"one tile of every engine", firsts, false},
		{"two clusters", allTiles >> 16, false},
		{"three clusters", allTiles >> 8, true},
		{"all but one tile", allTiles >> 1, true},
	} {
		now := sound(t, p, anesim.Options{GateTiles: tt.mask}).Report.Descriptors[compute].Units.NEDouble
		if now < last || tt.more && now == last {
			t.Errorf("with %s gated the array takes %d cycles, before it %d", tt.name, now, last)
		}
		last = now
	}
}

// With no tile open a descriptor that needs the array is a fault and no outputs are
// claimed; a program of the planar engine alone runs as before.
func TestAllGatedIsAFault(t *testing.T) {
	faulted := 0
	for _, p := range everyProgram(t) {
		want := 0
		for _, task := range tasks(t, []*loader.Program{p}) {
			if !task.Groups.Planar() {
				want = 1
			}
		}
		r := run(t, p, anesim.Options{GateTiles: allTiles})
		if len(r.Report.Faults) != want || len(r.Outputs) != 0 {
			t.Errorf("%s: faults %v and %d outputs, want %d faults", p.Name, r.Report.Faults, len(r.Outputs), want)
		}
		if want == 0 {
			neverFewer(t, p.Name+" with all gated", sound(t, p, anesim.Options{}).Report, r.Report)
		}
		faulted += len(r.Report.Faults)
	}
	if faulted == 0 {
		t.Error("no program needs the array")
	}
}

// respond runs programs on a changed chip and compares their reports with those in before. It fails
// the test if a program's sum of measure, up to any descriptor, is smaller on the changed chip. It
// returns the number of descriptors for which measure is larger.
func respond(t *testing.T, what string, programs []*loader.Program, before []*hw.Report, change func(*hw.Chip), measure func(*hw.DescriptorReport) float64) (larger int) {
	t.Helper()
	chip := hw.M1()
	change(&chip)
	for i, p := range programs {
		a, b := before[i], sound(t, p, anesim.Options{Chip: chip}).Report
		// One descriptor may gain what the one before loses: they overlap.
		was, is := 0.0, 0.0
		for i := range a.Descriptors {
			x, y := measure(&a.Descriptors[i]), measure(&b.Descriptors[i])
			if was, is = was+x, is+y; y > x {
				larger++
			}
			if is < was*(1-1e-12) {
				t.Errorf("%s: %s, up to descriptor %d: %v before, %v after", what, p.Name, i, was, is)
			}
		}
	}
	return larger
}

func cycles(d *hw.DescriptorReport) float64  { return float64(d.Cycles.Total()) }
func elapsed(d *hw.DescriptorReport) float64 { return float64(d.Time) }

func scale(c *evidence.Constant, by float64) { c.Value *= by }

// Numbers respond in the right direction to every constant that decides them.
func TestNumbersRespond(t *testing.T) {
	programs := everyProgram(t)
	descriptors := len(tasks(t, programs))
	var before []*hw.Report
	for _, p := range programs {
		before = append(before, sound(t, p, anesim.Options{Chip: hw.M1()}).Report)
	}
	for _, tt := range []struct {
		name    string
		change  func(*hw.Chip)
		measure func(*hw.DescriptorReport) float64
		least   int // descriptors that must respond
	}{
		// Memory keeps its time: at half the clock it takes half the cycles.
		{"half the clock, time", func(c *hw.Chip) { scale(&c.Clock, 0.5) }, elapsed, 1},
		{"twice the clock, cycles", func(c *hw.Chip) { scale(&c.Clock, 2) }, cycles, descriptors / 2},
		{"half the bandwidth", func(c *hw.Chip) { scale(&c.ReadRate, 0.5); scale(&c.TotalRate, 0.5) }, cycles, 5},
		{"half the bandwidth for reads", func(c *hw.Chip) { scale(&c.ReadRate, 0.5) }, cycles, 3},
		{"half the bandwidth in all", func(c *hw.Chip) { scale(&c.TotalRate, 0.5) }, cycles, 5},
		{"twice the start", func(c *hw.Chip) { scale(&c.TaskOverhead, 2) }, cycles, descriptors},
		{"a planar engine of an eighth", func(c *hw.Chip) { scale(&c.PlanarRate, 1./8) }, planarCycles, 1},
		{"no packing", func(c *hw.Chip) { c.MaxPack.Value = 1 }, arrayCycles, 1},
		{"energy of a multiply-accumulate", func(c *hw.Chip) { scale(&c.MACEnergy, 2) }, energy, 2},
		{"energy of a byte", func(c *hw.Chip) { scale(&c.DRAMEnergy, 2) }, energy, 5},
		{"energy of a planar element", func(c *hw.Chip) { scale(&c.PlanarEnergy, 2) }, energy, 1},
		{"energy of an L2 byte", func(c *hw.Chip) { scale(&c.L2Energy, 2) }, energy, descriptors},
		{"energy of a look-up", func(c *hw.Chip) { scale(&c.TableEnergy, 2) }, energy, 1},
		{"a slow tile DMA", func(c *hw.Chip) { scale(&c.TileRate, 1./16) }, cycles, 5},
		{"slow lanes", func(c *hw.Chip) { scale(&c.LaneRate, 0.25) }, cycles, 1},
		{"twice the latency", func(c *hw.Chip) { scale(&c.MemoryLatency, 2) }, cycles, 5},
		{"coefficients that must all be there", func(c *hw.Chip) { c.KernelOverlap.Value = 0 }, cycles, 1},
		{"a slow transpose", func(c *hw.Chip) { scale(&c.TransposeRate, 0.25) }, cycles, 1},
		{"half the L2 banks", func(c *hw.Chip) { scale(&c.L2Banks, 0.5) }, reads, 1},
		{"patches of half the pixels", func(c *hw.Chip) { scale(&c.PatchPixels, 0.5); scale(&c.MACs, 0.5) }, arrayCycles, 1},
		{"half the multipliers", func(c *hw.Chip) { scale(&c.MACs, 0.5) }, arrayCycles, 1},
		{"half the engines", func(c *hw.Chip) { scale(&c.Engines, 0.5) }, arrayCycles, 5},
		{"active power", func(c *hw.Chip) { scale(&c.ActivePower, 2) }, energy, descriptors},
	} {
		if n := respond(t, tt.name, programs, before, tt.change, tt.measure); n < tt.least {
			t.Errorf("%s: %d of %d descriptors respond, want %d", tt.name, n, descriptors, tt.least)
		}
	}
}

func reads(d *hw.DescriptorReport) float64        { return float64(d.Units.L2Broadcast) }
func planarCycles(d *hw.DescriptorReport) float64 { return float64(d.Units.Planar) }

func arrayCycles(d *hw.DescriptorReport) float64 { return float64(d.Units.NEDouble) }
func energy(d *hw.DescriptorReport) float64      { return float64(d.Energy) }

// A convolution that the array bounds takes about twice as long at half the clock. With
// half the bandwidth the array takes what it took, and waits: for its coefficients, which
// no longer come early, and as long again for what it waited for before.
func TestBoundsDecide(t *testing.T) {
	p := lowering(t, windowed(256, 64, 256))
	of := func(change func(*hw.Chip)) *hw.DescriptorReport {
		c := hw.M1()
		change(&c)
		r := sound(t, p, anesim.Options{Chip: c}).Report
		return &r.Descriptors[len(r.Descriptors)-1]
	}
	base := of(func(*hw.Chip) {})
	if b := base.Cycles.Bound(); b != "compute" {
		t.Fatalf("bound by %s", b)
	}
	slow := of(func(c *hw.Chip) { scale(&c.Clock, 0.5) })
	if ratio := float64(slow.Time / base.Time); ratio < 1.9 || ratio > 2 {
		t.Errorf("half the clock makes it %.3f times as long", ratio)
	}
	narrow := of(func(c *hw.Chip) { scale(&c.ReadRate, 0.5); scale(&c.TotalRate, 0.5) })
	b, n := &base.Cycles, &narrow.Cycles
	coefficients := clock.PerSecond(hw.M1().ReadRate.Value/2, clock.Hertz(hw.M1().Clock.Value)).Cycles(base.DMA.Kernel)
	most := b.Total() + b.KernelStall + b.InputStall + b.OutputStall + coefficients
	if n.Total() < b.Total() || n.Total() > most || float64(n.Total()) > 1.1*float64(b.Total()) || n.Compute != b.Compute {
		t.Errorf("half the bandwidth makes %+v of %+v, at most %d in all", *n, *b, most)
	}
}

// TestL2SizeDecides runs programs with smaller and smaller L2s: what does not fit is a fault,
// of which there are no fewer with less memory.
func TestL2SizeDecides(t *testing.T) {
	before := 0
	for _, size := range []float64{2 << 20, 1 << 20, 1 << 14, 1 << 10} {
		chip, faults := hw.M1(), 0
		chip.L2Bytes.Value = size
		for _, p := range everyProgram(t) {
			for _, f := range run(t, p, anesim.Options{Chip: chip}).Report.Faults {
				if f.Unit != "l2" {
					t.Errorf("%s with %g bytes: %v", p.Name, size, f)
				}
				faults++
			}
		}
		if size == 2<<20 && faults > 0 || size <= 1<<14 && faults == 0 || faults < before {
			t.Errorf("%d programs fault with %g bytes, %d with more", faults, size, before)
		}
		before = faults
	}
}

// Rows of a source that stand on the same banks are read one after the other, and so are
// those of a result written; the skew that the compiler adds is what spreads them.
func TestConflictingStridesCost(t *testing.T) {
	p := lowering(t, windowed(256, 32, 256))
	of := func(register string, stride uint32) *hw.DescriptorReport {
		o, err := firmware.ParseOverride(fmt.Sprintf("L2.%s=%#x", register, stride))
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, p, anesim.Options{Chip: hw.M1(), Overrides: []firmware.Override{o}})
		return &r.Report.Descriptors[len(r.Report.Descriptors)-1]
	}
	// A skewed patch of 256 pixels takes four fetches of 128 bytes, and one of eight rows on the same banks eight.
	// Eight rows of a result are written at once with a skew, and one by one without.
	for register, slower := range map[string]uint64{"Src1RowStride": 2, "ResultRowStride": 8} {
		skewed, plain := of(register, 0x4050), of(register, 0x4000)
		s, p := skewed.Units.L2Broadcast, plain.Units.L2Broadcast
		if register == "ResultRowStride" {
			s, p = skewed.Units.L2Writeback, plain.Units.L2Writeback
		}
		if uint64(p) != slower*uint64(s) || s == 0 {
			t.Errorf("%s: %d cycles of L2 with a skew, %d without; want %d times as many", register, s, p, slower)
		}
		if plain.Cycles.Total() < skewed.Cycles.Total() {
			t.Errorf("%s: %d cycles with a skew, %d without", register, skewed.Cycles.Total(), plain.Cycles.Total())
		}
	}
}

// More kernel memory lets more of the next task's coefficients come early.
func TestKernelMemoryDecides(t *testing.T) {
	l := newLowerer()
	row := measured.Row{Op: "chain_conv", Shape: measured.Shape{N: 1, Cin: 256, H: 32, W: 32, Cout: 256, Kh: 3, Kw: 3, Depth: 4}}
	c, err := l.chain(&row)
	if err != nil {
		t.Fatal(err)
	}
	before := math.Inf(1)
	for _, size := range []float64{64 << 10, 66 << 10} {
		chip := hw.M1()
		chip.KernelMemory.Value = size
		e := c.estimate(chip, DefaultPresets().Hosts["none"])
		if now := float64(e.Engine); now >= before {
			t.Errorf("%g bytes an engine: %v ns, with less %v", size, now, before)
		} else {
			before = now
		}
	}
}

// scattered returns n weights that are 1, except for a share of zeros at random places. A larger
// share has the same zeros and more.
func scattered(n int, zeros float64) []float16.Float16 {
	r := rand.New(rand.NewPCG(13, 14))
	w := make([]float16.Float16, n)
	for i := range w {
		if r.Float64() >= zeros {
			w[i] = 0x3c00
		}
	}
	return w
}

// lowered returns the tasks of a convolution whose weights have a share of zeros. With a stride of
// 2, the tasks skip the zeros.
func lowered(t *testing.T, l layer.Layer, zeros float64) []*regs.Task {
	t.Helper()
	p, err := lower.Lower(l, layer.Weights{Filter: scattered(l.Cout*l.In.C*l.Window.Kh*l.Window.Kw, zeros)})
	if err != nil {
		t.Fatal(err)
	}
	return tasks(t, []*loader.Program{p})
}

// masked returns the tasks of a convolution of stride 1, which package lower leaves dense, with its
// weights converted to the masked form.
func masked(t *testing.T, l layer.Layer, zeros float64) []*regs.Task {
	t.Helper()
	list := lowered(t, l, zeros)
	for _, task := range list {
		g := &task.Groups
		g.NE.KernelCfg = g.NE.KernelCfg.WithSparse(true)
		lane := g.OutShape().Channels / tiles.Engines
		width := min(lane, 1<<g.Common.ConvCfg.OCGSize())
		w := scattered(tiles.Engines*lane*tiles.Taps(g), zeros)
		for i := range tiles.Engines {
			size := 0
			for range lane / width {
				n := width * tiles.Taps(g)
				size += (n + 7) / 8 // the mask, and below it the values that are not zero
				for _, h := range w[:n] {
					if h != 0 {
						size += 2
					}
				}
				w = w[n:]
			}
			g.KernelDMASrc.CoeffBfrSize[i] = g.KernelDMASrc.CoeffBfrSize[i].WithBytes(uint32(size+63) &^ 63)
		}
		task.Operands = nil // of the registers before
	}
	return list
}

// sums holds the totals of several tasks that run one after the other.
type sums struct {
	cycles, compute clock.Cycles
	bytes, macs     uint64
	bound           bool // by compute, each of them
}

func timed(list []*regs.Task) sums {
	timer, s := hw.NewTimer(hw.M1()), sums{bound: true}
	for _, task := range list {
		var d hw.DescriptorReport
		timer.Time(&d, task)
		s.cycles += d.Cycles.Total()
		s.compute += d.Cycles.Compute
		s.bytes += d.DMA.Total()
		s.macs += d.MACs
		s.bound = s.bound && d.Cycles.Bound() == "compute"
	}
	return s
}

// Zeros among sparse weights save bytes, and time where the array sets the pace; they
// never cost any.
func TestSparseWeightsSaveTime(t *testing.T) {
	conv := func(c, side, cout, k, stride int) layer.Layer {
		in := layer.Shape{N: 1, C: c, H: side, W: side}
		return layer.Conv(in, cout, layer.Same(k, stride, in))
	}
	for _, tt := range []struct {
		name    string
		layer   layer.Layer
		tasks   func(*testing.T, layer.Layer, float64) []*regs.Task
		compute bool // sets the pace of dense ones
	}{
		{"3x3, stride 2", conv(128, 64, 256, 3, 2), lowered, true},
		{"3x3, stride 1", conv(128, 32, 256, 3, 1), masked, true},
		{"1x1, stride 2, small", conv(1024, 16, 256, 1, 2), lowered, false},
		{"1x1, stride 1, small", conv(1024, 8, 256, 1, 1), masked, false},
	} {
		var before, dense sums
		for i, zeros := range []float64{0, 0.25, 0.5, 0.75, 1} {
			now := timed(tt.tasks(t, tt.layer, zeros))
			if i == 0 {
				if now.bound != tt.compute {
					t.Errorf("%s: bound by compute: %v, want %v", tt.name, now.bound, tt.compute)
				}
				before, dense = now, now
				continue
			}
			if now.cycles > before.cycles || before.bound && now.cycles == before.cycles {
				t.Errorf("%s: %d cycles with %v of the weights zero, before %d", tt.name, now.cycles, zeros, before.cycles)
			}
			// Rounding up to what the bytes prove takes a twentieth at most.
			if most := clock.Cycles((1.05 - zeros) * float64(dense.compute)); now.compute > most {
				t.Errorf("%s: %d of %d cycles of compute with %v of the weights zero", tt.name, now.compute, dense.compute, zeros)
			}
			if now.bytes >= before.bytes {
				t.Errorf("%s: %d bytes with %v of the weights zero, before %d", tt.name, now.bytes, zeros, before.bytes)
			}
			if now.macs != dense.macs {
				t.Errorf("%s: %d multiply-accumulates with %v of the weights zero, without %d", tt.name, now.macs, zeros, dense.macs)
			}
			before = now
		}
	}
}
