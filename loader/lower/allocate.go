package lower

import (
	"cmp"
	"slices"
)

// An extent is bytes of the L2 that are taken from one step to another, both included.
type extent struct {
	bytes       int
	first, last int
	// streams marks what lives for its task alone: sources from memory and results on
	// their way out.
	streams bool
	// above places it over everything it meets instead of at the lowest free address.
	above bool
	base  int
}

func (e *extent) meets(o *extent) bool { return e.first <= o.last && o.first <= e.last }

// allocate places extents as the compiler does: what stays before what streams, the
// longest lifetime first, then the largest, each at the lowest address free for as long
// as it lives (5 of 7 chains; attention and layer norm with a projection put small results
// lowest). It returns the first extent that does not fit size bytes, nil when all do.
func allocate(list []*extent, size int) *extent {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *extent) int {
		if a.streams != b.streams {
			if a.streams {
				return 1
			}
			return -1
		}
		if a.above && b.above {
			return cmp.Compare(a.first, b.first)
		}
		return cmp.Or(cmp.Compare(b.last-b.first, a.last-a.first), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.first, b.first))
	})
	var placed []*extent // by base
	for _, e := range order {
		at := 0
		for _, o := range placed {
			if o.base >= at+e.bytes && !e.above {
				break
			}
			if o.meets(e) {
				at = max(at, o.base+o.bytes)
			}
		}
		if at+e.bytes > size {
			return e
		}
		e.base = at
		i, _ := slices.BinarySearchFunc(placed, e, func(a, b *extent) int { return cmp.Compare(a.base, b.base) })
		placed = slices.Insert(placed, i, e)
	}
	return nil
}
