package place

import (
	"cmp"
	"math"
	"slices"
)

// An Extent is bytes of the L2 or of the scratch buffer that are taken from one step to
// another, both included.
type Extent struct {
	Bytes       int
	First, Last int
	// Streams marks what lives for its task alone: sources from memory and results on
	// their way out.
	Streams bool
	// Above places it over everything it meets instead of at the lowest free address.
	Above bool
	Base  int
}

// Meets reports whether two extents live at a time.
func (e *Extent) Overlaps(o *Extent) bool { return e.First <= o.Last && o.First <= e.Last }

// Allocate places extents as the compiler does: what stays before what streams, the
// longest lifetime first, then the largest, then the earliest, each at the lowest address
// free for as long as it lives (5 of 7 chains; attention and layer norm with a projection put
// small results lowest; no chain shows which of two alike is first). It returns the first
// extent that does not fit size bytes, nil when all do.
func Allocate(list []*Extent, size int) *Extent {
	return allocateBy(list, size, func(a, b *Extent) int { return cmp.Compare(a.First, b.First) })
}

// AllocateScratch places extents in the scratch buffer as Allocate does in the L2, where the
// latest of those alike is first (11 of 11 tensors of six texts, two of them by that). Tasks
// refuse addresses beyond what a register holds.
func AllocateScratch(list []*Extent) {
	allocateBy(list, math.MaxInt, func(a, b *Extent) int { return cmp.Compare(b.First, a.First) })
}

func allocateBy(list []*Extent, size int, alike func(a, b *Extent) int) *Extent {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *Extent) int {
		if a.Streams != b.Streams {
			if a.Streams {
				return 1
			}
			return -1
		}
		if a.Above && b.Above {
			return cmp.Compare(a.First, b.First)
		}
		return cmp.Or(cmp.Compare(b.Last-b.First, a.Last-a.First), cmp.Compare(b.Bytes, a.Bytes), alike(a, b))
	})
	p := newTimeline(list)
	for _, e := range order {
		met := p.findOverlaps(e)
		slices.SortFunc(met, func(a, b *Extent) int { return cmp.Compare(a.Base, b.Base) })
		at := 0
		for _, o := range met {
			if o.Base >= at+e.Bytes && !e.Above {
				break
			}
			at = max(at, o.Base+o.Bytes)
		}
		if at+e.Bytes > size {
			return e
		}
		e.Base = at
		p.add(e)
	}
	return nil
}

// placed are extents by the steps that they live in. A step is one at which an extent
// begins: who lives from one to the next without it meets the same ones.
type timeline struct {
	steps []int
	begin [][]*Extent // by their first step
	// over has those that live in a run of steps where no node above has them, as a
	// tree: the children of node n are 2n and 2n+1, and a step is a leaf.
	over [][]*Extent
}

func newTimeline(list []*Extent) *timeline {
	p := &timeline{steps: make([]int, len(list))}
	for i, e := range list {
		p.steps[i] = e.First
	}
	slices.Sort(p.steps)
	p.steps = slices.Compact(p.steps)
	p.begin, p.over = make([][]*Extent, len(p.steps)), make([][]*Extent, 2*len(p.steps))
	return p
}

// span is the steps of an extent, from one up to another without it.
func (p *timeline) stepRange(e *Extent) (from, to int) {
	from, _ = slices.BinarySearch(p.steps, e.First)
	to, _ = slices.BinarySearch(p.steps, e.Last+1)
	return from, to
}

func (p *timeline) add(e *Extent) {
	l, r := p.stepRange(e)
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
func (p *timeline) findOverlaps(e *Extent) (list []*Extent) {
	from, to := p.stepRange(e)
	for n := from + len(p.steps); n > 0; n /= 2 {
		list = append(list, p.over[n]...)
	}
	for _, begin := range p.begin[from+1 : to] {
		list = append(list, begin...)
	}
	return list
}
