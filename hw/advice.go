package hw

import "fmt"

// Advice says in a sentence what bounds the descriptor and what would relieve it.
func (d *DescriptorReport) Advice() string {
	total := max(1, d.Cycles.Total())
	share := func(n uint64) string {
		return fmt.Sprintf("%.0f %% of %d cycles", 100*float64(n)/float64(total), total)
	}
	a := &d.Cycles
	switch a.Bound() {
	case "overhead":
		return "starting the descriptor takes " + share(uint64(a.Overhead)) + ": give it more work, or fold it into a neighbour"
	case "kernel_stall":
		return "coefficients take " + share(uint64(a.KernelStall)) + fmt.Sprintf(" (%d bytes): fewer or narrower weights, more pixels for each, or tasks that fill less of kernel memory, whose weights come early", d.DMA.Kernel)
	case "input_stall":
		return "reading the source takes " + share(uint64(a.InputStall)) + fmt.Sprintf(" (%d bytes): keep it in the L2, or do more with it", d.DMA.Source1+d.DMA.Source2)
	case "output_stall":
		return "memory takes " + share(uint64(a.OutputStall)) + fmt.Sprintf(" with the result (%d of %d bytes): leave the result in the L2", d.DMA.Destination, d.DMA.Total())
	case "l2_read_stall":
		return "L2 reads take " + share(uint64(a.L2ReadStall)) + ": another row stride spreads the banks"
	case "l2_write_stall":
		return "L2 writes take " + share(uint64(a.L2WriteStall)) + ": transposed results go element by element; keep channel and x where they are"
	case "throttle":
		return "throttling takes " + share(uint64(a.Throttle)) + ": less power"
	}
	if d.Engines == 0 {
		return "the planar engine takes " + share(uint64(a.Compute)) + ": fewer elements, or a step folded into a convolution"
	}
	return "the array takes " + share(uint64(a.Compute)) + fmt.Sprintf(" on %d engines: fewer multiply-accumulates; bandwidth would not help", d.Engines)
}
