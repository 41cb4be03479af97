package report

import (
	"strings"
	"testing"

	"anesim/hw"
	"anesim/hw/dma"
	"anesim/internal/datapath/tiles"
)

// Every cause has its sentence, with its share, and no advice that nobody has tried.
func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		d    hw.DescriptorReport
		want string
	}{
		{hw.DescriptorReport{Engines: 16, Cycles: hw.Accounting{Compute: 11_000, Overhead: 346}}, "16 MAC engines compute in 97% of its 11,346 cycles"},
		{hw.DescriptorReport{Cycles: hw.Accounting{Compute: 90, Overhead: 10}}, "the planar engine computes in 90% of its 100 cycles"},
		{hw.DescriptorReport{Cycles: hw.Accounting{Compute: 10, Overhead: 90}}, "90% of its 100 cycles start the descriptor"},
		{hw.DescriptorReport{Cycles: hw.Accounting{KernelStall: 100}, DMA: dma.Traffic{Kernel: 8192}}, "100% of its 100 cycles wait for 8.19 kB of weights"},
		{hw.DescriptorReport{Cycles: hw.Accounting{InputStall: 100}, DMA: dma.Traffic{Source1: 229_000, Source2: 376}}, "100% of its 100 cycles wait for 229 kB of input"},
		{hw.DescriptorReport{Cycles: hw.Accounting{OutputStall: 100}, DMA: dma.Traffic{Destination: 7, Kernel: 2}}, "wait for memory to take 7 B of output"},
		{
			hw.DescriptorReport{MACs: 1, Shape: hw.Shape{Wout: 4, Hout: 37}, Cycles: hw.Accounting{OutputStall: 100}},
			"take 0 B of output; in this descriptor loads and stores do not overlap with the array, because an image of at most 256 pixels with one group of output channels per engine is moved in one piece (inferred)",
		},
		{
			hw.DescriptorReport{MACs: 1, Shape: hw.Shape{Wout: 4, Hout: 37}, Crew: tiles.Crew{Own: 14}, Cycles: hw.Accounting{InputStall: 100}},
			"wait for 0 B of input; in this descriptor the load does not overlap with the array, because an image of at most 256 pixels is loaded in one piece (inferred)",
		},
		{hw.DescriptorReport{Cycles: hw.Accounting{L2ReadStall: 100}}, "wait for L2 reads"},
		{hw.DescriptorReport{Cycles: hw.Accounting{L2WriteStall: 100}}, "wait for L2 writes"},
		{hw.DescriptorReport{Cycles: hw.Accounting{Throttle: 100}}, "are lost to the power limit"},
		{hw.DescriptorReport{}, "the planar engine computes in 0% of its 1 cycles"},
	} {
		got := Advice(&tt.d)
		if !strings.Contains(got, tt.want) || strings.Contains(got, ":") {
			t.Errorf("%s: no %q", got, tt.want)
		}
	}
}
