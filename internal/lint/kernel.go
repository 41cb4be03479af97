package lint

import (
	"encoding/binary"
	"fmt"

	"anesim/hw/regs"
)

// checkWeights checks the weights that a descriptor reads and determines which descriptors wrote
// them.
func (s *state) checkWeights(t *regs.Task) {
	if !t.Operands.Kernel.On || !t.Header.KernelBases.KBE0() {
		return
	}
	td := int32(t.Index)
	d := &t.Groups.KernelDMASrc
	for i, c := range d.CoeffDMAConfig {
		n := int64(d.CoeffBfrSize[i].Bytes())
		if !c.En() || n == 0 {
			continue
		}
		lo := int64(t.Bases.Kernel) + int64(d.CoeffBaseAddr[i].Bytes())
		r := region{base: lo, run: n}
		if !containsAddress(s.scratch, lo) && !containsAddress(s.outputs, lo) {
			continue
		}
		if s.spendBudget(&r) {
			s.readRegion(td, fmt.Sprintf("KernelDMASrc.CoeffBaseAddr[%d]", i), &r, &s.memory)
			s.memory.visitSpans(lo, lo+n, func(x span) {
				if x.by >= 0 {
					s.writers = append(s.writers, int(s.values[x.by].td))
				}
			})
		}
	}
}

// checkWeightWriter compares the extra word of the header, which names the descriptor that wrote
// the kernel, with the descriptors that did. A kernel in another buffer than scratch memory or the
// constants, as an input or an output of the program, is not checked: no program shows its bits.
func (s *state) checkWeightWriter(t *regs.Task) {
	td := int32(t.Index)
	if b := t.Header.KernelBases; t.Operands.Kernel.On && b.KBE0() && b.KBase0() != regs.BARScratch && int(b.KBase0()) != s.program.WeightsBAR() {
		return
	}
	if tde := t.Header.Control.TDE(); tde != (len(s.writers) > 0) {
		s.addFinding(td, "Header.Control", Hint, byKernel, "TDE is %d, but the chain wrote %s", boolToInt(tde), map[bool]string{false: "the kernel", true: "none of the kernel"}[tde])
	}
	at := int(t.Offset) + regs.HeaderBytes
	if len(s.writers) == 0 || t.Header.KernelBases&3 != 3 || at+4 > len(s.program.Text) {
		return
	}
	says, last := int(binary.LittleEndian.Uint32(s.program.Text[at:])), 0
	for _, w := range s.writers {
		last = max(last, w)
	}
	if says != last {
		s.addFinding(td, "Header.KernelBases", Hint, byKernel, "word after the header says that descriptor %d wrote the kernel; it was descriptor %d", says, last)
	}
}
