package hw

import "iter"

// numCounters is the length of [Counters].
const numCounters = 24

// Counters holds the statistics counters of one descriptor, which the model derives from its cycles
// and traffic. The constants NENominal to DPEEnergy are the indices.
type Counters [numCounters]uint64

// Indices of [Counters]. They have the order in which the device stores its own statistics, which
// was read from the vendor's code.
const (
	NENominal = iota
	NECompute
	NEThrottle
	NEInputStall
	NEOutputStall
	NEKernelStall
	L2Nominal
	L2Throttle
	L2ReadStall
	L2WriteStall
	L2PECompute
	L2PEInputStall
	L2PEOutputStall
	FP16Cycles
	Int8Cycles
	KernelManagerStall
	DMAReadBytes
	DMAReadWriteBytes
	AFToKMBytes
	AFToL2Bytes
	L2ToAFBytes
	L2ToNEBytes
	NEToL2Bytes
	DPEEnergy // picojoules
)

var counterNames = [numCounters]string{
	"ne_nominal", "ne_compute", "ne_throttle", "ne_input_stall", "ne_output_stall", "ne_kernel_stall",
	"l2_nominal", "l2_throttle", "l2_read_stall", "l2_write_stall",
	"l2pe_compute", "l2pe_input_stall", "l2pe_output_stall",
	"fp16_cycles", "int8_cycles", "kernel_manager_stall",
	"dma_read_bytes", "dma_read_write_bytes", "af_to_km_bytes", "af_to_l2_bytes", "l2_to_af_bytes",
	"l2_to_ne_bytes", "ne_to_l2_bytes", "dpe_energy_pj",
}

// All returns an iterator over the name and value of every counter, in index order.
func (c *Counters) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for i, n := range counterNames {
			if !yield(n, c[i]) {
				return
			}
		}
	}
}

// newCounters derives the statistics counters from the other figures of d.
func newCounters(d *DescriptorReport) (c Counters) {
	a, total := &d.Cycles, uint64(d.Cycles.Total())
	if d.Planar {
		c[L2PECompute] = uint64(a.Compute)
		c[L2PEInputStall] = uint64(a.InputStall + a.L2ReadStall)
		c[L2PEOutputStall] = uint64(a.OutputStall + a.L2WriteStall)
	} else {
		c[NENominal] = total
		c[NECompute] = uint64(a.Compute)
		c[NEThrottle] = uint64(a.Throttle)
		c[NEInputStall] = uint64(a.InputStall)
		c[NEOutputStall] = uint64(a.OutputStall)
		c[NEKernelStall] = uint64(a.KernelStall)
		c[KernelManagerStall] = uint64(a.KernelStall)
		c[FP16Cycles] = uint64(a.Compute)
		c[L2ToNEBytes] = d.L2.Read
		c[NEToL2Bytes] = d.L2.Written
	}
	c[L2Nominal] = total
	c[L2ReadStall] = uint64(a.L2ReadStall)
	c[L2WriteStall] = uint64(a.L2WriteStall)
	c[DMAReadBytes] = d.DMA.Read()
	c[DMAReadWriteBytes] = d.DMA.Total()
	c[AFToKMBytes] = d.DMA.Kernel
	c[AFToL2Bytes] = d.DMA.Source1 + d.DMA.Source2
	c[L2ToAFBytes] = d.DMA.Destination
	c[DPEEnergy] = uint64(d.Energy * 1000)
	return c
}
