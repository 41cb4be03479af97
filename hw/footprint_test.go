package hw

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/dma"
	"anesim/hw/regs"
)

// TestFootprints checks which device memory a task uses. Strides may be negative, and weights
// start at the lowest lane.
func TestFootprints(t *testing.T) {
	s := shape{2, 3, 4}
	task := newConv(s, s)
	g := &task.Groups
	for i := range 2 {
		g.KernelDMASrc.CoeffBaseAddr[i] = g.KernelDMASrc.CoeffBaseAddr[i].WithBytes(0x80 + 0x40*uint32(i))
	}
	o := g.Operands()
	o.Source1.Row = -64
	dram, _ := operandFootprints(task, o)
	want := footprint{
		source1: span{firstAt - 2*64, firstAt + 3*64 + 8}, // two rows down, a plane up, four elements
		kernel:  span{kernelAt + 0x80, kernelAt + 0x100},
		result:  span{resultAt, resultAt + 5*64 + 8},
	}
	if dram != want {
		t.Errorf("%+v, want %+v", dram, want)
	}
	firstFromL2(task, 0)
	resultToL2(task, 0)
	g.KernelDMASrc = regs.KernelDMASrc{}
	if dram, _ := operandFootprints(task, g.Operands()); dram != (footprint{}) {
		t.Errorf("nothing of device memory: %+v", dram)
	}
}

// TestPrefetchAsks checks how much memory reads ahead of the array, with one case for each
// way to request it.
func TestPrefetchAsks(t *testing.T) {
	p := &params{overhead: 10, kernelMemory: 64, part: 64, dma: dma.Params{Latency: 5}}
	apart := footprint{source1: at(1), result: at(2)}
	for _, tt := range []struct {
		name string
		l    pipeline
		d    demand
		want Accounting
	}{
		{"half of the coefficients, then a part of the source in what time is left",
			pipeline{running: true, slack: 150, lane: 32}, demand{fills: 4, lane: 64, reread: true, mem: dma.Cycles{Kernel: 200, Source: 400, Total: 600}, l2: apart},
			Accounting{Overhead: 10, KernelStall: 100, InputStall: 50}},
		{"no coefficients ask for nothing: the source waits for its first answer",
			pipeline{running: true, slack: 150, l2: apart}, demand{fills: 4, lane: 64, mem: dma.Cycles{Source: 400, Total: 400}, l2: footprint{source1: at(2)}},
			Accounting{Overhead: 10, InputStall: 100 + 5}},
		{"no source asks for nothing: coefficients without room wait for theirs",
			pipeline{running: true, slack: 150, lane: 64}, demand{fills: 4, lane: 64, mem: dma.Cycles{Kernel: 200, Total: 200}, l2: apart},
			Accounting{Overhead: 10, InputStall: 5}},
		{"as much of both",
			pipeline{}, demand{fills: 1, lane: 64, mem: dma.Cycles{Kernel: 200, Source: 200, Total: 400}, l2: apart},
			Accounting{Overhead: 10, InputStall: 200 + 5}},
		{"nothing to bring", pipeline{}, demand{fills: 1, l2: apart}, Accounting{Overhead: 10}},
	} {
		a := Accounting{Overhead: p.overhead}
		tt.l.planPrefetch(p, &a, &tt.d)
		if diff := cmp.Diff(tt.want, a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Stalls of L2 are time in the array too, in which memory works.
func TestBodyWithL2Stalls(t *testing.T) {
	d := demand{drains: 4, mem: dma.Cycles{Destination: 80}}
	for _, tt := range []struct {
		name string
		a    Accounting
		pre  prefetch
		want Accounting
	}{
		{"the array bounds, with its stalls", Accounting{Compute: 600, L2ReadStall: 300, L2WriteStall: 100}, prefetch{fill: 300, total: 1320}, Accounting{Compute: 600, L2ReadStall: 300, L2WriteStall: 100}},
		{"memory bounds by a cycle", Accounting{Compute: 600, L2ReadStall: 300, L2WriteStall: 100}, prefetch{fill: 300, total: 1321}, Accounting{Compute: 600, L2ReadStall: 300, L2WriteStall: 100, OutputStall: 1}},
		{"coefficients that still arrive come with those that are streamed", Accounting{Compute: 1000}, prefetch{fill: 100, arriving: 100, streamed: 1200, later: 50, total: 1400}, Accounting{Compute: 1000, KernelStall: 300, InputStall: 50, OutputStall: 30}},
	} {
		var l pipeline
		l.runArray(&tt.a, &d, &tt.pre)
		if diff := cmp.Diff(tt.want, tt.a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// So they are beside a ring.
func TestJoinWithL2Stalls(t *testing.T) {
	p := &params{overhead: 10}
	l := pipeline{running: true, ring: 100, slack: 50, drain: 7}
	d := demand{drains: 1, reads: true, mem: dma.Cycles{Total: 2000}}
	a := Accounting{Compute: 1100, L2ReadStall: 200, L2WriteStall: 50}
	after := l.addOverheadAndStalls(p, &a, &d)
	// The ring's 100 cycles hide as much of the reads; memory has 50 + 1250 cycles for 2007.
	want := Accounting{Overhead: 10, Compute: 1100, L2ReadStall: 100, L2WriteStall: 50, OutputStall: 2007 - 1300}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if after.body != 1350 || after.busy != 2007 {
		t.Errorf("%+v, want 1350 cycles in the array", after)
	}
	// Without a ring before it, a reader runs as any descriptor does on the other engine.
	l = pipeline{running: true, slack: 2000}
	a = Accounting{Compute: 600}
	l.addOverheadAndStalls(p, &a, &demand{planar: true, reads: true, fills: 1, drains: 1})
	if diff := cmp.Diff(Accounting{Overhead: 10}, a); diff != "" {
		t.Errorf("no ring (-want +got):\n%s", diff)
	}
}
