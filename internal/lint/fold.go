package lint

import (
	"cmp"
	"slices"
)

// foldSteps limits how long a search for two elements at the same address may take, in steps.
const foldSteps = 1 << 16

// findAliasingAxis looks for two elements of the layout at the same address. It returns the axis
// that causes the overlap, which is the one with the smallest stride among the axes whose stride is
// shorter than the parts inside them, or nil if no elements overlap. It returns known = false if
// the search ran out of steps, and subtracts the steps used from *steps.
//
// If each stride is at least as long as the parts inside it, nothing overlaps. Otherwise
// findAliasingAxis searches for two elements whose addresses differ by less than the length of a
// run. It tries the differences between their indices, axis by axis.
func (l *layout) findAliasingAxis(steps *int) (a *axis, known bool) {
	if l.isEmpty() {
		return nil, true
	}
	var list []axis
	for _, a := range l.axes {
		if a.stride = max(a.stride, -a.stride); a.n > 1 {
			list = append(list, a)
		}
	}
	// By stride: if each axis starts beyond the reach of all smaller ones, no search is needed. That holds
	// for nearly all layouts.
	slices.SortStableFunc(list, func(a, b axis) int { return cmp.Compare(a.stride, b.stride) })
	long, at := l.inner, -1
	for i, a := range list {
		if a.stride < long && at < 0 {
			at = i
		}
		long += (a.n - 1) * a.stride
	}
	if at < 0 {
		return nil, true
	}
	// The search begins with the largest stride, which leaves the fewest differences to try.
	slices.Reverse(list)
	s := search{list, l.inner, min(*steps, foldSteps)}
	before := s.steps
	found := s.hasAliases(0, 0, long-l.inner, false)
	*steps -= before - max(0, s.steps)
	if !found {
		return nil, s.steps >= 0
	}
	return &list[len(list)-1-at], true
}

// A search looks for two elements of a surface that are at the same address. It tries distances
// between them along each axis.
type search struct {
	axes  []axis // longest stride first
	inner int64
	steps int
}

// hasAliases reports whether two elements have the same address. It tries distances along the axes
// from k on, which can add at most reach bytes to offset, the distance in bytes along the earlier
// axes. If apart is true, the elements already differ on an earlier axis.
func (s *search) hasAliases(k int, offset, reach int64, apart bool) bool {
	if s.steps--; s.steps < 0 {
		return false
	}
	if k == len(s.axes) {
		return apart && offset < s.inner && -offset < s.inner
	}
	a := &s.axes[k]
	if a.stride == 0 {
		return offset < s.inner && -offset < s.inner || s.hasAliases(k+1, offset, reach, apart)
	}
	reach -= (a.n - 1) * a.stride
	// at + d*stride must come back to zero within reach and a run.
	most := reach + s.inner - 1
	low, high := max(-(a.n-1), ceilDiv(-most-offset, a.stride)), min(a.n-1, floorDiv(most-offset, a.stride))
	if !apart {
		low = max(low, 0) // negative distances swap the same two elements
	}
	for d := low; d <= high; d++ {
		if s.hasAliases(k+1, offset+d*a.stride, reach, apart || d != 0) {
			return true
		}
		if s.steps < 0 {
			return false
		}
	}
	return false
}

// floorDiv returns a/b rounded down. The divisor b must be positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// ceilDiv returns a/b rounded up. The divisor b must be positive.
func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
