package hw

import (
	"strings"
	"testing"

	"anesim/hw/evidence"
	"anesim/hw/internal/limits"
	"anesim/hw/regs"
)

// Steps of the budget: every tap of every result, sixteen for every element of others. A
// budget may be used to the last.
func TestStepsOfTheBudget(t *testing.T) {
	conv := newConv(shape{60, 2, 2}, shape{4, 2, 2})
	if got := countValueSteps(&conv.Groups); got != 60*4*2*2*16/16 && got != 60*2*2*elementSteps {
		t.Errorf("%d steps", got)
	}
	window := newEngineTask(regs.MultiplyAccumulate, shape{60, 8, 8}, shape{40, 8, 8})
	window.Groups.Common.ConvCfg = window.Groups.Common.ConvCfg.WithKw(3).WithKh(3)
	if got := countValueSteps(&window.Groups); got != 40*64*60*9 {
		t.Errorf("%d steps of a convolution, want %d", got, 40*64*60*9)
	}
	s := shape{4, 2, 2}
	d := New(newMemory(t), Options{Chip: M1(), Values: true, Workers: 1, Budget: 2 * 16 * elementSteps})
	for range 2 {
		if d.Execute(newPass(s)) {
			t.Fatal(d.Report().Faults)
		}
	}
	if !d.Execute(newPass(s)) {
		t.Error("three tasks on the budget of two")
	}
}

// Groups and planes are worked through one by one, to the last.
func TestEveryGroupAndPlane(t *testing.T) {
	s := shape{1, 1, 2}
	for name, set := range map[string]func(*regs.Task){
		"groups": func(task *regs.Task) {
			g := &task.Groups
			g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithNumGroups(3)
			g.TileDMASrc.Src1GroupStride = g.TileDMASrc.Src1GroupStride.WithBytes(64)
			g.TileDMADst.DstGroupStride = g.TileDMADst.DstGroupStride.WithBytes(64)
		},
		"planes": func(task *regs.Task) {
			g := &task.Groups
			g.Common.InDepth, g.Common.OutDepth = regs.InDepth{}.WithDin(3), regs.OutDepth{}.WithDout(3)
			g.TileDMASrc.Src1DepthStride = g.TileDMASrc.Src1DepthStride.WithBytes(64)
			g.TileDMADst.DstDepthStride = g.TileDMADst.DstDepthStride.WithBytes(64)
		},
		"planes, and one of source 2 for all": func(task *regs.Task) {
			g := &task.Groups
			g.Common.InDepth, g.Common.OutDepth = regs.InDepth{}.WithDin(3), regs.OutDepth{}.WithDout(3)
			g.TileDMASrc.Src1DepthStride = g.TileDMASrc.Src1DepthStride.WithBytes(64)
			g.TileDMASrc.Src2DepthStride = g.TileDMASrc.Src2DepthStride.WithBytes(64)
			g.TileDMADst.DstDepthStride = g.TileDMADst.DstDepthStride.WithBytes(64)
			g.Common.Cfg = g.Common.Cfg.WithPlanarForm(regs.FormTwoSources)
			g.PE.Cfg = g.PE.Cfg.WithSecSrc(2)
			g.Common.ChCfg = regs.FromRaw[regs.ChCfg](0x2a)
			g.Common.PlanarOperands = g.Common.PlanarOperands.WithSrc2BroadcastD(true)
			secondFromMemory(task)
		},
	} {
		task := newPlanar(regs.FormConstant, regs.PlanarAdd, s, s)
		set(task)
		m := newMemory(t)
		store(t, m, firstAt, []float32{1, 2}, []float32{3, 4}, []float32{5, 6})
		store(t, m, secondAt, []float32{0, 0}, []float32{9, 9}, []float32{9, 9})
		execute(t, m, task)
		wantResult(t, name, matrix{{1, 2}, {3, 4}, {5, 6}}, load(t, m, resultAt, 3, 2))
	}
}

// TestReductionBehindInputReLU checks that a reduction sums the results of the input ReLU.
func TestReductionBehindInputReLU(t *testing.T) {
	s := shape{1, 2, 2}
	task := newPlanar(regs.FormReduction, regs.PlanarAdd, s, s)
	task.Groups.L2.Cfg = task.Groups.L2.Cfg.WithInputReLU(true)
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, -2}, []float32{-3, 4})
	execute(t, m, task)
	wantResult(t, "sum of ReLU", matrix{{5}}, load(t, m, resultAt, 1, 1))
}

// TestLargestReduction checks that the plane of a reduction may be as large as the device can
// hold at once, and not larger.
func TestLargestReduction(t *testing.T) {
	for _, tc := range []struct {
		h, w, d uint32
		fault   bool
	}{{4096, 4096, 1, false}, {4096, 4097, 1, true}, {2048, 4096, 2, false}, {2049, 4096, 2, true}} {
		s := shape{1, tc.h, tc.w}
		task := newPlanar(regs.FormReduction, regs.PlanarAdd, s, s)
		g := &task.Groups
		g.Common.InDepth, g.Common.OutDepth = regs.InDepth{}.WithDin(tc.d), regs.OutDepth{}.WithDout(tc.d)
		var p planarTask
		limit, f := p.readOperation(g, g.Operands())
		if limit != nil || (f != nil) != tc.fault {
			t.Errorf("%+v: %v, %v", tc, limit, f)
		}
	}
}

// A ring holds the last rows of each channel.
func TestRingRows(t *testing.T) {
	r := &ring{channels: 3, rows: 2, width: 1, data: make([]half, 6)}
	for y := range 5 {
		for c := range 3 {
			r.SetRow([]half{half(10*y + c)}, c, y, 0)
		}
		for c := range 3 {
			for _, back := range []int{y, y - 1} {
				var got [1]half
				if back < 0 {
					continue
				}
				if r.Row(got[:], c, back); got[0] != half(10*back+c) {
					t.Errorf("behind row %d: row %d of channel %d is %d", y, back, c, got[0])
				}
			}
		}
	}
}

// A ring of more elements than are held at once is a fault of L2.
func TestRingTooLarge(t *testing.T) {
	s := shape{64, 513, 512}
	first, second := toRing(addHalf(s), s.h), fromRing(newPass(s))
	for _, task := range []*regs.Task{first, second} {
		g := &task.Groups // every row stands at the same place: only the ring is large
		for _, w := range []*regs.L2Word{&g.L2.Src1ChannelStride, &g.L2.ResultChannelStride, &g.L2.Src1RowStride, &g.L2.ResultRowStride} {
			*w = regs.L2Word{}
		}
		g.TileDMASrc.Src1RowStride, g.TileDMASrc.Src1PlaneStride = regs.DMAWord{}, regs.DMAWord{}
		g.TileDMADst.DstRowStride, g.TileDMADst.DstPlaneStride = regs.DMAWord{}, regs.DMAWord{}
	}
	d := New(newMemory(t), Options{Chip: M1(), Values: true, Workers: 1})
	second.Index = 1
	d.Execute(first)
	d.Execute(second)
	if r := d.Report(); len(r.Faults) != 1 || !strings.Contains(r.Faults[0].What, "ring of 513 rows") {
		t.Errorf("%v", r.Faults)
	}
}

// Only a reduction whose operation is a maximum or minimum rests on that choice.
func TestCaveatOfReductions(t *testing.T) {
	s := shape{1, 2, 2}
	for _, form := range []regs.PlanarForm{regs.FormConstant, regs.FormReduction} {
		for op, chooses := range map[regs.PlanarOp]bool{regs.PlanarAdd: false, regs.PlanarMul: false, regs.PlanarMax: true, regs.PlanarMin: true} {
			var r DescriptorReport
			r.markComputed(&newPlanar(form, op, s, s).Groups)
			if got, want := strings.Contains(r.Caveat(), "OpMode is assumed to choose"), chooses && form == regs.FormReduction; got != want || !r.Computed {
				t.Errorf("form %v, operation %v: %q", form, op, r.Caveat())
			}
		}
	}
	task := newEngineTask(regs.ChannelMaximum, shape{4, 2, 2}, shape{1, 2, 2})
	g := &task.Groups
	g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithUnicastCin(4)
	g.L2.Cfg = g.L2.Cfg.WithPaddingMode(1)
	if l := limits.Find(g, g.Operands()); l != nil && strings.Contains(l.What, "padding mode") {
		t.Errorf("padding of a maximum: %v", l.What)
	}
}

// Surfaces may run down from their bases as far as the segment goes, and tiles to the last
// byte of the scratchpad.
func TestEdgesOfMemories(t *testing.T) {
	s := shape{1, 3, 4}
	check := func(at uint64) error {
		task := newPass(s)
		task.Bases.Source1 = at
		d := New(newMemory(t), Options{Chip: M1()})
		d.ops = task.Groups.Operands()
		d.ops.Source1.Row = -64
		return d.checkMemory(task)
	}
	for at, fits := range map[uint64]bool{
		memoryAt: false, memoryAt + 127: false, memoryAt + 128: true, memoryAt + memory - 8: true, memoryAt + memory - 7: false,
	} {
		if err := check(at); (err == nil) != fits {
			t.Errorf("three rows down from %#x: %v", at, err)
		}
	}
	whole := shape{1, 3, 8} // rows of whole granules
	task := newPass(whole)
	resultToL2(task, 0)
	o := task.Groups.Operands()
	room := uint32(2<<20 - o.Result.Tile.Span(o.Result.Shape))
	for _, tc := range []struct {
		at   uint32
		fits bool
	}{{room, true}, {room + 16, false}} {
		task := newPass(whole)
		resultToL2(task, tc.at)
		d := New(newMemory(t), Options{Chip: M1()})
		d.ops = task.Groups.Operands()
		if err := d.checkL2(); (err == nil) != tc.fits {
			t.Errorf("a tile at %#x of 2 MiB: %v", tc.at, err)
		}
	}
}

// One product is no sum: the limit of sums does not hold for it.
func TestLimitIsOfSums(t *testing.T) {
	for channels, want := range map[uint32]float32{1: 40000, 2: 65536} {
		m := newMemory(t)
		in := make([][]float32, channels)
		for c := range in {
			in[c] = []float32{40000}
			store(t, m, kernelAt, []float32{1, 0})
		}
		store(t, m, firstAt, in...)
		d := New(m, Options{Chip: M1(), Values: true, Workers: 1})
		d.Execute(newConv(shape{channels, 1, 1}, shape{1, 1, 1}))
		if f := d.Report().Faults; len(f) > 0 {
			t.Fatal(f)
		}
		if got := load(t, m, resultAt, 1, 1)[0][0]; min(got, 65536) != want {
			t.Errorf("40000 through a sum of %d: %v", channels, got)
		}
	}
}

// TestMissingCoefficients checks that weights are reported as a missing input if any byte
// that the lanes read is made up, and only then.
func TestMissingCoefficients(t *testing.T) {
	s := shape{2, 1, 1}
	for _, tc := range []struct {
		made uint64
		want evidence.LimitKind
	}{{0x100, evidence.MissingInput}, {0x17f, evidence.MissingInput}, {0xff, evidence.MissingSpecification}, {0x180, evidence.MissingSpecification}} {
		m := newMemory(t)
		if err := m.MakeUp(kernelAt+tc.made, 1); err != nil {
			t.Fatal(err)
		}
		task := newPass(s)
		g := &task.Groups
		g.NE.MACCfg = g.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
		k := &g.KernelDMASrc
		k.CoeffDMAConfig[0] = k.CoeffDMAConfig[0].WithEn(true)
		k.CoeffBaseAddr[0], k.CoeffBfrSize[0] = k.CoeffBaseAddr[0].WithBytes(0x100), k.CoeffBfrSize[0].WithBytes(0x80)
		d := New(m, Options{Chip: M1(), Values: true, Workers: 1})
		d.Execute(task)
		if r := d.Report(); len(r.Descriptors) != 1 || len(r.Descriptors[0].Limits) != 1 || r.Descriptors[0].Limits[0].Kind != tc.want {
			t.Errorf("byte %#x made up: %+v, %v", tc.made, r.Descriptors, r.Faults)
		}
	}
}
