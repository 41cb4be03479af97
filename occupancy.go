package anesim

import (
	"math"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// executedFunc returns the function that a run of a program with the given number of tasks calls
// after each task. It records the L2 bytes that each descriptor of the first dispatch covers, and
// counts the descriptors in m.
func (p *ProgramResult) executedFunc(o *Options, tasks int, m *meter) func(*regs.Task) {
	size, most := uint64(o.Chip.L2Bytes.Value), math.MaxInt
	if o.Brief {
		most = maxBrief // longer programs list fewer
	}
	return func(t *regs.Task) {
		if p.L2 == nil && t.Index == len(p.covered) && t.Index < most {
			if p.covered == nil {
				p.covered = make([]int, 0, min(tasks, most))
			}
			p.covered = append(p.covered, occupiedBytes(t, size))
		}
		m.add(1)
	}
}

// maxBrief is the largest number of descriptors that a brief result lists.
const maxBrief = 1 << 16

// Occupancy returns, for each listed descriptor of the program, the bytes of the L2 that tensors
// and buffers occupy. For a network's program it returns the plan of its residency, which includes
// tensors that wait for a later descriptor. For other programs it is derived from the registers.
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

// occupiedBytes returns the number of bytes that a task's operands cover in an L2 of the given
// size. A result on its way to memory covers at most the space that the largest slice of a source
// leaves (inferred).
func occupiedBytes(t *regs.Task, size uint64) int {
	staged := size - uint64(layer.LargestTile(int(size)))
	o := t.Operands
	type span struct{ from, to uint64 }
	var covered [3]span // sorted by start; an array avoids an allocation in every run
	n := 0
	for _, x := range o.List() {
		if !x.Used || x.Shape.Elements() <= 0 {
			continue
		}
		shape := x.Shape
		if tile := int(t.Groups.Common.TileCfg.TileHeight()); x.Role != regs.Destination && tile > 0 && tile < o.Out.Height {
			// A source needs as many rows at a time as a slice of the result requires.
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
