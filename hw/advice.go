package hw

import "fmt"

// Advice returns one phrase that names what bounds the descriptor and its share of the cycles. It
// does not try a remedy.
func (d *DescriptorReport) Advice() string {
	total := max(1, d.Cycles.Total())
	share := func(n uint64) string {
		return fmt.Sprintf("%.0f %% of %d cycles", 100*float64(n)/float64(total), total)
	}
	a := &d.Cycles
	switch a.Bound() {
	case "overhead":
		return "starting the descriptor takes " + share(uint64(a.Overhead))
	case "kernel_stall":
		return "waiting for weights takes " + share(uint64(a.KernelStall)) + fmt.Sprintf(" (%d bytes)", d.DMA.Kernel)
	case "input_stall":
		return "waiting for the source takes " + share(uint64(a.InputStall)) + fmt.Sprintf(" (%d bytes)", d.DMA.Source1+d.DMA.Source2) + d.patchAdvice()
	case "output_stall":
		return "waiting for memory to take the result takes " + share(uint64(a.OutputStall)) + fmt.Sprintf(" (%d of %d bytes)", d.DMA.Destination, d.DMA.Total()) + d.patchAdvice()
	case "l2_read_stall":
		return "L2 reads take " + share(uint64(a.L2ReadStall))
	case "l2_write_stall":
		return "L2 writes take " + share(uint64(a.L2WriteStall))
	case "throttle":
		return "throttling takes " + share(uint64(a.Throttle))
	}
	if d.Engines == 0 {
		return "the planar engine takes " + share(uint64(a.Compute))
	}
	return "the array takes " + share(uint64(a.Compute)) + fmt.Sprintf(" on %d engines", d.Engines) + d.gateAdvice()
}

// patchAdvice returns a phrase for a multiply-accumulate of one patch, in which no memory traffic
// overlaps with the array: its sums need the whole source, and its results leave behind them. It
// returns "" for other descriptors. In one of more pixels the results of a patch leave while the
// source of the next arrives. So wider rows, which take no more bytes where they are padded to
// 64, can take less time.
func (d *DescriptorReport) patchAdvice() string {
	if d.MACs == 0 || d.Shape.Wout*d.Shape.Hout*max(1, d.Shape.Groups) > partElements {
		return ""
	}
	return fmt.Sprintf(", none of it beside the array, since up to %d pixels come and go as a whole (inferred)", partElements)
}

// gateAdvice returns a phrase about the rounds that closed tiles cost the array. It returns "" if
// they cost none.
func (d *DescriptorReport) gateAdvice() string {
	c := &d.Crew
	switch {
	case c.Pace() == c.Own:
		return ""
	case c.Slow > 0:
		return fmt.Sprintf(", a patch in the time of %d rounds instead of %d: engine %d has one tile open, and all wait for it in %d of them", c.Pace(), c.Own, d.HalfEngine, c.Slow)
	}
	return fmt.Sprintf(", a patch in %d rounds instead of %d: the others' output-channel groups are theirs too", c.Rounds, c.Own)
}
