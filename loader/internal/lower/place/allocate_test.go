package place

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// firstFit returns the lowest address at which e fits next to the extents in placed, found by
// trying 0 and the end of each of them.
func firstFit(e *Extent, placed []*Extent) int {
	var met []*Extent
	tries := []int{0}
	top := 0
	for _, o := range placed {
		if o.overlaps(e) {
			met = append(met, o)
			tries = append(tries, o.Base+o.Bytes)
			top = max(top, o.Base+o.Bytes)
		}
	}
	if e.Above {
		return top
	}
	slices.Sort(tries)
	return tries[slices.IndexFunc(tries, func(at int) bool {
		return !slices.ContainsFunc(met, func(o *Extent) bool { return at < o.Base+o.Bytes && o.Base < at+e.Bytes })
	})]
}

// Each extent gets the lowest free address, in the documented order: those that stream last, then
// by steps, bytes and first step. The first that does not fit is reported; AllocateFitting goes on
// without it.
func TestAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for range 2000 {
		steps, most := 1+r.IntN(40), 1+r.IntN(20)
		list := make([]*Extent, r.IntN(60))
		for i := range list {
			first := r.IntN(steps)
			last := min(steps-1, first+r.IntN(steps))
			if r.IntN(2) == 0 {
				last = min(last, first+2)
			}
			e := &Extent{Bytes: 64 * (1 + r.IntN(most)), First: first, Last: last, Streams: r.IntN(3) == 0}
			e.Above = e.Streams && r.IntN(4) == 0
			list[i] = e
		}
		if slices.ContainsFunc(list, func(e *Extent) bool { return e.Above }) {
			for _, e := range list { // all or none, as in programs
				e.Above = e.Streams
			}
		}
		size := 64 * (10 + r.IntN(200))
		order := slices.Clone(list)
		slices.SortStableFunc(order, func(a, b *Extent) int {
			switch {
			case a.Streams != b.Streams && a.Streams:
				return 1
			case a.Streams != b.Streams:
				return -1
			case a.Above && b.Above:
				return a.First - b.First
			case a.Last-a.First != b.Last-b.First:
				return b.Last - b.First - (a.Last - a.First)
			case a.Bytes != b.Bytes:
				return b.Bytes - a.Bytes
			}
			return a.First - b.First
		})
		bad := AllocateFitting(list, size)
		var placed, unplaced []*Extent
		for _, e := range order {
			at := firstFit(e, placed)
			if at+e.Bytes > size {
				unplaced = append(unplaced, e)
				continue
			}
			if e.Base != at {
				t.Fatalf("%+v stands at %d, want %d", *e, e.Base, at)
			}
			placed = append(placed, e)
		}
		if !slices.Equal(bad, unplaced) {
			t.Fatalf("%d extents do not fit, want %d", len(bad), len(unplaced))
		}
		if first := Allocate(list, size); first == nil && len(bad) > 0 || first != nil && first != bad[0] {
			t.Fatalf("Allocate returns %v, want the first of %d", first, len(bad))
		}
	}
}

// Allocating extents needs little more time for each of them if many are in use at once, whether
// they begin and end together, one after the other, or inside each other. Comparing each of these
// with all others would take minutes.
func TestAllocateManyAtOnce(t *testing.T) {
	const n = 50_000
	for _, c := range []struct {
		name  string
		steps func(i int) (first, last int)
	}{
		{"together", func(i int) (int, int) { return 0, n }},
		{"one after the other", func(i int) (int, int) { return i, i + n }},
		{"inside each other", func(i int) (int, int) { return i, 2*n - i }},
		{"two at a time", func(i int) (int, int) { return i, i + 1 }},
	} {
		list := make([]*Extent, n)
		for i := range list {
			first, last := c.steps(i)
			list[i] = &Extent{Bytes: 64 * (1 + i%7), First: first, Last: last}
		}
		begin := time.Now()
		AllocateScratch(list)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s: %v for %d extents, want less than 10 s", c.name, took, n)
		} else {
			t.Logf("%s: %v", c.name, took)
		}
	}
}
