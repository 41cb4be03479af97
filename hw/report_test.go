package hw

import (
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// Every field of Accounting is a part of its total: a cycle has one cause.
func TestAccountingTotal(t *testing.T) {
	var a Accounting
	v := reflect.ValueOf(&a).Elem()
	want := clock.Cycles(0)
	for i := range v.NumField() {
		n := clock.Cycles(1) << (4 * i)
		v.Field(i).Set(reflect.ValueOf(n))
		want += n
	}
	if got := a.Total(); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
	// The table of causes names each field once.
	names := make(map[string]bool)
	for c, n := range a.All() {
		if names[c.String()] {
			t.Errorf("%v twice", c)
		}
		names[c.String()] = true
		want -= n
	}
	if want != 0 || len(names) != v.NumField() {
		t.Errorf("the causes %v leave %#x of the total", names, want)
	}
}

func TestBound(t *testing.T) {
	for _, tc := range []struct {
		a    Accounting
		want string
	}{
		{Accounting{}, "compute"},
		{Accounting{Compute: 10, Overhead: 10}, "compute"},
		{Accounting{Compute: 10, Overhead: 11}, "overhead"},
		{Accounting{Compute: 6, InputStall: 5, Overhead: 11}, "overhead"},
		{Accounting{Compute: 11, InputStall: 5, Overhead: 11}, "compute"},
		{Accounting{Compute: 5, InputStall: 6}, "input_stall"},
		{Accounting{Compute: 5, OutputStall: 6}, "output_stall"},
		{Accounting{Compute: 5, KernelStall: 6}, "kernel_stall"},
		{Accounting{Compute: 5, L2ReadStall: 6}, "l2_read_stall"},
		{Accounting{Compute: 5, L2WriteStall: 6}, "l2_write_stall"},
		{Accounting{Compute: 5, Throttle: 6}, "throttle"},
	} {
		if got := tc.a.Bound(); got != tc.want {
			t.Errorf("%+v is bound by %q, want %q", tc.a, got, tc.want)
		}
	}
}

// TestAccountOverlapsUnits checks that a slower unit adds only its excess over the units
// before it.
func TestAccountOverlapsUnits(t *testing.T) {
	for _, tc := range []struct {
		name string
		u    Units
		want Accounting
	}{
		{"array alone", Units{NEDouble: 100}, Accounting{Compute: 100}},
		{"planar alone", Units{Planar: 90}, Accounting{Compute: 90}},
		{"hidden behind the array", Units{NEDouble: 100, L2Broadcast: 100, L2Writeback: 50}, Accounting{Compute: 100}},
		{"each a little slower", Units{NEDouble: 10, L2Broadcast: 11, L2Writeback: 13},
			Accounting{Compute: 10, L2ReadStall: 1, L2WriteStall: 2}},
	} {
		if d := cmp.Diff(tc.want, tc.u.splitByCause(max(tc.u.NEDouble, tc.u.Planar))); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestClassify(t *testing.T) {
	s := shape{4, 2, 2}
	transposed := newConv(s, s)
	transposed.Groups.Common.Cfg = transposed.Groups.Common.Cfg.WithTranspose(true)
	scratch := newConv(s, s)
	scratch.Header.KernelBases = scratch.Header.KernelBases.WithKBE0(true).WithKBase0(regs.BARScratch)
	relu := newPass(s)
	relu.Groups.NE.MACCfg = relu.Groups.NE.MACCfg.WithNonlinearMode(regs.ReLU)
	turned, woven, reordered, broadcast := newPass(s), newPass(s), newPass(s), newPass(s)
	turned.Groups.Common.Cfg = turned.Groups.Common.Cfg.WithTranspose(true)
	woven.Groups.TileDMADst.DstFmt = woven.Groups.TileDMADst.DstFmt.WithInterleave(4)
	d := &reordered.Groups.TileDMADst
	d.DstRowStride, d.DstPlaneStride = d.DstPlaneStride.WithBytes(256), d.DstRowStride.WithBytes(64)
	regrouped := newPass(s) // the second group follows the first channel
	regrouped.Groups.Common.GroupConvCfg = regrouped.Groups.Common.GroupConvCfg.WithNumGroups(2)
	regrouped.Groups.TileDMASrc.Src1GroupStride = regrouped.Groups.TileDMASrc.Src1GroupStride.WithBytes(512)
	r := &regrouped.Groups.TileDMADst
	r.DstGroupStride, r.DstPlaneStride = r.DstGroupStride.WithBytes(128), r.DstPlaneStride.WithBytes(256)
	b := &broadcast.Groups.TileDMASrc // one row for all channels
	b.Src1PlaneStride = b.Src1PlaneStride.WithBytes(0)
	unicast := newEngineTask(regs.MantissaTable, s, s)
	unicast.Groups.Common.GroupConvCfg = unicast.Groups.Common.GroupConvCfg.WithUnicastEn(true)
	add := newPlanar(regs.FormConstant, regs.PlanarAdd, s, s)
	add.Groups.PE.BiasScale = add.Groups.PE.BiasScale.WithBias(1)
	for _, tc := range []struct {
		task *regs.Task
		want string
	}{
		{newConv(s, s), "conv"}, {transposed, "matmul"}, {scratch, "matmul"},
		{newPass(s), "copy"}, {turned, "transpose"}, {woven, "interleave"}, {reordered, "transpose"}, {regrouped, "regroup"}, {broadcast, "copy"}, {newEngineTask(regs.ChannelProduct, s, s), "product"}, {relu, "activation"}, {unicast, "activation"},
		{newEngineTask(regs.MantissaTable, s, s), "reduce"}, {newEngineTask(regs.ChannelMaximum, s, s), "reduce"},
		{newPlanar(regs.FormReduction, regs.PlanarAdd, s, s), "reduce"},
		{newPlanar(regs.FormTwoReduced, regs.PlanarAdd, s, s), "reduce"},
		{newPlanar(regs.FormTwoSources, regs.PlanarAdd, s, s), "elementwise"},
		{newPlanar(regs.FormConstant, regs.PlanarAdd, s, s), "copy"}, {add, "elementwise"},
	} {
		if got := classify(&tc.task.Header, &tc.task.Groups, tc.task.Groups.Operands()).String(); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
	if got := Op(99).String(); got != "Op(99)" {
		t.Errorf("%q", got)
	}
}

// The counters say nothing that the accounting and the traffic do not.
func TestCounters(t *testing.T) {
	s := shape{4, 2, 2}
	second := newPlanar(regs.FormTwoSources, regs.PlanarAdd, s, s)
	secondFromMemory(second)
	for name, task := range map[string]*regs.Task{"conv": newConv(s, s), "planar": second} {
		var d DescriptorReport
		NewTimer(M1()).Time(&d, task)
		got := make(map[string]uint64)
		n := 0
		for name, v := range d.Counters.All() {
			got[name] = v
			n++
		}
		if n != 24 || len(got) != numCounters {
			t.Fatalf("%d counters of %d names", n, len(got))
		}
		a, engine, planar := &d.Cycles, uint64(1), uint64(0)
		if task.Groups.Planar() {
			engine, planar = 0, 1
		}
		want := map[string]uint64{
			"ne_nominal":           engine * uint64(a.Total()),
			"ne_compute":           engine * uint64(a.Compute),
			"ne_throttle":          engine * uint64(a.Throttle),
			"ne_input_stall":       engine * uint64(a.InputStall),
			"ne_output_stall":      engine * uint64(a.OutputStall),
			"ne_kernel_stall":      engine * uint64(a.KernelStall),
			"l2_nominal":           uint64(a.Total()),
			"l2_throttle":          0,
			"l2_read_stall":        uint64(a.L2ReadStall),
			"l2_write_stall":       uint64(a.L2WriteStall),
			"l2pe_compute":         planar * uint64(a.Compute),
			"l2pe_input_stall":     planar * uint64(a.InputStall+a.L2ReadStall),
			"l2pe_output_stall":    planar * uint64(a.OutputStall+a.L2WriteStall),
			"fp16_cycles":          engine * uint64(a.Compute),
			"int8_cycles":          0,
			"kernel_manager_stall": engine * uint64(a.KernelStall),
			"dma_read_bytes":       d.DMA.Source1 + d.DMA.Source2 + d.DMA.Kernel,
			"dma_read_write_bytes": d.DMA.Source1 + d.DMA.Source2 + d.DMA.Kernel + d.DMA.Destination,
			"af_to_km_bytes":       d.DMA.Kernel,
			"af_to_l2_bytes":       d.DMA.Source1 + d.DMA.Source2,
			"l2_to_af_bytes":       d.DMA.Destination,
			"l2_to_ne_bytes":       engine * uint64(d.Units.WorkUnits) * 4 * 2 * 2 * 2,
			"ne_to_l2_bytes":       engine * 4 * 2 * 2 * 2,
			"dpe_energy_pj":        uint64(d.Energy * 1000),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name := range new(Counters).All() {
		if name != "ne_nominal" {
			t.Errorf("%s comes first", name)
		}
		break
	}
}

// The report is the sum of its descriptors.
func TestReportSums(t *testing.T) {
	s := shape{4, 2, 2}
	d := execute(t, newMemory(t), newConv(s, s), newPass(s), newPlanar(regs.FormConstant, regs.PlanarAdd, s, s))
	r := d.Report()
	var want Report
	for _, x := range r.Descriptors {
		want.Cycles += x.Cycles.Total()
		want.Time += x.Time
		want.Energy += x.Energy
		want.MACs += x.MACs
		want.DMA.Source1 += x.DMA.Source1
		want.DMA.Destination += x.DMA.Destination
		want.DMA.Kernel += x.DMA.Kernel
	}
	if r.Cycles != want.Cycles || r.Time != want.Time || r.MACs != want.MACs || r.DMA != want.DMA || r.MACs != 64 {
		t.Errorf("%+v, want the sums %+v", r, want)
	}
	if r.Energy < r.DescriptorEnergy() {
		t.Errorf("energy %v, of it the descriptors' %v", r.Energy, r.DescriptorEnergy())
	}
	if d := math.Abs(float64(r.DescriptorEnergy() - want.Energy)); d > 1e-6 {
		t.Errorf("energy %v and the dispatch's %v, the descriptors' are %v", r.Energy, r.Dispatch, want.Energy)
	}
}

// TestTimer checks that the timer gives the device's results and allocates nothing.
func TestTimer(t *testing.T) {
	s := shape{4, 2, 2}
	m := NewTimer(M1())
	d := New(newMemory(t), Options{Chip: M1()})
	list := []*regs.Task{newConv(s, s), newPass(s), newPlanar(regs.FormReduction, regs.PlanarAdd, s, s)}
	for _, task := range list {
		d.Execute(task)
	}
	for i, task := range list {
		var got DescriptorReport
		m.Time(&got, task)
		if i == len(list)-1 {
			m.Finish(&got)
		}
		if diff := cmp.Diff(d.Report().Descriptors[i], got); diff != "" {
			t.Errorf("(-device +timer):\n%s", diff)
		}
		if n := testing.AllocsPerRun(100, func() { NewTimer(M1()).Time(&got, task) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

func BenchmarkTimer(b *testing.B) {
	s := shape{4, 2, 2}
	tasks := []*regs.Task{newConv(s, s), newPass(s), newPlanar(regs.FormConstant, regs.PlanarAdd, s, s)}
	m := NewTimer(M1())
	var d DescriptorReport
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, t := range tasks {
			m.Time(&d, t)
		}
		n += len(tasks)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "descriptors/s")
}
