package join

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/loader/lower/place"
)

// filled is the bytes of the L2 that each step has something in: the tensors that stay
// there, and its own tiles at the places they are moved to. What shares a place counts once.
func (j *joiner) filled(kept map[access]*resident, shift []int) []int {
	type span struct{ from, to int }
	at := make([][]span, len(j.steps))
	seen := map[*place.Extent]bool{}
	for _, r := range kept {
		if e := r.extent; !seen[e] {
			seen[e] = true
			for i := e.First; i <= min(e.Last, len(at)-1); i++ {
				at[i] = append(at[i], span{e.Base, e.Base + e.Bytes})
			}
		}
	}
	bytes := make([]int, len(j.steps))
	for i := range j.steps {
		lo, hi := j.stepTiles(i, kept)
		list := append(at[i], span{lo + shift[i], hi + shift[i]})
		slices.SortFunc(list, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
		end := 0
		for _, s := range list {
			bytes[i] += max(0, s.to-max(end, s.from))
			end = max(end, s.to)
		}
	}
	return bytes
}

// spills names the tensors between layers that go through memory, the largest first.
func (j *joiner) spills(resident []bool) {
	could := make([]bool, len(j.tensors))
	for _, r := range j.candidates() {
		could[r.tensor] = true
	}
	for i := range j.tensors {
		t := &j.tensors[i]
		if t.port || resident[i] || t.name == "" {
			continue
		}
		s := Spill{t.name, place.Surface(0, t.shape).Depth * t.shape.N, ""}
		switch {
		case could[i]:
			s.Why = "it does not fit beside what is live with it, and others are dearer to spill"
		case s.Bytes > j.maxTile():
			s.Why = fmt.Sprintf("a tensor in the L2 has at most %d bytes", j.maxTile())
		default:
			s.Why = "a layer addresses it in a way that the L2 has no strides for"
		}
		j.spilled = append(j.spilled, s)
	}
	slices.SortStableFunc(j.spilled, func(a, b Spill) int { return b.Bytes - a.Bytes })
}
