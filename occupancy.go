package anesim

import (
	"math"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// executed returns the function that a call of a program of so many tasks calls after each. It
// notes the L2 that the descriptors of the first dispatch cover, and counts them for m.
func (p *ProgramResult) executed(o *Options, tasks int, m *meter) func(*regs.Task) {
	size, most := uint64(o.Chip.L2Bytes.Value), math.MaxInt
	if o.Brief {
		most = maxBrief // a longer program lists fewer
	}
	return func(t *regs.Task) {
		if p.L2 == nil && t.Index == len(p.covered) && t.Index < most {
			if p.covered == nil {
				p.covered = make([]int, 0, min(tasks, most))
			}
			p.covered = append(p.covered, occupied(t, size))
		}
		m.add(1)
	}
}

// maxBrief is the most descriptors that a brief result lists.
const maxBrief = 1 << 16

// Occupancy returns the bytes of the L2 that each listed descriptor of the program has
// tensors and tiles in. For a network's program it is what its residency planned, which
// includes tensors that wait for a later descriptor; for any other what the registers say.
func (p *ProgramResult) Occupancy() []int {
	if p.L2 != nil {
		return p.L2
	}
	listed := 0
	for i := range p.Dispatches {
		listed = max(listed, len(p.Dispatches[i].Descriptors))
	}
	return p.covered[:min(listed, len(p.covered))]
}

// occupied is the bytes of an L2 of a size that a task's operands cover. A result on its
// way to memory has at most what the largest tile of a source leaves (inferred).
func occupied(t *regs.Task, size uint64) int {
	staged := size - uint64(layer.LargestTile(int(size)))
	o := t.Operands
	type span struct{ from, to uint64 }
	var covered [3]span // by where they begin; without allocation, as every run asks for it
	n := 0
	for _, x := range o.List() {
		if !x.Used || x.Shape.Elements() <= 0 {
			continue
		}
		shape := x.Shape
		if tile := int(t.Groups.Common.TileCfg.TileHeight()); x.Role != regs.Destination && tile > 0 && tile < o.Out.Height {
			// A source comes in as many rows as a tile of the result needs.
			shape.Height = min(shape.Height, (tile-1)*max(1, int(t.Groups.Common.ConvCfg.Sy()))+max(1, int(t.Groups.Common.ConvCfg.Kh())))
		}
		from, to := uint64(x.Tile.Base), x.Tile.Span(shape)
		if x.Role == regs.Destination && x.DRAM {
			to = min(to, from+staged)
		}
		s, at := span{min(from, size), min(to, size)}, n
		for ; at > 0 && covered[at-1].from > s.from; at-- {
			covered[at] = covered[at-1]
		}
		covered[at] = s
		n++
	}
	sum, end := uint64(0), uint64(0)
	for _, s := range covered[:n] {
		if s.to > max(end, s.from) {
			sum += s.to - max(end, s.from)
			end = s.to
		}
	}
	return int(sum)
}
