package report

import (
	"anesim"
	"anesim/hw"
)

// kernelFillBytes returns the bytes of weights that a MAC engine holds for a descriptor.
// Weights that exceed the kernel memory stream through it.
func kernelFillBytes(d *hw.DescriptorReport, chip *hw.Chip) uint64 {
	return min(d.DMA.Kernel/uint64(max(1, d.Engines)), uint64(chip.KernelMemory.Value))
}

// powerSpans returns the power of a run over its timeline l. Spans of descriptors include
// the descriptor's bottleneck and its use of L2.
func powerSpans(r *anesim.Result, l *anesim.Timeline) []Span {
	list := make([]Span, len(l.Spans))
	for i := range l.Spans {
		s := &l.Spans[i]
		list[i] = Span{AtNs: s.At, ForNs: s.For, Watts: s.Watts(), EnergyNJ: s.Energy, What: s.What}
	}
	occupied := map[*anesim.ProgramResult][]int{}
	at := 0
	for d, p := range r.Dispatches() {
		if _, ok := occupied[p]; !ok {
			occupied[p] = p.Occupancy()
		}
		for at < len(list) && list[at].What != anesim.SpanHost && list[at].What != anesim.SpanDispatch {
			at++ // what comes before a dispatch
		}
		at++
		counted := r.Counted(p, d)
		for i := range counted.Descriptors {
			x := &counted.Descriptors[i]
			if at < len(list) {
				list[at].Bound = x.Cycles.Bound()
				if x.Index < len(occupied[p]) {
					list[at].L2Bytes = occupied[p][x.Index]
				}
			}
			at++
		}
	}
	return list
}
