package place

import (
	"slices"

	"anesim/loader/layer"
)

// A Scratch allocates blocks of the scratch buffer for matrices that one task computes and another
// one uses as weights. A block is in use from the step that writes the matrix to the last step that
// reads it, and gets the lowest free address. This rule is inferred from the sizes of scratch
// buffers in programs. For tensors between steps, use [AllocateScratch] instead.
type Scratch struct {
	live []block // ordered by address
	Size int     // bytes; the most that were in use at any step
}

// A block is a range of the scratch buffer, in use until the end of step last.
type block struct{ base, end, last int }

// ScratchPage is the unit of the scratch buffer in bytes.
const ScratchPage = 0x4000

// Allocate reserves a block of n bytes, rounded up to whole pages of 16 KiB, and returns its
// address. The block is in use from step now through step last. Callers must allocate blocks in
// ascending order of now.
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
