package anesim

import (
	"cmp"
	"math"
	"slices"

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
		if t.Index == len(p.covered) && t.Index < most {
			if p.covered == nil {
				p.covered = make([]cover, 0, min(tasks, most))
			}
			p.covered = append(p.covered, coverOf(t, size))
		}
		m.add(1)
	}
}

// maxBrief is the most descriptors that a brief result lists.
const maxBrief = 1 << 16

// Occupancy returns the bytes of the L2 that each listed descriptor of the program has
// tensors and tiles in, and with them what waits there for a later descriptor to read it.
func (p *ProgramResult) Occupancy() []int {
	listed := 0
	for i := range p.Dispatches {
		listed = max(listed, len(p.Dispatches[i].Descriptors))
	}
	list := make([]int, min(listed, len(p.covered)))
	var live []span // what later descriptors read
	for i := len(p.covered) - 1; i >= 0; i-- {
		c := &p.covered[i]
		for k, s := range c.spans[:c.n] {
			if !c.reads[k] {
				live = without(live, s)
			}
		}
		if i < len(list) {
			list[i] = filled(append(slices.Clone(live), c.spans[:c.n]...))
		}
		for k, s := range c.spans[:c.n] {
			if c.reads[k] {
				live = append(without(live, s), s)
			}
		}
	}
	return list
}

// A span is bytes of the L2.
type span struct{ from, to uint32 }

// without returns the spans without what they have of s.
func without(list []span, s span) []span {
	var out []span
	for _, x := range list {
		if x.from < min(x.to, s.from) {
			out = append(out, span{x.from, min(x.to, s.from)})
		}
		if max(x.from, s.to) < x.to {
			out = append(out, span{max(x.from, s.to), x.to})
		}
	}
	return out
}

// filled is the bytes of spans, each once. It sorts them.
func filled(list []span) int {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	sum, end := uint32(0), uint32(0)
	for _, s := range list {
		if s.to > max(end, s.from) {
			sum += s.to - max(end, s.from)
			end = s.to
		}
	}
	return int(sum)
}

// A cover is where a task's operands stand in the L2, and which of them an earlier task left
// there.
type cover struct {
	spans [3]span
	reads [3]bool
	n     int
}

// coverOf reads a task's operands in an L2 of a size. A result on its way to memory has at
// most what the largest tile of a source leaves (inferred).
func coverOf(t *regs.Task, size uint64) (c cover) {
	staged := size - uint64(layer.LargestTile(int(size)))
	o := t.Operands
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
		c.spans[c.n] = span{uint32(min(from, size)), uint32(min(to, size))}
		c.reads[c.n] = x.Role != regs.Destination && !x.DRAM
		c.n++
	}
	return c
}
