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

// spills names the tensors between layers that go through memory, and the inputs that several
// layers read from there, the largest first.
func (j *joiner) spills(kept map[access]*resident) {
	inL2 := make([]bool, len(j.tensors))
	for _, r := range kept {
		inL2[r.tensor] = true
	}
	readers := make([]int, len(j.tensors))
	for i := range j.steps {
		for k, t := range j.steps[i].inputs {
			if !slices.Contains(j.steps[i].inputs[:k], t) {
				readers[t]++
			}
		}
	}
	could := make([]bool, len(j.tensors))
	for _, r := range j.candidates() {
		could[r.tensor] = true
	}
	for i := range j.tensors {
		t := &j.tensors[i]
		again := t.input && readers[i] > 1
		if t.port && !again || inL2[i] || t.name == "" {
			continue
		}
		s := Spill{t.name, place.Surface(0, t.shape).Depth * t.shape.N, ""}
		switch {
		case could[i]:
			s.Why = "it does not fit beside what is live with it, and others are dearer to spill"
		case s.Bytes > j.maxTile():
			s.Why = fmt.Sprintf("a tensor in the L2 has at most %d bytes", j.maxTile())
		case again:
			s.Why = fmt.Sprintf("%d layers read the input from memory: the first does not load the whole of it, or another addresses it in a way that the L2 has no strides for", readers[i])
		default:
			s.Why = "a layer addresses it in a way that the L2 has no strides for"
		}
		j.spilled = append(j.spilled, s)
	}
	slices.SortStableFunc(j.spilled, func(a, b Spill) int { return b.Bytes - a.Bytes })
}
