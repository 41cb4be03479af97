package tiles

import (
	"anesim/hw/clock"
	"anesim/hw/regs"
)

// skips is how many coefficient steps of an output a task leaves out because their
// weights are zero, and how many zeros its lanes leave out in all.
//
// The sizes of lanes with zero-skipping or masked weights tell: besides biases, counts
// and masks, which follow from the registers, such a lane has only the halves that are
// not zero. Each of them is a step; the lanes run abreast, so the one with the most
// halves per output sets the pace (inferred: the vendor compiler's convolutions of
// stride 2 have lanes of these sizes, and sparse weights are told to skip zeros in
// compute as well as in bytes).
//
// Every group is padded to 64 bytes, which can hide 31 of its zeros in each lane. Only
// what the sizes prove is skipped, in whole steps.
func skips(g *regs.Groups) (steps, zeros int) {
	if !g.NE.KernelCfg.Sparse() {
		return 0, 0
	}
	packing, _ := PackingOf(g)
	if packing != ZeroSkipping && packing != Masked {
		return 0, 0
	}
	l := newLayout(g)
	var every, first share // of each lane; of the first ones, which take the last channels
	firsts := 0
	for c := range l.chunks {
		width := c.width * l.pixels
		s := every
		s.outputs += c.planes * width
		s.bytes += c.planes * (2*l.bias*width + l.least(packing, width, 0))
		if c.channels < Engines {
			first, firsts = s, c.channels
		} else {
			every = s
		}
	}
	// The columns that only other pixels of a step need are zero in every kernel: lanes
	// leave them out, and no output counts them.
	taps := l.inputs() * int(g.Common.ConvCfg.Kh()) * int(g.Common.ConvCfg.Kw())
	groups := g.GroupCount()
	k := &g.KernelDMASrc
	for i := range Engines {
		s := &every
		if i < firsts {
			s = &first
		}
		if s.outputs == 0 {
			break
		}
		if !k.CoeffDMAConfig[i].En() {
			return 0, 0 // no size to go by
		}
		dense := groups * s.outputs * taps
		// A group of an odd length has a byte of padding at least.
		rest := int(k.CoeffBfrSize[i].Bytes()) - groups*(s.bytes+s.bytes&1)
		halves := min(max(0, rest)/2, dense)
		s.halves = max(s.halves, halves)
		zeros += dense - halves
	}
	return taps - max(every.steps(groups), first.steps(groups)), zeros
}

// A share is what some of the lanes have, each of them.
type share struct {
	outputs int // of a group and a step: kernels
	bytes   int // of a group, besides the halves that are not zero
	halves  int // that are not zero, of all groups, in the lane with the most
}

// steps is how many an output takes, the mean over the lane's.
func (s *share) steps(groups int) int {
	return clock.CeilDiv(s.halves, max(1, groups*s.outputs))
}
