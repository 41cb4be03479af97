package hw

import (
	"testing"

	"anesim/hw/clock"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

// The L2 columns of tasks on the engines, by hand: each work unit reads the window of its
// patch of each input channel once.
func TestEngineUnitsByHand(t *testing.T) {
	p := M1().newParams()
	engine := func(op regs.MACOp, change func(*regs.Common)) *regs.Task {
		task := newEngineTask(op, shape{8, 90, 90}, shape{32, 20, 20})
		change(&task.Groups.Common)
		return task
	}
	window := func(kw, kh, sx, sy uint32) func(*regs.Common) {
		return func(c *regs.Common) { c.ConvCfg = c.ConvCfg.WithKw(kw).WithKh(kh).WithSx(sx).WithSy(sy) }
	}
	for _, tc := range []struct {
		name        string
		task        *regs.Task
		rows, width int // of the source that a patch of 12 rows of 20 pixels needs
		unicast     bool
		kernel      uint64
	}{
		{"a window of 5x3", engine(regs.MultiplyAccumulate, window(5, 3, 1, 1)), 14, 24, false, 2 * 32 * 8 * 15},
		{"at stride 3x2", engine(regs.MultiplyAccumulate, window(5, 3, 3, 2)), 25, 62, false, 2 * 32 * 8 * 15},
		{"two pixels a step of stride 2", engine(regs.MultiplyAccumulate, func(c *regs.Common) {
			window(5, 3, 2, 2)(c)
			c.ConvCfg = c.ConvCfg.WithOx(2)
			c.OutDim = c.OutDim.WithWout(10)
		}), 25, 24, false, 2 * 32 * 8 * 15},
		{"unicast", engine(regs.MultiplyAccumulate, func(c *regs.Common) {
			window(5, 3, 1, 1)(c)
			c.GroupConvCfg, c.Cout = c.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(1), regs.Cout{}.WithCout(8)
		}), 14, 24, true, 2 * 8 * 15},
		{"two groups", engine(regs.MultiplyAccumulate, func(c *regs.Common) {
			window(5, 3, 1, 1)(c)
			c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(2)
		}), 14, 24, false, 2 * 2 * 32 * 8 * 15},
		{"a pass-through has no window", engine(regs.PassThrough, window(5, 3, 1, 1)), 12, 20, false, 0},
		{"a source lower and narrower than its windows", engine(regs.MultiplyAccumulate, func(c *regs.Common) {
			window(5, 3, 1, 1)(c)
			c.InDim = c.InDim.WithHin(13).WithWin(21)
		}), 13, 21, false, 2 * 32 * 8 * 15},
	} {
		g := &tc.task.Groups
		o := g.Operands()
		w := tiles.Plan(g, p.tiles.Present(), p.tiles)
		u, moved := p.engineUnitColumns(g, o, &w)
		reads := w.WorkUnits * 8
		if tc.unicast {
			reads = w.Patches * 8
		}
		step := 1 // a pass-through reads the row that it writes
		if g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
			step = int(g.Common.ConvCfg.Sy())
		}
		one := p.l2.Cycles(l2.Window{
			Patch:   l2.Patch{Rows: tc.rows, Width: tc.width, Stride: 0x100},
			Columns: 32, Step: step,
		}, tc.unicast)
		if got, want := u.L2Broadcast, clock.Cycles(reads)*clock.Cycles(one); got != want {
			t.Errorf("%s: %d cycles of broadcasts, want %d", tc.name, got, want)
		}
		if got, want := moved.Read, uint64(2*reads*tc.rows*tc.width); got != want {
			t.Errorf("%s: %d bytes read, want %d", tc.name, got, want)
		}
		if got, want := moved.Written, 2*uint64(o.Out.Elements()); got != want {
			t.Errorf("%s: %d bytes written, want %d", tc.name, got, want)
		}
		if u.KernelBytes != tc.kernel {
			t.Errorf("%s: %d bytes of weights, want %d", tc.name, u.KernelBytes, tc.kernel)
		}
	}
}

// The planar engine takes every element of both sources, and each group's planes as one
// patch.
func TestPlanarUnitsByHand(t *testing.T) {
	p := M1().newParams()
	s := shape{8, 30, 40}
	task := newPlanar(regs.FormTwoSources, regs.PlanarAdd, s, s)
	secondFromMemory(task)
	task.Groups.Common.GroupConvCfg = task.Groups.Common.GroupConvCfg.WithNumGroups(3)
	u, moved := p.planarUnitColumns(&task.Groups, task.Groups.Operands())
	if moved.Read != 2*3*8*30*40*2 || moved.Written != 2*3*8*30*40 {
		t.Errorf("%+v", moved)
	}
	if want := 6 * p.l2.WritebackCycles(8, l2.Patch{Rows: 30, Width: 40, Stride: 0x100}); u.L2Broadcast != want {
		t.Errorf("%d cycles of broadcasts, want %d", u.L2Broadcast, want)
	}
	if got := shapeOfAllGroups(&task.Groups, task.Groups.Operands()); got.Cin != 24 || got.Cout != 24 || got.Groups != 3 {
		t.Errorf("channels over all groups: %+v", got)
	}
}

// A program of the vendor has a patch of one row, and its estimate does not space the rows of the source.
func TestPlanarPatchOfOneRow(t *testing.T) {
	p := M1().newParams()
	s := shape{8, 30, 40}
	for _, tc := range []struct{ log2W, log2H, stride uint32 }{{8, 0, 0}, {8, 1, 0x400}, {0, 0, 0x400}} {
		task := newPlanar(regs.FormTwoSources, regs.PlanarAdd, s, s)
		task.Groups.L2.Src1RowStride = task.Groups.L2.Src1RowStride.WithBytes(0x400)
		task.Groups.Common.PlanarPatch = task.Groups.Common.PlanarPatch.WithLog2W(tc.log2W).WithLog2H(tc.log2H)
		u, _ := p.planarUnitColumns(&task.Groups, task.Groups.Operands())
		want := clock.Cycles(task.Groups.Operands().Sources()) * p.l2.WritebackCycles(8, l2.Patch{Rows: 30, Width: 40, Stride: tc.stride})
		if u.L2Broadcast != want {
			t.Errorf("patch of 2^%d x 2^%d: %d cycles of broadcasts, want %d", tc.log2W, tc.log2H, u.L2Broadcast, want)
		}
	}
}

// Each event at its price, and engines that a task leaves alone a step less each.
func TestEnergyByHand(t *testing.T) {
	p := M1().newParams()
	p.mac, p.table, p.l2Byte, p.dram, p.planarElement = 2, 3, 5, 7, 11 // picojoules
	p.active, p.step = 10, 0.5
	d := DescriptorReport{MACs: 5000, Skipped: 2000, Lookups: 1000, PlanarElements: 1000, Engines: 4, Time: 100}
	d.L2.Read, d.L2.Written = 1000, 3000
	d.DMA.Source1, d.DMA.Destination = 1000, 1000
	all := p.tiles.Present()
	want := EnergyParts{MAC: 6, Table: 3, L2: 20, DRAM: 14, Planar: 11, Active: 100 * (10 - 0.5*12)}
	got := p.computeEnergy(&d, all)
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.Total() != 6+3+20+14+11+400 {
		t.Errorf("%v in all", got.Total())
	}
}

// A budget slows a descriptor down to its mean power, and none leaves it as it is.
func TestPowerBudget(t *testing.T) {
	run := func(budget float64) DescriptorReport {
		d := New(newMemory(t), Options{Chip: M1(), PowerBudget: budget})
		s := shape{4, 12, 20}
		d.Execute(newPlanar(regs.FormConstant, regs.PlanarAdd, s, s))
		return d.Report().Descriptors[0]
	}
	free := run(0)
	if free.Cycles.Throttle != 0 {
		t.Errorf("%d cycles of throttling without a budget", free.Cycles.Throttle)
	}
	mean := float64(free.Energy) / float64(free.Time)
	active := float64(free.Parts.Active) / float64(free.Time)
	budget := (mean + active) / 2
	slow := run(budget)
	const rounding = 1 + 1e-12 // of sums in another order
	if slow.Cycles.Throttle == 0 || float64(slow.Energy) > rounding*budget*float64(slow.Time) || slow.Time <= free.Time {
		t.Errorf("%.3f W of %.3f: %v and %d cycles of throttling after %v", budget, mean, slow.Time, slow.Cycles.Throttle, free.Time)
	}
	// No slower than it must: the mean is the budget but for a cycle.
	if float64(slow.Energy) < budget*float64(slow.Time-M1().newParams().clock.Time(1)) {
		t.Errorf("%v over %v, slower than %.3f W", slow.Energy, slow.Time, budget)
	}
}

// A convolution of several patches takes its coefficients again for each, and waits for all
// of them; a pass-through goes channel by channel, and starts on its first.
func TestPartsOfATask(t *testing.T) {
	p := M1().newParams()
	conv := func(rows uint32) DescriptorReport {
		s := shape{4, rows, 16}
		task := newConv(s, s)
		for i := range 4 {
			k := &task.Groups.KernelDMASrc
			k.CoeffBfrSize[i] = k.CoeffBfrSize[i].WithBytes(0x4000)
		}
		var d DescriptorReport
		NewTimer(M1()).Time(&d, task)
		return d
	}
	one, two := conv(16), conv(17)
	kernel := p.dma.Cycles(two.DMA, 0x4000, 1).Kernel
	if d := one; d.Cycles.KernelStall >= kernel {
		t.Errorf("one patch waits %d cycles for coefficients of %d", d.Cycles.KernelStall, kernel)
	}
	if early := clock.Cycles(p.kernelOverlap * float64(two.Cycles.Compute)); two.Cycles.KernelStall+early < kernel {
		t.Errorf("two patches wait %d cycles for coefficients of %d", two.Cycles.KernelStall, kernel)
	}
	var d DescriptorReport
	task := newPass(shape{64, 16, 16})
	NewTimer(M1()).Time(&d, task)
	mem := p.dma.Cycles(d.DMA, 0, 1)
	if most := mem.Source/64 + p.dma.Latency + max(0, mem.Total-min(mem.Total, d.Cycles.Compute)); d.Cycles.InputStall > most {
		t.Errorf("a pass-through of 64 channels waits %d cycles for its source of %d, want at most %d", d.Cycles.InputStall, mem.Source, most)
	}
}

// TestFinishDrains checks that a chain ends only after its pending writes to memory.
func TestFinishDrains(t *testing.T) {
	p := M1().newParams()
	d := DescriptorReport{Cycles: Accounting{Compute: 100, OutputStall: 1}}
	l := pipeline{drain: 30}
	p.addLastStores(&d, p.tiles.Present(), &l)
	if d.Cycles.OutputStall != 31 || l.drain != 0 || d.Time != p.clock.Time(131) {
		t.Errorf("%+v, %v, %d left", d.Cycles, d.Time, l.drain)
	}
}

// Repeated descriptors count as often as they ran, in every sum.
func TestRepeatCountsTheLastOnes(t *testing.T) {
	var r Report
	for i := range 4 {
		n := int(1) << (8 * i)
		e := clock.Nanojoules(n)
		d := DescriptorReport{
			Index: i, Cycles: Accounting{Compute: clock.Cycles(n)}, Time: clock.Nanoseconds(2 * n), Energy: 3 * e, MACs: uint64(4 * n),
			Parts: EnergyParts{MAC: e, Table: 2 * e, L2: 3 * e, DRAM: 4 * e, Planar: 5 * e, Active: 6 * e},
		}
		r.Descriptors = append(r.Descriptors, d)
		r.Add(&d)
	}
	r.Repeat(4, 2)
	const want = 1 + 1<<8 + 5<<16 + 5<<24
	if got := r.Accounting(); got.Compute != want || r.Cycles != want || r.Time != 2*want || r.Energy != 3*want || r.MACs != 4*want || r.Count() != 12 {
		t.Errorf("%#x cycles by cause, want %#x; %+v; %d ran", got.Compute, want, r.currentSums(), r.Count())
	}
	if got, want := r.Parts(), (EnergyParts{MAC: want, Table: 2 * want, L2: 3 * want, DRAM: 4 * want, Planar: 5 * want, Active: 6 * want}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Stalls of both ways through L2 are the planar engine's.
func TestPlanarCounters(t *testing.T) {
	c := newCounters(&DescriptorReport{Planar: true, Cycles: Accounting{InputStall: 1, L2ReadStall: 2, OutputStall: 4, L2WriteStall: 8}})
	if c[L2PEInputStall] != 3 || c[L2PEOutputStall] != 12 {
		t.Errorf("%d and %d cycles", c[L2PEInputStall], c[L2PEOutputStall])
	}
	if got := Op(99).String(); got != "Op(99)" {
		t.Errorf("%q", got)
	}
}

// An interval rests on the fewest rows of its parts, and convolutions of one pixel are a
// kind of their own.
func TestIntervalRests(t *testing.T) {
	var b Interval
	for _, tc := range []struct{ rows, want int }{{7, 7}, {9, 7}, {5, 5}, {6, 5}} {
		b.addDescriptor(Interval{Rows: tc.rows}, 1)
		if b.Rows != tc.want {
			t.Errorf("with %d rows: rests on %d, want %d", tc.rows, b.Rows, tc.want)
		}
	}
	point, window := Spread{pointLow, pointHigh, pointRows}, Spread{windowLow, windowHigh, windowRows}
	for kernel, want := range map[[2]int]Spread{{1, 1}: point, {1, 3}: window, {2, 1}: window} {
		if got := findSpread(&DescriptorReport{Op: Conv, Shape: Shape{Kh: kernel[0], Kw: kernel[1]}}); got != want {
			t.Errorf("%v: %+v, want %+v", kernel, got, want)
		}
	}
}
