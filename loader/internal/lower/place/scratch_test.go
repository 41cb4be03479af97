package place

import (
	"math/rand/v2"
	"testing"
)

// Blocks that live together stand apart, and a place that is free again is used again.
func TestScratch(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	type held struct{ at, end, last int }
	for range 100 {
		var s Scratch
		var all []held
		for now := range 40 {
			n, last := r.IntN(5*ScratchPage), now+r.IntN(5)
			at := s.Allocate(n, now, last)
			if at%ScratchPage != 0 || at+n > s.Size {
				t.Fatalf("%d bytes at %#x of %#x", n, at, s.Size)
			}
			for _, h := range all {
				if h.last >= now && at < h.end && h.at < at+n {
					t.Fatalf("step %d: %#x to %#x overlaps %+v", now, at, at+n, h)
				}
			}
			all = append(all, held{at, at + n, last})
		}
	}
	var s Scratch
	a, b := s.Allocate(100, 0, 1), s.Allocate(100, 1, 2)
	if c := s.Allocate(100, 2, 2); a != 0 || b != ScratchPage || c != 0 || s.Size != 2*ScratchPage {
		t.Errorf("blocks at %#x, %#x, %#x of %#x", a, b, c, s.Size)
	}
}
