package hw

import (
	"strings"
	"testing"

	"anesim/hw/clock"
	"anesim/hw/dma"
)

// Every cause has its sentence, with its share and something to do about it.
func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		d    Descriptor
		want string
	}{
		{Descriptor{Engines: 16, Cycles: Accounting{Compute: 90, Overhead: 10}}, "the array takes 90 % of 100 cycles on 16 engines"},
		{Descriptor{Cycles: Accounting{Compute: 90, Overhead: 10}}, "the planar engine takes 90 %"},
		{Descriptor{Cycles: Accounting{Compute: 10, Overhead: 90}}, "starting the descriptor takes 90 %"},
		{Descriptor{Cycles: Accounting{KernelStall: 100}, DMA: dma.Traffic{Kernel: 7}}, "coefficients take 100 % of 100 cycles (7 bytes)"},
		{Descriptor{Cycles: Accounting{InputStall: 100}, DMA: dma.Traffic{Source1: 7, Source2: 1}}, "reading the source takes 100 % of 100 cycles (8 bytes)"},
		{Descriptor{Cycles: Accounting{OutputStall: 100}, DMA: dma.Traffic{Destination: 7, Kernel: 2}}, "(7 of 9 bytes)"},
		{Descriptor{Cycles: Accounting{L2ReadStall: 100}}, "L2 reads take"},
		{Descriptor{Cycles: Accounting{L2WriteStall: 100}}, "L2 writes take"},
		{Descriptor{Cycles: Accounting{Throttle: 100}}, "throttling takes"},
		{Descriptor{}, "the planar engine takes 0 % of 1 cycles"},
	} {
		got := tt.d.Advice()
		if !strings.Contains(got, tt.want) || !strings.Contains(got, ": ") {
			t.Errorf("%s: no %q", got, tt.want)
		}
	}
}

// An interval holds the estimate, and a report's is the sum of its descriptors'.
func TestInterval(t *testing.T) {
	var r Report
	var low, high clock.Nanoseconds
	for o := Conv; o <= Copy; o++ {
		d := Descriptor{Op: o, Time: 1000}
		l, h := d.Interval()
		if l <= 0 || l > d.Time || h < d.Time {
			t.Errorf("%v: %v to %v around %v", o, l, h, d.Time)
		}
		low, high = low+l, high+h
		r.Descriptors = append(r.Descriptors, d)
	}
	if l, h := r.Interval(); l != low || h != high {
		t.Errorf("%v to %v, the descriptors' sum is %v to %v", l, h, low, high)
	}
}

// What overlap does not hide is a share of the shorter of array and memory time, and
// waits for the largest transfer.
func TestExposed(t *testing.T) {
	p := params{exposed: 0.1}
	for _, tt := range []struct {
		mem  dma.Cycles
		want Accounting
	}{
		{dma.Cycles{Kernel: 200, Total: 200}, Accounting{Compute: 1000, KernelStall: 20}},
		{dma.Cycles{Source: 150, Destination: 50, Total: 200}, Accounting{Compute: 1000, InputStall: 20}},
		{dma.Cycles{Source: 50, Destination: 150, Total: 200}, Accounting{Compute: 1000, OutputStall: 20}},
		{dma.Cycles{Kernel: 3000, Total: 3000}, Accounting{Compute: 1000, KernelStall: 2000 + 100}},
		{dma.Cycles{}, Accounting{Compute: 1000}},
	} {
		if got := p.account(&Units{NEDouble: 1000}, tt.mem); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.mem, got, tt.want)
		}
	}
	p.exposed = 0
	if got := p.account(&Units{NEDouble: 1000}, dma.Cycles{Kernel: 200, Total: 200}); got.KernelStall != 0 {
		t.Errorf("no share: %+v", got)
	}
}
