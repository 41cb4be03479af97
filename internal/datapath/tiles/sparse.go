package tiles

import (
	"anesim/hw/clock"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
)

// countSkippedSteps returns how many weight steps per output a task skips because their weights are
// zero, and how many zeros its lanes omit in total.
//
// Both follow from the sizes of lanes with zero-skipping or masked weights. In addition to biases,
// counts and masks, whose sizes follow from the registers, such a lane holds only the non-zero
// values. This is known from the bytes of Apple's compiler's convolutions of stride 2, and
// assumed for the masked form. Zero detection takes a step for each of these values only. The lanes
// run in lockstep, so the lane with the most values per output sets the pace (inferred: there is no
// measurement of sparse weights).
//
// Every group is padded to 64 bytes, which can hide 31 of its zeros in each lane. So is every plane
// of a unicast task with a stride. Only steps that the sizes prove to be skipped are counted, in
// whole steps.
func countSkippedSteps(g *regs.Groups) (steps, zeros int) {
	if !g.NE.KernelCfg.Sparse() {
		return 0, 0
	}
	packing, _ := PackingOf(g)
	if packing != ZeroSkipping && packing != Masked {
		return 0, 0
	}
	l := newLayout(g)
	var every, first laneShare // every: each lane; first: additionally the first lanes, which hold the last channels
	firsts := 0
	for c := range l.forEachChunk {
		width := c.width * l.pixels
		s := every
		s.outputs += c.planes * width
		plane := 2*l.bias*width + l.minPlaneBytes(packing, width, 0)
		if l.hasAlignedPlanes(packing) {
			plane += plane & 1 // an odd length means at least one byte of padding
		}
		s.bytes += c.planes * plane
		if c.channels < Engines {
			first, firsts = s, c.channels
		} else {
			every = s
		}
	}
	// The columns that only other pixels of a step need are zero in every kernel. Lanes omit them,
	// and no output counts them.
	taps := l.inputs * int(g.Common.ConvCfg.Kh()) * int(g.Common.ConvCfg.Kw())
	groups := g.GroupCount()
	table := 0 // bytes before the weights of every lane
	if g.TableInLanes() {
		table = mac.TableBytes
	}
	a, z := first.countSteps(&g.KernelDMASrc, 0, firsts, table, groups, taps)
	b, y := every.countSteps(&g.KernelDMASrc, firsts, Engines, table, groups, taps)
	return taps - max(a, b), z + y
}

// A laneShare counts the contents of some lanes for one group; every such lane holds the same.
type laneShare struct {
	outputs int // kernels per step
	bytes   int // bytes apart from the non-zero values
}

// countSteps examines the streams from to to-1. It returns the number of steps per output in the
// busiest stream, averaged over its outputs, and the number of zeros that all these streams leave
// out.
func (s laneShare) countSteps(k *regs.KernelDMASrc, from, to, table, groups, taps int) (steps, zeros int) {
	if from == to || s.outputs == 0 {
		return 0, 0
	}
	dense := groups * s.outputs * taps
	// A group of odd length has at least one byte of padding.
	bytes := table + groups*(s.bytes+s.bytes&1)
	most := 0
	for i := from; i < to; i++ {
		values := dense
		if k.CoeffDMAConfig[i].En() { // otherwise the size is unknown
			values = min(max(0, int(k.CoeffBfrSize[i].Bytes())-bytes)/2, dense)
		}
		most = max(most, values)
		zeros += dense - values
	}
	return clock.CeilDiv(most, groups*s.outputs), zeros
}
