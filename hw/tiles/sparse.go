package tiles

import (
	"anesim/hw/clock"
	"anesim/hw/mac"
	"anesim/hw/regs"
)

// skips is how many coefficient steps of an output a task leaves out because their
// weights are zero, and how many zeros its lanes leave out in all.
//
// The sizes of lanes with zero-skipping or masked weights tell: besides biases, counts
// and masks, which follow from the registers, such a lane has only the values that are
// not zero (bytes, for the sizes of the vendor compiler's convolutions of stride 2; the
// masked form is assumed). Detect-zeros makes a step of each of those alone, and as the
// lanes run abreast the one with the most per output sets the pace (inferred: no
// measurement of sparse weights is at hand).
//
// Every group is padded to 64 bytes, which can hide 31 of its zeros in each lane, and so is
// every plane of a channel by itself at a stride. Only what the sizes prove is skipped, in
// whole steps.
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
		plane := 2*l.bias*width + l.least(packing, width, 0)
		if l.apart(packing) {
			plane += plane & 1 // one of an odd length has a byte of padding at least
		}
		s.bytes += c.planes * plane
		if c.channels < Engines {
			first, firsts = s, c.channels
		} else {
			every = s
		}
	}
	// The columns that only other pixels of a step need are zero in every kernel: lanes
	// leave them out, and no output counts them.
	taps := l.inputs * int(g.Common.ConvCfg.Kh()) * int(g.Common.ConvCfg.Kw())
	groups := g.GroupCount()
	table := 0 // ahead of the weights of every lane
	if g.NE.MACCfg.NonlinearMode() == regs.ActivationTable {
		table = mac.TableBytes
	}
	a, z := first.measure(&g.KernelDMASrc, 0, firsts, table, groups, taps)
	b, y := every.measure(&g.KernelDMASrc, firsts, Engines, table, groups, taps)
	return taps - max(a, b), z + y
}

// A share is what each of some lanes has of one group.
type share struct {
	outputs int // of a step: kernels
	bytes   int // besides the values that are not zero
}

// measure is the steps of an output in the busiest of some lanes, the mean of its
// outputs, and the zeros that the lanes leave out.
func (s share) measure(k *regs.KernelDMASrc, from, to, table, groups, taps int) (steps, zeros int) {
	if from == to || s.outputs == 0 {
		return 0, 0
	}
	dense := groups * s.outputs * taps
	// A group of an odd length has a byte of padding at least.
	bytes := table + groups*(s.bytes+s.bytes&1)
	most := 0
	for i := from; i < to; i++ {
		values := dense
		if k.CoeffDMAConfig[i].En() { // else there is no size to go by
			values = min(max(0, int(k.CoeffBfrSize[i].Bytes())-bytes)/2, dense)
		}
		most = max(most, values)
		zeros += dense - values
	}
	return clock.CeilDiv(most, groups*s.outputs), zeros
}
