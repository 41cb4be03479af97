package place

import "slices"

// A timeline knows which addresses are in use at each step. Its steps are the ones at which an extent
// begins; all other steps have the same extents as the step before.
//
// The steps are the leaves of a binary tree: the children of node n are 2n and 2n+1, and a node
// stands for the run of steps below it. An extent is recorded at the few largest runs that it
// covers, and at the nodes above those. So the time for adding it and for finding a free address
// grows with the depth of the tree and not with the number of extents that are in use.
type timeline struct {
	steps []int
	// over has the addresses of the extents that cover all steps of a node, but not all of the
	// node above. under has those of the extents that are recorded at nodes below.
	over, under []spans
	sets        []spans // those that findFree looks at, kept between calls
}

// newTimeline returns a timeline without extents. Its steps are the ones at which the extents in list
// begin.
func newTimeline(list []*Extent) *timeline {
	p := &timeline{steps: make([]int, len(list))}
	for i, e := range list {
		p.steps[i] = e.First
	}
	slices.Sort(p.steps)
	p.steps = slices.Compact(p.steps)
	p.over, p.under = make([]spans, 2*len(p.steps)), make([]spans, 2*len(p.steps))
	return p
}

// leaves returns the range [from, to) of nodes for the steps at which e is in use.
func (p *timeline) leaves(e *Extent) (from, to int) {
	from, _ = slices.BinarySearch(p.steps, e.First)
	to, _ = slices.BinarySearch(p.steps, e.Last+1)
	return from + len(p.steps), to + len(p.steps)
}

// addExtent records that the addresses of e are in use.
func (p *timeline) addExtent(e *Extent) {
	from, to := e.Base, e.Base+e.Bytes
	first, end := p.leaves(e)
	l, r := first, end
	for ; l < r; l, r = l/2, r/2 {
		if l&1 == 1 {
			p.over[l].add(from, to)
			l++
		}
		if r&1 == 1 {
			r--
			p.over[r].add(from, to)
		}
	}
	// All nodes with recorded nodes below are above the first or the last step.
	for a, b := first/2, (end-1)/2; a > 0; a, b = a/2, b/2 {
		p.under[a].add(from, to)
		if b != a {
			p.under[b].add(from, to)
		}
	}
}

// findFree returns the lowest address at which e.Bytes bytes are free at all steps at which e is in
// use. If e.Above is set, no higher address may be in use at these steps.
func (p *timeline) findFree(e *Extent) int {
	p.collectSets(e)
	at := 0
	if e.Above {
		for _, s := range p.sets {
			at = max(at, s[len(s)-1].to)
		}
		return at
	}
	for moved := true; moved; {
		moved = false
		for i, s := range p.sets {
			if len(s) == 0 || s[0].from-at >= e.Bytes {
				continue
			}
			k := s.find(at)
			if k < len(s) && s[k].from-at < e.Bytes {
				at, moved = s[k].to, true
				k++
			}
			p.sets[i] = s[k:]
		}
	}
	return at
}

// collectSets sets p.sets to the addresses in use at the steps of e: those of the extents that
// cover its first or last step, and those recorded at or below the largest runs between them.
func (p *timeline) collectSets(e *Extent) {
	p.sets = p.sets[:0]
	collect := func(s spans) {
		if len(s) > 0 {
			p.sets = append(p.sets, s)
		}
	}
	first, end := p.leaves(e)
	for a, b := first, end-1; a > 0; a, b = a/2, b/2 {
		collect(p.over[a])
		if b != a {
			collect(p.over[b])
		}
	}
	for l, r := first, end; l < r; l, r = l/2, r/2 {
		if l&1 == 1 {
			collect(p.over[l])
			collect(p.under[l])
			l++
		}
		if r&1 == 1 {
			r--
			collect(p.over[r])
			collect(p.under[r])
		}
	}
}

// spans holds ranges of addresses in ascending order, with a gap between each and the next.
type spans []span

// A span covers the addresses [from, to).
type span struct{ from, to int }

// find returns the index of the first span that ends after at, or len(s). Its time grows with the
// logarithm of the index, because most searches end near the start.
func (s spans) find(at int) int {
	high := 1
	for high <= len(s) && s[high-1].to <= at {
		high *= 2
	}
	low, high := high/2, min(high-1, len(s))
	for low < high {
		if mid := (low + high) / 2; s[mid].to > at {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// add adds the range [from, to), and merges the spans that it meets.
func (s *spans) add(from, to int) {
	if from == to {
		return
	}
	k := s.find(from - 1) // also a span that ends at from
	end := k
	for ; end < len(*s) && (*s)[end].from <= to; end++ {
		from, to = min(from, (*s)[end].from), max(to, (*s)[end].to)
	}
	*s = slices.Replace(*s, k, end, span{from, to})
}
