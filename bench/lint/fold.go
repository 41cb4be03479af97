package lint

import (
	"cmp"
	"slices"
)

// foldSteps bounds the search for two elements of one surface in one place.
const foldSteps = 1 << 16

// folds finds the axis that puts two elements of a layout in one place: the one of least
// stride that is shorter than what stands within it. It is nil when there is none, and known
// is false when that was not settled in so many steps; what was taken is subtracted.
//
// Strides that grow, each at least as long as what is within it, fold nothing. For others it
// looks for whole numbers, not all zero, of axes whose sum of strides is shorter than a run.
func (l *layout) folds(steps *int) (a *axis, known bool) {
	if l.empty() {
		return nil, true
	}
	var list []axis
	for _, a := range l.axes {
		if a.stride = max(a.stride, -a.stride); a.n > 1 {
			list = append(list, a)
		}
	}
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
	slices.Reverse(list)
	s := search{list, l.inner, min(*steps, foldSteps)}
	before := s.steps
	found := s.from(0, 0, long-l.inner, false)
	*steps -= before - max(0, s.steps)
	if !found {
		return nil, s.steps >= 0
	}
	return &list[len(list)-1-at], true
}

// A search is for two elements in one place: by how many of each axis they are apart.
type search struct {
	axes  []axis // the longest stride first
	inner int64
	steps int
}

// from looks at the axes from k on, for elements that are at bytes apart by those before;
// apart is whether they are not one element already. The axes from k on reach so far.
func (s *search) from(k int, at, reach int64, apart bool) bool {
	if s.steps--; s.steps < 0 {
		return false
	}
	if k == len(s.axes) {
		return apart && at < s.inner && -at < s.inner
	}
	a := &s.axes[k]
	if a.stride == 0 {
		return at < s.inner && -at < s.inner || s.from(k+1, at, reach, apart)
	}
	reach -= (a.n - 1) * a.stride
	// at + d*stride must come back to zero: within reach and a run.
	most := reach + s.inner - 1
	low, high := max(-(a.n-1), ceilDiv(-most-at, a.stride)), min(a.n-1, floorDiv(most-at, a.stride))
	if !apart {
		low = max(low, 0) // the other way round they are the same two
	}
	for d := low; d <= high; d++ {
		if s.from(k+1, at+d*a.stride, reach, apart || d != 0) {
			return true
		}
		if s.steps < 0 {
			return false
		}
	}
	return false
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
