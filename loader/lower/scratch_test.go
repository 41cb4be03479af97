package lower

import (
	"math/rand/v2"
	"testing"
)

// Blocks that live together stand apart, and a place that is free again is used again.
func TestScratch(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	type held struct{ at, end, last int }
	for range 100 {
		var s scratch
		var all []held
		for now := range 40 {
			n, last := r.IntN(5*scratchPage), now+r.IntN(5)
			at := s.take(n, now, last)
			if at%scratchPage != 0 || at+n > s.size {
				t.Fatalf("%d bytes at %#x of %#x", n, at, s.size)
			}
			for _, h := range all {
				if h.last >= now && at < h.end && h.at < at+n {
					t.Fatalf("step %d: %#x to %#x overlaps %+v", now, at, at+n, h)
				}
			}
			all = append(all, held{at, at + n, last})
		}
	}
	var s scratch
	a, b := s.take(100, 0, 1), s.take(100, 1, 2)
	if c := s.take(100, 2, 2); a != 0 || b != scratchPage || c != 0 || s.size != 2*scratchPage {
		t.Errorf("blocks at %#x, %#x, %#x of %#x", a, b, c, s.size)
	}
}
