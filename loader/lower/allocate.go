package lower

import (
	"cmp"
	"math"
	"slices"
)

// An extent is bytes of the L2 or of the scratch buffer that are taken from one step to
// another, both included.
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
// longest lifetime first, then the largest, then the earliest, each at the lowest address
// free for as long as it lives (5 of 7 chains; attention and layer norm with a projection put
// small results lowest; no chain shows which of two alike is first). It returns the first
// extent that does not fit size bytes, nil when all do.
func allocate(list []*extent, size int) *extent {
	return allocateBy(list, size, func(a, b *extent) int { return cmp.Compare(a.first, b.first) })
}

// allocateScratch is allocate in the scratch buffer, where the latest of those alike is first
// (11 of 11 tensors of six texts, two of them by that). Tasks refuse addresses beyond what a
// register holds.
func allocateScratch(list []*extent) {
	allocateBy(list, math.MaxInt, func(a, b *extent) int { return cmp.Compare(b.first, a.first) })
}

func allocateBy(list []*extent, size int, alike func(a, b *extent) int) *extent {
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
		return cmp.Or(cmp.Compare(b.last-b.first, a.last-a.first), cmp.Compare(b.bytes, a.bytes), alike(a, b))
	})
	p := newPlaced(list)
	for _, e := range order {
		met := p.meeting(e)
		slices.SortFunc(met, func(a, b *extent) int { return cmp.Compare(a.base, b.base) })
		at := 0
		for _, o := range met {
			if o.base >= at+e.bytes && !e.above {
				break
			}
			at = max(at, o.base+o.bytes)
		}
		if at+e.bytes > size {
			return e
		}
		e.base = at
		p.add(e)
	}
	return nil
}

// placed are extents by the steps that they live in. A step is one at which an extent
// begins: who lives from one to the next without it meets the same ones.
type placed struct {
	steps []int
	begin [][]*extent // by their first step
	// over has those that live in a run of steps where no node above has them, as a
	// tree: the children of node n are 2n and 2n+1, and a step is a leaf.
	over [][]*extent
}

func newPlaced(list []*extent) *placed {
	p := &placed{steps: make([]int, len(list))}
	for i, e := range list {
		p.steps[i] = e.first
	}
	slices.Sort(p.steps)
	p.steps = slices.Compact(p.steps)
	p.begin, p.over = make([][]*extent, len(p.steps)), make([][]*extent, 2*len(p.steps))
	return p
}

// span is the steps of an extent, from one up to another without it.
func (p *placed) span(e *extent) (from, to int) {
	from, _ = slices.BinarySearch(p.steps, e.first)
	to, _ = slices.BinarySearch(p.steps, e.last+1)
	return from, to
}

func (p *placed) add(e *extent) {
	l, r := p.span(e)
	p.begin[l] = append(p.begin[l], e)
	for l, r = l+len(p.steps), r+len(p.steps); l < r; l, r = l/2, r/2 {
		if l&1 == 1 {
			p.over[l] = append(p.over[l], e)
			l++
		}
		if r&1 == 1 {
			r--
			p.over[r] = append(p.over[r], e)
		}
	}
}

// meeting are those that meet an extent: they live in its first step or begin later.
func (p *placed) meeting(e *extent) (list []*extent) {
	from, to := p.span(e)
	for n := from + len(p.steps); n > 0; n /= 2 {
		list = append(list, p.over[n]...)
	}
	for _, begin := range p.begin[from+1 : to] {
		list = append(list, begin...)
	}
	return list
}
