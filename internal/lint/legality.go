package lint

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
)

// documentedInterleaves are the numbers of channels that the documents allow to interleave (table
// C.8). Registers have four bits for it. Zero stands for one in programs.
var documentedInterleaves = [...]int{0, 1, 2, 3, 4, 8}

// maxSection is the largest section of weights that Apple's compiler writes: the banner of its
// programs sets the option max-kernel-section-size (listing 23.9 of the documents).
const maxSection = 128 << 20

// checkInterleaves looks for numbers of interleaved channels that the documents exclude.
func (s *state) checkInterleaves(t *regs.Task) {
	o := t.Operands
	for _, x := range [...]struct {
		register string
		operand  *regs.Operand
	}{
		{"TileDMASrc.Src1Fmt", &o.Source1}, {"TileDMASrc.Src2Fmt", &o.Source2}, {"TileDMADst.DstFmt", &o.Result},
	} {
		if n := x.operand.Interleave; x.operand.DRAM && !slices.Contains(documentedInterleaves[:], n) {
			s.addFinding(int32(t.Index), x.register, Legality, byAttributes, "Interleave is %d; want 1, 2, 3, 4 or 8", n)
		}
	}
}

// checkSections looks for sections of weights that are larger than Apple's compiler writes.
func (s *state) checkSections(segments []loader.Segment) {
	for i := range segments {
		if g := &segments[i]; g.IsWeights() && g.Size > maxSection {
			s.addFinding(0, "KernelDMASrc.CoeffBaseAddr", Legality, byBanner, "section %v has %d bytes of weights; want at most %d", g, g.Size, maxSection)
		}
	}
}
