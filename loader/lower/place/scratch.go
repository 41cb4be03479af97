package place

import (
	"slices"

	"anesim/loader/layer"
)

// A Scratch is the scratch buffer while steps are lowered: where rows that are weights are, from
// the step that interleaves them to the last that needs them. Blocks take the lowest place where
// they fit, in whole pages. (By the sizes of chain_facts.csv; tensors between steps have their
// places from [AllocateScratch].)
type Scratch struct {
	live []block // by offset
	Size int     // bytes, the most there ever were
}

// A block is bytes of the scratch buffer up to the end of a step.
type block struct{ base, end, last int }

const ScratchPage = 0x4000

// Take finds n bytes from step now to step last and returns where they stand. Steps do
// not go back.
func (s *Scratch) Allocate(n, now, last int) int {
	s.live = slices.DeleteFunc(s.live, func(b block) bool { return b.last < now })
	n = layer.RoundUp(n, ScratchPage)
	at, i := 0, 0
	for ; i < len(s.live) && s.live[i].base < at+n; i++ {
		at = s.live[i].end
	}
	s.live = slices.Insert(s.live, i, block{at, at + n, last})
	s.Size = max(s.Size, at+n)
	return at
}
