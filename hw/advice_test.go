package hw

import (
	"strings"
	"testing"

	"anesim/hw/clock"
	"anesim/hw/dma"
)

// Every cause has its sentence, with its share, and no advice that nobody has tried.
func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		d    DescriptorReport
		want string
	}{
		{DescriptorReport{Engines: 16, Cycles: Accounting{Compute: 90, Overhead: 10}}, "the array takes 90 % of 100 cycles on 16 engines"},
		{DescriptorReport{Cycles: Accounting{Compute: 90, Overhead: 10}}, "the planar engine takes 90 %"},
		{DescriptorReport{Cycles: Accounting{Compute: 10, Overhead: 90}}, "starting the descriptor takes 90 %"},
		{DescriptorReport{Cycles: Accounting{KernelStall: 100}, DMA: dma.Traffic{Kernel: 7}}, "waiting for weights takes 100 % of 100 cycles (7 bytes)"},
		{DescriptorReport{Cycles: Accounting{InputStall: 100}, DMA: dma.Traffic{Source1: 7, Source2: 1}}, "waiting for the source takes 100 % of 100 cycles (8 bytes)"},
		{DescriptorReport{Cycles: Accounting{OutputStall: 100}, DMA: dma.Traffic{Destination: 7, Kernel: 2}}, "(7 of 9 bytes)"},
		{
			DescriptorReport{MACs: 1, Shape: Shape{Wout: 4, Hout: 37}, Cycles: Accounting{OutputStall: 100}},
			"(0 of 0 bytes), none of it beside the array, since up to 256 pixels come and go as a whole (inferred)",
		},
		{DescriptorReport{Cycles: Accounting{L2ReadStall: 100}}, "L2 reads take"},
		{DescriptorReport{Cycles: Accounting{L2WriteStall: 100}}, "L2 writes take"},
		{DescriptorReport{Cycles: Accounting{Throttle: 100}}, "throttling takes"},
		{DescriptorReport{}, "the planar engine takes 0 % of 1 cycles"},
	} {
		got := tt.d.Advice()
		if !strings.Contains(got, tt.want) || strings.Contains(got, ":") {
			t.Errorf("%s: no %q", got, tt.want)
		}
	}
}

// An interval holds the estimate, and a report's is the sum of its descriptors'.
func TestInterval(t *testing.T) {
	var r Report
	var low, high clock.Nanoseconds
	for o := Conv; o <= Copy; o++ {
		d := DescriptorReport{Op: o, Time: 1000}
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
