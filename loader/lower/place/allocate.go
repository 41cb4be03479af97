package place

import (
	"cmp"
	"math"
	"slices"
)

// An Extent is a block of bytes, in L2 or in the scratch buffer, that is in use from step First
// through step Last. Allocate and AllocateScratch set its address, Base.
type Extent struct {
	Bytes       int
	First, Last int
	// Streams marks an extent that only one task needs: a source from memory, or a result that is
	// written to memory.
	Streams bool
	// Above places the extent after all extents that it overlaps with in time, instead of at the
	// lowest free address.
	Above bool
	Base  int
}

// Overlaps reports whether there is a step at which both extents are in use.
func (e *Extent) Overlaps(o *Extent) bool { return e.First <= o.Last && o.First <= e.Last }

// Allocate sets the addresses of the extents in list, in an L2 of the given size in bytes. Each
// extent gets the lowest address that is free while it is in use. Allocate returns the first extent
// that does not fit, or nil if all fit.
//
// It allocates the extents in the order of the vendor's compiler: those that several tasks need
// before those that stream, then those in use for more steps, then larger ones, then earlier ones.
// This order is right for 5 of 7 known chains. The other two, an attention and a layer norm with a
// projection, place small results lowest. No chain shows the order of extents that are equal in all
// these respects.
func Allocate(list []*Extent, size int) *Extent {
	return allocateInOrder(list, size, func(a, b *Extent) int { return cmp.Compare(a.First, b.First) })
}

// AllocateScratch sets the addresses of the extents in list, which are blocks of the scratch
// buffer. It allocates them in the same order as [Allocate], except that among otherwise equal
// extents, the one that starts last comes first. This is right for all 11 tensors in six programs,
// but affects only two of them. AllocateScratch does not limit the size of the buffer. An address
// that does not fit its register is an error of the task that uses it.
func AllocateScratch(list []*Extent) {
	allocateInOrder(list, math.MaxInt, func(a, b *Extent) int { return cmp.Compare(b.First, a.First) })
}

// allocateInOrder allocates the extents in list as Allocate does. compareEqual decides the order of
// extents that Allocate would treat as equal.
func allocateInOrder(list []*Extent, size int, compareEqual func(a, b *Extent) int) *Extent {
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
		return cmp.Or(cmp.Compare(b.Last-b.First, a.Last-a.First), cmp.Compare(b.Bytes, a.Bytes), compareEqual(a, b))
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
		p.addExtent(e)
	}
	return nil
}

// A timeline finds the placed extents that overlap in time. Its steps are those at which an
// extent begins; all other steps have the same extents as the step before.
type timeline struct {
	steps []int
	begin [][]*Extent // extents by their first step
	// over lists extents by runs of steps that they cover. The runs form a tree: the children of
	// node n are 2n and 2n+1, the leaves are single steps, and each extent is listed at the
	// largest runs it covers.
	over [][]*Extent
}

// newTimeline returns a timeline without extents. Its steps are those at which the extents in list
// begin.
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

// stepRange returns the range [from, to) of indices in p.steps of the steps at which e is in use.
func (p *timeline) stepRange(e *Extent) (from, to int) {
	from, _ = slices.BinarySearch(p.steps, e.First)
	to, _ = slices.BinarySearch(p.steps, e.Last+1)
	return from, to
}

func (p *timeline) addExtent(e *Extent) {
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

// findOverlaps returns the extents in p that are needed at the same step as e: those that cover
// its first step, and those that begin later and before its end.
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
