package anesim

import (
	"math/rand/v2"
	"testing"
)

// TestSpanSet compares sets of spans with sets of single bytes.
func TestSpanSet(t *testing.T) {
	const size = 40
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		draw := func() span { return span{r.Uint32N(size), r.Uint32N(size)} } // half of them are empty
		var set spanSet
		var want [size]bool
		fill := func(bytes *[size]bool, s span, value bool) {
			for i := s.from; i < s.to; i++ {
				bytes[i] = value
			}
		}
		for range 100 {
			s := draw()
			if in := r.IntN(2) == 0; in {
				set.add(s)
				fill(&want, s, true)
			} else {
				set.remove(s)
				fill(&want, s, false)
			}
			var got [size]bool
			for i, x := range set.spans {
				if x.from >= x.to || i > 0 && set.spans[i-1].to >= x.from {
					t.Fatalf("seed %d: spans %v are empty, not sorted or touch each other", seed, set.spans)
				}
				fill(&got, x, true)
			}
			if got != want {
				t.Fatalf("seed %d: %v after %v", seed, set.spans, s)
			}
			more := []span{draw(), draw(), draw()}
			all, n := want, 0
			for _, x := range more {
				fill(&all, x, true)
			}
			for _, in := range all {
				if in {
					n++
				}
			}
			if b := set.countUnion(more); b != n {
				t.Fatalf("seed %d: %v with %v has %d bytes, want %d", seed, set.spans, more, b, n)
			}
		}
	}
}
