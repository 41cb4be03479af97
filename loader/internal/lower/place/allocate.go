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
	// Lowest places the extent before all that do not have Lowest.
	Lowest bool
	Base   int
}

// overlaps reports whether there is a step at which both extents are in use.
func (e *Extent) overlaps(o *Extent) bool { return e.First <= o.Last && o.First <= e.Last }

// turn returns a number that is larger for extents that are placed after others.
func (e *Extent) turn() int {
	switch {
	case e.Streams:
		return 3
	case e.Above:
		return 2
	case e.Lowest:
		return 0
	}
	return 1
}

// Allocate sets the addresses of the extents in list, in an L2 of the given size in bytes. Each
// extent gets the lowest address that is free while it is in use. Allocate returns the first extent
// that does not fit, or nil if all fit.
//
// It allocates the extents in the order of Apple's compiler: those that several tasks need
// before those that stream, then those in use for more steps, then larger ones, then earlier ones.
// This order is right for 5 of 7 known chains. The other two, an attention and a layer norm with a
// projection, place small results lowest. No chain shows the order of extents that are equal in all
// these respects.
func Allocate(list []*Extent, size int) *Extent {
	for _, e := range allocateInOrder(list, size, 1, compareFirst) {
		return e
	}
	return nil
}

// AllocateFitting works like [Allocate], but goes on after an extent that does not fit. It returns all
// that do not fit next to those before them in the order.
func AllocateFitting(list []*Extent, size int) []*Extent {
	return allocateInOrder(list, size, len(list), compareFirst)
}

// compareFirst orders extents by the step at which their use begins.
func compareFirst(a, b *Extent) int { return cmp.Compare(a.First, b.First) }

// AllocateScratch sets the addresses of the extents in list, which are blocks of the scratch
// buffer. It allocates them in the same order as [Allocate], except that among otherwise equal
// extents, the one that starts last comes first. This is right for all 11 tensors in six programs,
// but affects only two of them. AllocateScratch does not limit the size of the buffer. An address
// that does not fit its register is an error of the task that uses it.
func AllocateScratch(list []*Extent) {
	allocateInOrder(list, math.MaxInt, 1, func(a, b *Extent) int { return compareFirst(b, a) })
}

// allocateInOrder allocates the extents in list as Allocate does, and returns the ones that do not fit.
// It ends after the number of them in most. compareEqual decides the order of extents that are equal
// but for their steps.
func allocateInOrder(list []*Extent, size, most int, compareEqual func(a, b *Extent) int) (bad []*Extent) {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *Extent) int {
		if turn := cmp.Compare(a.turn(), b.turn()); turn != 0 {
			return turn
		}
		if a.Above && b.Above || a.Lowest {
			return cmp.Compare(a.First, b.First)
		}
		return cmp.Or(cmp.Compare(b.Last-b.First, a.Last-a.First), cmp.Compare(b.Bytes, a.Bytes), compareEqual(a, b))
	})
	p := newTimeline(list)
	for _, e := range order {
		at := p.findFree(e)
		if at > size-e.Bytes {
			if bad = append(bad, e); len(bad) == most {
				break
			}
			continue
		}
		e.Base = at
		p.addExtent(e)
	}
	return bad
}
