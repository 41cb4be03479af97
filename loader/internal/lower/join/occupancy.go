package join

import (
	"fmt"
	"slices"

	"anesim/loader/internal/lower/place"
)

// measureOccupancy returns how many bytes of L2 each step has in use, for resident tensors and for
// the operands of its own tasks. These have no address in common.
func (j *joiner) measureOccupancy(kept map[access]*resident) []int {
	change := make([]int, len(j.steps)+1)
	seen := map[*place.Extent]bool{}
	for _, r := range kept {
		if e := r.extent; !seen[e] {
			seen[e] = true
			change[e.First] += e.Bytes
			change[e.Last+1] -= e.Bytes
		}
	}
	bytes := make([]int, len(j.steps))
	residents := 0
	for i := range j.steps {
		residents += change[i]
		lo, hi := j.stepTileRange(i, kept)
		bytes[i] = residents + hi - lo
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
			// A layer that reads one tensor as both operands loads it once.
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
		if t.port && !again || inL2[i] || t.inside || t.name == "" {
			continue
		}
		s := Spill{t.name, place.Surface(0, t.shape).Depth * t.shape.N, ""}
		switch {
		// From the most to the least specific reason: a tensor that could stay was refused for want of
		// space alone.
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
