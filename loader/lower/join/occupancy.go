package join

import (
	"fmt"
	"slices"

	"anesim/loader/lower/place"
)

// measureOccupancy returns how many bytes of L2 each step has in use, for resident tensors and for
// the operands of its own tasks. Bytes where these overlap count once.
func (j *joiner) measureOccupancy(kept map[access]*resident, shift []int) []int {
	type span struct{ from, to int }
	at := make([][]span, len(j.steps))
	seen := map[*place.Extent]bool{}
	for _, r := range kept {
		if e := r.extent; !seen[e] {
			seen[e] = true
			for i := e.First; i <= e.Last; i++ {
				at[i] = append(at[i], span{e.Base, e.Base + e.Bytes})
			}
		}
	}
	bytes := make([]int, len(j.steps))
	for i := range j.steps {
		lo, hi := j.stepTileRange(i, kept)
		list := append(at[i], span{lo + shift[i], hi + shift[i]})
		slices.SortFunc(list, func(a, b span) int { return a.from - b.from })
		end := 0
		for _, s := range list {
			bytes[i] += max(0, s.to-max(end, s.from))
			end = max(end, s.to)
		}
	}
	return bytes
}

// recordSpills sets j.spilled to a list of the tensors that do not stay in L2, each with the
// reason: those passed between layers through memory, and inputs that several layers read from
// memory. They are sorted from largest to smallest.
func (j *joiner) recordSpills(kept map[access]*resident) {
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
	for _, r := range j.findResidentCandidates() {
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
			s.Why = "does not fit in L2 next to the tensors and tiles that are there at the same time"
		case s.Bytes > j.maxTileBytes():
			s.Why = fmt.Sprintf("exceeds %d bytes, the largest size of a tensor in L2", j.maxTileBytes())
		case again:
			s.Why = fmt.Sprintf("%d layers read this input from memory, because the first does not load all of it or another needs strides that L2 does not support", readers[i])
		default:
			s.Why = "needs strides that L2 does not support"
		}
		j.spilled = append(j.spilled, s)
	}
	slices.SortStableFunc(j.spilled, func(a, b Spill) int { return b.Bytes - a.Bytes })
}
