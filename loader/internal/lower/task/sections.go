package task

import (
	"cmp"
	"slices"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/layer"
)

// SplitConstants divides the constants of a program into sections of at most limit bytes, and returns
// the offsets at which the sections after the first begin, which are multiples of page. It returns nil
// if one section is enough. The bytes that one operand or engine reads stay in one piece, so a section
// may be longer only if that is; where a section would begin inside a page, zeros are put before it, and the
// tasks are moved to the new offsets. limit is a multiple of page. Calling SplitConstants again
// changes nothing.
func SplitConstants(tasks []*Task, s *coeff.Section, limit, page int) (starts []int) {
	if s.Bytes <= limit {
		return nil
	}
	pieces := joinPieces(listPieces(tasks))
	var moves []move
	first, shift := 0, 0 // start of the section, at its old place, and how far that has moved
	for _, p := range pieces {
		if p.start > first && layer.RoundUp(p.end-first, page) > limit {
			at := layer.RoundUp(p.start+shift, page)
			starts = append(starts, at)
			first, shift = p.start, at-p.start
			moves = append(moves, move{first, shift})
		}
	}
	if shift > 0 {
		for i := len(moves) - 1; i >= 0; i-- {
			m, before := moves[i], 0
			if i > 0 {
				before = moves[i-1].by
			}
			s.Insert(m.from, m.by-before)
		}
		for _, t := range tasks {
			t.moveConstants(moves)
		}
	}
	return starts
}

// SeparateWeights makes the tasks load weights and activation tables from buffer bar instead of from the
// constants. The constants stay as they are: buffer bar begins where they do, and buffer BARWeights, from
// which the tile DMA loads tensors, at the first of these, whose offset SeparateWeights returns. bar is a
// buffer behind those of the ports. The compiler of 2026 does this (3 of 3 programs). If no task loads
// weights, SeparateWeights changes nothing and reports false.
func SeparateWeights(tasks []*Task, bar int) (tensors int, ok bool) {
	tensors = -1
	first := func(at int) {
		if tensors < 0 || at < tensors {
			tensors = at
		}
	}
	for _, t := range tasks {
		if k := t.h.KernelBases; k.KBE0() && k.KBase0() == regs.BARWeights {
			t.h.KernelBases, ok = k.WithKBase0(uint32(bar)), true
		}
		if b := t.h.Bases; b.RBE0() && b.RBase0() == regs.BARWeights {
			first(int(t.g.TileDMASrc.Src1Base.Bytes()))
		}
		if b := t.h.Bases; b.RBE1() && b.RBase1() == regs.BARWeights {
			first(int(t.g.TileDMASrc.Src2Base.Bytes()))
		}
	}
	if !ok || tensors <= 0 {
		return 0, ok
	}
	for _, t := range tasks {
		t.moveConstants([]move{{tensors, -tensors}})
	}
	return tensors, true
}

// A move says that the constants from an offset on are by bytes further behind than they were.
type move struct{ from, by int }

// A piece is a range of the constants that must stay together.
type piece struct{ start, end int }

// listPieces returns the parts of the constants that the tasks read: the weights or the table of an
// engine, or a tensor.
func listPieces(tasks []*Task) (list []piece) {
	for _, t := range tasks {
		d := &t.g.KernelDMASrc
		if k := t.h.KernelBases; k.KBE0() && k.KBase0() == regs.BARWeights {
			for i, c := range d.CoeffDMAConfig {
				if c.En() {
					at := int(d.CoeffBaseAddr[i].Bytes())
					list = append(list, piece{at, at + int(d.CoeffBfrSize[i].Bytes())})
				}
			}
		}
		b, o := t.h.Bases, t.g.Operands()
		if b.RBE0() && b.RBase0() == regs.BARWeights {
			at := int(t.g.TileDMASrc.Src1Base.Bytes())
			list = append(list, piece{at, at + int(o.Source1.Span())})
		}
		if b.RBE1() && b.RBase1() == regs.BARWeights {
			at := int(t.g.TileDMASrc.Src2Base.Bytes())
			list = append(list, piece{at, at + int(o.Source2.Span())})
		}
	}
	return list
}

// joinPieces sorts the pieces and joins overlapping ones.
func joinPieces(list []piece) []piece {
	slices.SortFunc(list, func(a, b piece) int { return cmp.Compare(a.start, b.start) })
	var joined []piece
	for _, p := range list {
		if n := len(joined); n > 0 && p.start < joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, p.end)
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

// moveConstants adds to each offset in the constants the shift of the last move at or before it.
func (t *registers) moveConstants(moves []move) {
	shift := func(w *regs.DMAWord) {
		at, by := int(w.Bytes()), 0
		for _, m := range moves {
			if m.from <= at {
				by = m.by
			}
		}
		t.setDMAWord(w, at+by)
	}
	if b := t.h.Bases; b.RBE0() && b.RBase0() == regs.BARWeights {
		shift(&t.g.TileDMASrc.Src1Base)
	}
	if b := t.h.Bases; b.RBE1() && b.RBase1() == regs.BARWeights {
		shift(&t.g.TileDMASrc.Src2Base)
	}
	if k := t.h.KernelBases; k.KBE0() && k.KBase0() == regs.BARWeights {
		for i, c := range t.g.KernelDMASrc.CoeffDMAConfig {
			if c.En() {
				shift(&t.g.KernelDMASrc.CoeffBaseAddr[i])
			}
		}
	}
}
