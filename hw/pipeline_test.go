package hw

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/clock"
	"anesim/hw/dma"
)

// order places descriptors one after the other. It returns the total with the drain of the
// last one, the accounting of each, and the cycles that overlap saves.
func order(p *params, list ...placed) (total clock.Cycles, all []Accounting, saved clock.Cycles) {
	var l pipeline
	for i := range list {
		a := Accounting{Compute: list[i].compute}
		saved += l.placeDescriptor(p, &a, &list[i].demand).saved
		all = append(all, a)
		total += a.Total()
	}
	return total + l.drain, all, saved
}

type placed struct {
	compute clock.Cycles
	demand
}

// Buffers and tiles that do not touch.
func at(i uint64) span { return span{100 * i, 100*i + 100} }

func TestPlace(t *testing.T) {
	p := &params{overhead: 10, kernelMemory: 64, part: 64, dma: dma.Params{Latency: 5}}
	// Four parts of source, result and array; coefficients that fill kernel memory.
	full := placed{1000, demand{
		fills: 4, drains: 4, lane: 64, reread: true, mem: dma.Cycles{Kernel: 200, Source: 400, Destination: 80, Total: 640},
		dram: footprint{source1: at(1), kernel: at(2), result: at(3)}, l2: footprint{source1: at(1), result: at(2)},
	}}
	with := func(x placed, change func(*placed)) placed { change(&x); return x }
	elsewhere := func(x *placed) { x.l2 = footprint{source1: at(3), result: at(4)} }

	for _, tt := range []struct {
		name string
		list []placed
		want Accounting // of the last
	}{
		{"alone: coefficients, the first part of the source and its latency", []placed{full},
			Accounting{Overhead: 10, Compute: 1000, KernelStall: 200, InputStall: 105}},
		{"without coefficients that must all be there", []placed{with(full, func(x *placed) { x.reread = false })},
			Accounting{Overhead: 10, Compute: 1000, InputStall: 105}},
		{"more than kernel memory comes again for each part", []placed{with(full, func(x *placed) { x.lane = 65 })},
			Accounting{Overhead: 10, Compute: 1000, InputStall: 105 + 100, OutputStall: 20}},
		{"memory bound", []placed{with(full, func(x *placed) { x.compute = 10 })},
			Accounting{Overhead: 10, Compute: 10, KernelStall: 200, InputStall: 105 + 290, OutputStall: 20}},
		{"behind its like: kernel memory and scratchpad are taken", []placed{full, full},
			Accounting{Overhead: 10, Compute: 1000, KernelStall: 200, InputStall: 105}},
		{"half the coefficients fetched early", []placed{with(full, func(x *placed) { x.lane = 32 }), full},
			Accounting{Overhead: 10, Compute: 1000, KernelStall: 100, InputStall: 100}},
		{"all fetched early", []placed{with(full, func(x *placed) { x.reread = false }), with(full, elsewhere)},
			Accounting{Overhead: 10, Compute: 1000}},
		{"memory bound, with the drain of the one before", []placed{full, with(full, func(x *placed) { x.compute = 10 })},
			Accounting{Overhead: 10, Compute: 10, KernelStall: 200, InputStall: 105 + 290, OutputStall: 40}},
		{"the source must land first", []placed{with(full, func(x *placed) { x.dram.result = at(1) }), full},
			Accounting{Overhead: 10, Compute: 1000, KernelStall: 200, InputStall: 105 + 20}},
		{"the coefficients must land first", []placed{with(full, func(x *placed) { x.reread = false; x.dram.result = at(2) }), with(full, elsewhere)},
			Accounting{Overhead: 10, Compute: 1000, KernelStall: 200, InputStall: 105 + 20}},
		{"on the other engine", []placed{full, {300, demand{planar: true, fills: 1, drains: 1, l2: footprint{source1: at(5), result: at(6)}}}},
			Accounting{Overhead: 10}},
		{"on the other engine, of what the array makes", []placed{full, {300, demand{planar: true, fills: 1, drains: 1, l2: footprint{source1: at(2), result: at(6)}}}},
			Accounting{Overhead: 10, Compute: 300}},
	} {
		if _, got, _ := order(p, tt.list...); got[len(got)-1] != tt.want {
			t.Errorf("%s:\n%+v, want\n%+v", tt.name, got[len(got)-1], tt.want)
		}
	}
}

// TestPlaceSaves checks that the saving of a chain is the sum of its descriptors' times alone
// minus the time of the chain.
func TestPlaceSaves(t *testing.T) {
	p := &params{overhead: 10, kernelMemory: 64, part: 64, dma: dma.Params{Latency: 5}}
	x := placed{1000, demand{
		fills: 4, drains: 4, lane: 24, reread: true, mem: dma.Cycles{Kernel: 200, Source: 400, Destination: 80, Total: 640},
		dram: footprint{source1: at(1), kernel: at(2), result: at(3)}, l2: footprint{source1: at(1), result: at(2)},
	}}
	y := x
	y.l2 = footprint{source1: at(3), result: at(4)}
	one, _, none := order(p, x)
	all, _, saved := order(p, x, y, x, y)
	if none != 0 || saved == 0 || all+saved != 4*one {
		t.Errorf("four take %d and save %d, one takes %d and saves %d", all, saved, one, none)
	}
}

// TestPlaceSavesWhatItSaves checks that the time of a chain plus its saving is the sum of its
// descriptors' times alone, in any order.
func TestPlaceSavesWhatItSaves(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	p := &params{overhead: 10, kernelMemory: 64, part: 64, kernelOverlap: 0.3, dma: dma.Params{Latency: 5}}
	n := func(most uint64) clock.Cycles { return clock.Cycles(r.Uint64N(most)) }
	for range 20000 {
		var list []placed
		alone := clock.Cycles(0)
		for range 1 + r.IntN(6) {
			x := placed{n(500), demand{
				planar: r.IntN(2) == 0, fills: r.IntN(6), drains: r.IntN(6), lane: r.Uint64N(100), reread: r.IntN(2) == 0,
				mem:  dma.Cycles{Kernel: n(300), Source: n(300), Destination: n(300)},
				dram: footprint{at(r.Uint64N(9)), at(r.Uint64N(9)), at(r.Uint64N(9)), at(r.Uint64N(9))},
				l2:   footprint{at(r.Uint64N(9)), at(r.Uint64N(9)), span{}, at(r.Uint64N(9))},
			}}
			x.mem.Total = max(x.mem.Kernel+x.mem.Source, x.mem.Destination) + n(300)
			one, _, _ := order(p, x)
			list, alone = append(list, x), alone+one
		}
		total, _, saved := order(p, list...)
		if total > alone || total+saved != alone {
			t.Fatalf("%+v:\nalone %d, in a chain %d, saved %d", list, alone, total, saved)
		}
	}
}

// TestPlaceBeatsNoUnit checks that overlap does not make a chain faster than its array alone
// or its memory alone.
func TestPlaceBeatsNoUnit(t *testing.T) {
	p := &params{kernelMemory: 64, part: 64}
	for _, compute := range []clock.Cycles{1, 100, 400, 640, 2000} {
		for _, lane := range []uint64{0, 16, 48, 64, 100} {
			x := placed{compute, demand{
				fills: 4, drains: 2, lane: lane, reread: true, mem: dma.Cycles{Kernel: 200, Source: 400, Destination: 80, Total: 640},
				dram: footprint{source1: at(1), kernel: at(2), result: at(3)}, l2: footprint{source1: at(1), result: at(2)},
			}}
			y := x
			y.l2 = footprint{source1: at(3), result: at(4)}
			const n = 50
			var list []placed
			for range n {
				list = append(list, x, y)
			}
			total, _, _ := order(p, list...)
			if least := 2 * n * max(compute, 640); total < least {
				t.Errorf("array %d, lane %d: %d cycles, its units take %d", compute, lane, total, least)
			}
		}
	}
}

// TestJoin checks that the descriptor that reads a ring overlaps with the descriptor that
// fills it. It adds only its excess time and the traffic that memory had no time for.
func TestJoin(t *testing.T) {
	p := &params{overhead: 10, kernelMemory: 64, part: 64, dma: dma.Params{Latency: 5}}
	first := placed{1000, demand{fills: 10, drains: 1, mem: dma.Cycles{Source: 400, Total: 400}, writes: true,
		dram: footprint{source1: at(1)}, l2: footprint{source1: at(1), result: at(2)}}}
	second := func(compute, destination clock.Cycles) placed {
		return placed{compute, demand{planar: true, fills: 1, drains: 10, reads: true,
			mem:  dma.Cycles{Destination: destination, Total: destination},
			dram: footprint{result: at(3)}, l2: footprint{source1: at(2), result: at(4)}}}
	}
	alone, _, _ := order(p, first)
	if alone != 10+45+1000 {
		t.Fatalf("the first alone takes %d cycles", alone)
	}
	for _, tt := range []struct {
		name                 string
		compute, destination clock.Cycles
		want                 Accounting
	}{
		{"shorter", 600, 0, Accounting{Overhead: 10}},
		{"longer", 1300, 0, Accounting{Overhead: 10, Compute: 300}},
		{"its results fit where memory was idle", 600, 640, Accounting{Overhead: 10}},
		{"and where they do not", 600, 1000, Accounting{Overhead: 10, OutputStall: 900 - 640}},
		{"longer, with the time that gives memory", 1300, 1000, Accounting{Overhead: 10, Compute: 300}},
	} {
		_, all, _ := order(p, first, second(tt.compute, tt.destination))
		if diff := cmp.Diff(tt.want, all[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// Behind anything else a reader of a ring is a descriptor like any other.
	if _, all, _ := order(p, placed{1000, demand{}}, second(600, 0)); all[1].Overhead != 10 {
		t.Errorf("no ring before: %+v", all[1])
	}
}

// The steps by themselves.
func TestPrefetch(t *testing.T) {
	p := &params{overhead: 10, kernelMemory: 64, part: 64, kernelOverlap: 0.5, dma: dma.Params{Latency: 5}}
	d := demand{fills: 4, drains: 4, lane: 64, reread: true, mem: dma.Cycles{Kernel: 200, Source: 400, Destination: 80, Total: 640},
		dram: footprint{source1: at(1), kernel: at(2), result: at(3)}, l2: footprint{source1: at(1), result: at(2)}}
	for _, tt := range []struct {
		name string
		l    pipeline
		d    demand
		want prefetch
		a    Accounting
	}{
		{"the first: all of the coefficients and a part of the source", pipeline{}, d,
			prefetch{fill: 300, arriving: 125, later: 300, total: 640, resident: true, held: 64},
			Accounting{Overhead: 10, KernelStall: 75, InputStall: 105}},
		{"memory was idle long enough", pipeline{running: true, slack: 1000}, d,
			prefetch{fill: 300, later: 300, total: 640, resident: true, held: 64},
			Accounting{Overhead: 10}},
		{"for the coefficients alone", pipeline{running: true, slack: 200}, d,
			prefetch{fill: 300, later: 300, total: 640, resident: true, held: 64},
			Accounting{Overhead: 10, InputStall: 100}},
		{"results of the one before land first", pipeline{running: true, slack: 1000, drain: 30, dram: footprint{result: at(1)}}, d,
			prefetch{fill: 300, later: 300, total: 640, resident: true, held: 64},
			Accounting{Overhead: 10, InputStall: 100 + 5 + 30}},
		{"or leave beside it", pipeline{running: true, slack: 1000, drain: 30, dram: footprint{result: at(9)}}, d,
			prefetch{fill: 300, later: 300, behind: 30, total: 640, resident: true, held: 64},
			Accounting{Overhead: 10}},
	} {
		a := Accounting{Overhead: p.overhead, Compute: 1000}
		got := tt.l.planPrefetch(p, &a, &tt.d)
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
		a.Compute = 0
		if diff := cmp.Diff(tt.a, a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestBody(t *testing.T) {
	d := demand{drains: 4, mem: dma.Cycles{Destination: 80}}
	for _, tt := range []struct {
		name  string
		pre   prefetch
		slack clock.Cycles
		want  Accounting
	}{
		{"the array bounds", prefetch{fill: 300, later: 300, total: 640}, 680, Accounting{Compute: 1000}},
		{"memory bounds: source, then results", prefetch{later: 1100, total: 1300}, 0, Accounting{Compute: 1000, InputStall: 100, OutputStall: 180}},
		{"coefficients first", prefetch{streamed: 1200, later: 50, total: 1400}, 0, Accounting{Compute: 1000, KernelStall: 200, InputStall: 50, OutputStall: 130}},
		{"results of the one before", prefetch{behind: 1500}, 0, Accounting{Compute: 1000, OutputStall: 500}},
	} {
		var l pipeline
		a := Accounting{Compute: 1000}
		after := l.runArray(&a, &d, &tt.pre)
		l.storeStateAfter(&d, &after)
		if diff := cmp.Diff(tt.want, a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if l.slack != tt.slack || l.drain != 20 {
			t.Errorf("%s: memory idle for %d cycles, want %d; %d of results left, want 20", tt.name, l.slack, tt.slack, l.drain)
		}
	}
}

// A lane longer than what comes together waits for its remainder before the array starts, for
// the rest beside it, and leaves room for what the next descriptor needs first.
func TestLongLaneComesInParts(t *testing.T) {
	p := &params{kernelMemory: 128, part: 64}
	kernel := func(lane uint64) (first, all clock.Cycles, after uint64) {
		var l pipeline
		a := Accounting{Compute: 1000}
		l.appendDescriptor(p, &a, &demand{lane: lane, reread: true, fills: 1, drains: 1, mem: dma.Cycles{Kernel: clock.Cycles(lane), Total: clock.Cycles(lane)}})
		return a.KernelStall, a.Total(), l.lane
	}
	for _, tc := range []struct {
		lane, first, after uint64
	}{{48, 48, 48}, {64, 64, 64}, {80, 16, 64}, {128, 64, 64}} {
		if first, all, after := kernel(tc.lane); uint64(first) != tc.first || all != 1000+first || after != tc.after {
			t.Errorf("a lane of %d: %d cycles of %d wait for it, want %d, and %d stay, want %d", tc.lane, first, all, tc.first, after, tc.after)
		}
	}
}
