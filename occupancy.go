package anesim

import (
	"math"
	"slices"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// newTaskRecorder returns a function to call after each task of a program, which has the given
// number of tasks. The function records in p.covered which ranges of L2 each task of the first
// dispatch uses, and counts a step in m.
func (p *ProgramResult) newTaskRecorder(o *Options, tasks int, m *meter) func(*regs.Task) {
	size, most := uint64(o.Chip.L2Bytes.Value), math.MaxInt
	if o.Brief {
		most = maxBrief // longer programs list fewer
	}
	return func(t *regs.Task) {
		if t.Index == len(p.covered) && t.Index < most {
			if p.covered == nil {
				p.covered = make([]cover, 0, min(tasks, most))
			}
			p.covered = append(p.covered, findOperandCover(t, size))
		}
		m.addSteps(1)
	}
}

// maxBrief is the number of descriptors up to which [Options.Brief] has no effect.
const maxBrief = 1 << 16

// Occupancy returns how many bytes of L2 are in use during each listed descriptor of the
// program. They hold the descriptor's tensors and buffers, and data that later descriptors read.
func (p *ProgramResult) Occupancy() []int {
	listed := 0
	for i := range p.Dispatches {
		listed = max(listed, len(p.Dispatches[i].Descriptors))
	}
	list := make([]int, min(listed, len(p.covered)))
	var live spanSet // read by later descriptors
	for i := len(p.covered) - 1; i >= 0; i-- {
		c := &p.covered[i]
		for k, s := range c.spans[:c.n] {
			if !c.reads[k] {
				live.remove(s)
			}
		}
		if i < len(list) {
			list[i] = live.countUnion(c.spans[:c.n])
		}
		for k, s := range c.spans[:c.n] {
			if c.reads[k] {
				live.add(s)
			}
		}
	}
	return list
}

// A span is a range of L2 addresses that begins at from and ends before to.
type span struct{ from, to uint32 }

// A spanSet is a set of bytes. Its spans are sorted and do not touch each other.
type spanSet struct {
	spans []span
	bytes int
}

// findOverlap returns i and j such that set.spans[i:j] are the spans that have bytes in common with
// s. The span s must not be empty.
func (set *spanSet) findOverlap(s span) (i, j int) {
	i, _ = slices.BinarySearchFunc(set.spans, s.from, func(x span, from uint32) int {
		if x.to <= from {
			return -1
		}
		return 1
	})
	for j = i; j < len(set.spans) && set.spans[j].from < s.to; {
		j++
	}
	return i, j
}

// remove removes the bytes of s from the set.
func (set *spanSet) remove(s span) {
	if s.from >= s.to {
		return
	}
	i, j := set.findOverlap(s)
	var rest []span
	for _, x := range set.spans[i:j] {
		set.bytes -= int(min(x.to, s.to) - max(x.from, s.from))
		if x.from < s.from {
			rest = append(rest, span{x.from, s.from})
		}
		if s.to < x.to {
			rest = append(rest, span{s.to, x.to})
		}
	}
	set.spans = slices.Replace(set.spans, i, j, rest...)
}

// add adds the bytes of s to the set.
func (set *spanSet) add(s span) {
	if s.from >= s.to {
		return
	}
	set.remove(s)
	set.bytes += int(s.to - s.from)
	i, _ := set.findOverlap(s)
	j := i
	if i > 0 && set.spans[i-1].to == s.from {
		i--
		s.from = set.spans[i].from
	}
	if j < len(set.spans) && set.spans[j].from == s.to {
		s.to = set.spans[j].to
		j++
	}
	set.spans = slices.Replace(set.spans, i, j, s)
}

// countUnion returns the number of bytes that are in the set, in list, or in both.
func (set *spanSet) countUnion(list []span) int {
	var more spanSet
	for _, s := range list {
		more.add(s)
	}
	sum := set.bytes + more.bytes
	for _, s := range more.spans {
		i, j := set.findOverlap(s)
		for _, x := range set.spans[i:j] {
			sum -= int(min(x.to, s.to) - max(x.from, s.from))
		}
	}
	return sum
}

// A cover holds the L2 ranges that a task's operands occupy. An element of reads is true if an
// earlier task left the operand in L2.
type cover struct {
	spans [3]span
	reads [3]bool
	n     int
}

// findOperandCover returns the L2 ranges that the operands of task t occupy in an L2 of size bytes.
// A result that is written to memory occupies at most the space that the largest slice of a source
// leaves (inferred, not measured).
func findOperandCover(t *regs.Task, size uint64) (c cover) {
	staged := size - uint64(layer.LargestTile(int(size)))
	o := t.Operands
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
		c.spans[c.n] = span{uint32(min(from, size)), uint32(min(to, size))}
		c.reads[c.n] = x.Role != regs.Destination && !x.DRAM
		c.n++
	}
	return c
}
