package report

import (
	"fmt"

	"anesim/hw"
)

// Advice returns a clause about the bottleneck of a descriptor, such as "59% of its 11,346 cycles
// wait for 229 kB of input". It suggests no change, because only a run with the change shows
// whether it helps.
func Advice(d *hw.DescriptorReport) string {
	a := &d.Cycles
	total := max(1, a.Total())
	part := func(n uint64) string {
		return fmt.Sprintf("%.0f%% of its %s cycles", 100*float64(n)/float64(total), Thousands(uint64(total)))
	}
	switch a.Bound() {
	case "overhead":
		return part(uint64(a.Overhead)) + " start the descriptor"
	case "kernel_stall":
		return part(uint64(a.KernelStall)) + " wait for " + Size(d.DMA.Kernel) + " of weights"
	case "input_stall":
		return part(uint64(a.InputStall)) + " wait for " + Size(d.DMA.Source1+d.DMA.Source2) + " of input" + adviseOnSmallResult(d)
	case "output_stall":
		return part(uint64(a.OutputStall)) + " wait for memory to take " + Size(d.DMA.Destination) + " of output" + adviseOnSmallResult(d)
	case "l2_read_stall":
		return part(uint64(a.L2ReadStall)) + " wait for L2 reads"
	case "l2_write_stall":
		return part(uint64(a.L2WriteStall)) + " wait for L2 writes"
	case "throttle":
		return part(uint64(a.Throttle)) + " are lost to the power limit"
	}
	// No stall is largest, so computing is, on one of the two kinds of engines.
	if d.Engines == 0 {
		return "the planar engine computes in " + part(uint64(a.Compute))
	}
	engines, verb := Plural(d.Engines, "MAC engine"), "compute"
	if d.Engines == 1 {
		verb = "computes"
	}
	return fmt.Sprintf("%s %s in %s%s", engines, verb, part(uint64(a.Compute)), gatedTilesClause(d))
}

// adviseOnSmallResult returns a phrase for a multiply-accumulate descriptor whose image is so small
// that the engine loads it as a whole. The load then does not overlap with computing, and neither
// do the stores if there is one round of output-channel groups. It returns "" for any other
// descriptor.
func adviseOnSmallResult(d *hw.DescriptorReport) string {
	if !d.SinglePatch() {
		return ""
	}
	idle, moved := "loads and stores do", " with one group of output channels per engine is moved"
	if d.Crew.Own > 1 {
		idle, moved = "the load does", " is loaded"
	}
	return fmt.Sprintf("; in this descriptor %s not overlap with the array, because an image of at most %d pixels%s in one piece (inferred)", idle, hw.SinglePatchPixels, moved)
}

// gatedTilesClause returns a clause that says how much longer the array works because some tiles
// are gated. It returns "" if it does not work longer.
func gatedTilesClause(d *hw.DescriptorReport) string {
	c := &d.Crew
	switch {
	case c.Pace() == c.Own:
		return ""
	case c.Slow > 0:
		return fmt.Sprintf(", each patch in the time of %d rounds instead of %d (engine %d has one open tile, and all wait for it in %d of them)", c.Pace(), c.Own, d.HalfEngine, c.Slow)
	}
	return fmt.Sprintf(", each patch in %d rounds instead of %d (they also do the output-channel groups of the gated ones)", c.Rounds, c.Own)
}
