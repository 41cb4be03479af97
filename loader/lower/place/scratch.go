package place

import (
	"slices"

	"anesim/loader/layer"
)

// A Scratch allocates the scratch buffer while steps are lowered, for rows that become weights. A
// block lives from the step that interleaves the rows to the last step that needs them. It gets
// the lowest address at which it fits, in whole pages. (Inferred from the sizes in
// chain_facts.csv; [AllocateScratch] places tensors between steps.)
type Scratch struct {
	live []block // ordered by address
	Size int     // bytes; the most that were in use at any step
}

// A block is a range of the scratch buffer, in use until the end of step last.
type block struct{ base, end, last int }

// ScratchPage is the unit of the scratch buffer in bytes.
const ScratchPage = 0x4000

// Allocate returns the address of n bytes that are free from step now through step last. Calls
// must not go back to an earlier step.
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
