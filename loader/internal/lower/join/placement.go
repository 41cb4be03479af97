package join

import (
	"cmp"
	"container/heap"
	"slices"

	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
)

// placeResidents chooses the tensors that stay in L2 between steps, and places them together with
// the tiles of each step. kept maps each access to its resident, and shift holds how far the tiles
// of each step move.
//
// All candidates are placed. Where extents do not fit, tensors go through memory instead, first those
// that are in L2 for the most steps (see spillOverload), and all others are placed again. No program
// that we have shows which tensors Apple's compiler chooses: in those whose tensors do not all
// fit, each of them is larger than L2. The choice is not revised: a tensor stays in memory even if
// later ones make room for it.
//
// The choice is made with the smallest layouts; then residents for which there is room get rows
// without bank conflicts for all their readers.
//
// Both loops end. Every spillOverload counts on less of L2 where extents do not fit, and after
// manyRounds everywhere; six calls later it counts on none, so that no resident is left, and the tiles of
// a step fit alone. After manyRounds, compactAt gives all residents the layouts with which they fitted
// before.
func (j *joiner) placeResidents() (kept map[access]*resident, shift []int) {
	p := j.newPlacement()
	p.arrange()
	for bad := p.place(); len(bad) > 0; bad = p.place() {
		p.spillOverload(bad)
		p.arrange()
	}
	p.rounds = 0
	if p.avoidBankConflicts() {
		p.arrange()
		for bad := p.place(); len(bad) > 0; bad = p.place() {
			p.compactAt(bad)
			p.arrange()
		}
	}
	shift = make([]int, len(j.steps))
	for i, a := range p.arenas {
		shift[i] = a.Base - p.lows[i]
	}
	return p.kept, shift
}

// manyRounds is a number of calls of spillOverload or compactAt that networks do not need. Each call
// costs time in proportion to the network, so this bounds the whole.
const manyRounds = 16

// A placement holds the state of placeResidents.
type placement struct {
	j      *joiner
	chosen []*resident
	kept   map[access]*resident
	list   []*place.Extent // all extents: those of residents, then the arenas
	arenas []place.Extent  // the tiles of each step
	lows   []int           // their addresses if the step is lowered on its own
	stale  []bool          // steps whose arena has changed
	// crowded counts, for each step, how often an extent that is in use did not fit although L2 has
	// as many bytes, see spillOverload. It is nil until the first call.
	crowded []int
	rounds  int // calls of spillOverload, then of compactAt
}

// newPlacement returns a placement with all candidates. It places nothing yet.
func (j *joiner) newPlacement() *placement {
	n := len(j.steps)
	p := &placement{j: j, chosen: j.findResidentCandidates(), kept: map[access]*resident{}, arenas: make([]place.Extent, n), lows: make([]int, n), stale: make([]bool, n)}
	for _, r := range p.chosen {
		for _, a := range r.accesses {
			p.kept[a] = r
		}
	}
	for i := range p.stale {
		p.stale[i] = true
	}
	return p
}

// arrange makes the extents of all residents and steps.
func (p *placement) arrange() {
	p.list = p.list[:0]
	for _, r := range p.chosen {
		r.extent = &place.Extent{Bytes: r.bytes(), First: r.accesses[0].step, Last: p.j.tensors[r.tensor].last, Streams: r.loads != nil}
		p.list = append(p.list, r.extent)
	}
	p.list = p.j.overwriteSources(p.chosen, p.kept, p.list)
	for i := range p.arenas {
		if p.stale[i] {
			p.stale[i] = false
			lo, hi := p.j.stepTileRange(i, p.kept)
			p.arenas[i], p.lows[i] = place.Extent{Bytes: hi - lo, First: i, Last: i, Streams: true}, lo
		}
		p.list = append(p.list, &p.arenas[i])
	}
}

// place gives the extents their addresses and returns the ones that do not fit.
func (p *placement) place() []*place.Extent { return place.AllocateFitting(p.list, p.j.l2Bytes()) }

// spill makes the residents for which out is true go through memory.
func (p *placement) spill(out func(*resident) bool) {
	p.chosen = slices.DeleteFunc(p.chosen, func(r *resident) bool {
		if !out(r) {
			return false
		}
		for _, a := range r.accesses {
			delete(p.kept, a)
			p.stale[a.step] = true
		}
		return true
	})
}

// compareStay orders extents by the order in which their tensors give room to others.
func compareStay(a, b *place.Extent) int {
	return cmp.Or(cmp.Compare(b.Last-b.First, a.Last-a.First), cmp.Compare(b.Bytes, a.Bytes))
}

// spillOverload makes tensors go through memory, many at a time. It goes through the steps in order.
// While more bytes are in use at a step than L2 has, it removes the tensor with the longest lifetime,
// then the largest.
//
// Free bytes in pieces can still be too small for an extent. bad has the extents that do not fit:
// spillOverload counts on fewer bytes at their steps, 1/64 of L2 less than it has and twice
// that in each later call, so that after a few calls all extents fit.
func (p *placement) spillOverload(bad []*place.Extent) {
	p.countCrowded(bad)
	stays := p.findStays()
	starts, ends := make([][]*stay, len(p.arenas)), make([][]*stay, len(p.arenas))
	for _, s := range stays {
		starts[s.extent.First] = append(starts[s.extent.First], s)
		ends[s.extent.Last] = append(ends[s.extent.Last], s)
	}
	gone := map[*resident]bool{}
	var inUse stayHeap
	bytes := 0
	for i := range p.arenas {
		for _, s := range starts[i] {
			s.inUse = true
			bytes += s.extent.Bytes
			heap.Push(&inUse, s)
		}
		for limit := p.usableBytes(i) - p.arenas[i].Bytes; bytes > limit && len(inUse) > 0; {
			s := heap.Pop(&inUse).(*stay)
			if !s.inUse {
				continue
			}
			s.inUse = false
			bytes -= s.extent.Bytes
			// The others of its tensors overwrite this one. They follow, from their own first step.
			gone[s.residents[0]] = true
			if s.residents = s.residents[1:]; len(s.residents) == 0 {
				continue
			}
			s.extent.First = s.residents[0].accesses[0].step
			if first := s.extent.First; first > i {
				starts[first] = append(starts[first], s)
				continue
			}
			s.inUse = true
			bytes += s.extent.Bytes
			heap.Push(&inUse, s)
		}
		for _, s := range ends[i] {
			if s.inUse {
				s.inUse = false
				bytes -= s.extent.Bytes
			}
		}
	}
	p.spill(func(r *resident) bool { return gone[r] })
}

// countCrowded adds 1 to p.crowded at each step at which one of the extents in bad is in use. After
// many calls it adds 1 at all steps.
func (p *placement) countCrowded(bad []*place.Extent) {
	n := len(p.arenas)
	first := p.crowded == nil
	if first {
		p.crowded = make([]int, n)
	}
	p.rounds++
	if first {
		return // bytes in use alone may be the reason
	}
	change := make([]int, n+1)
	for _, e := range bad {
		change[e.First]++
		change[e.Last+1]--
	}
	for i, count := 0, 0; i < n; i++ {
		if count += change[i]; count > 0 || p.rounds > manyRounds {
			p.crowded[i]++
		}
	}
}

// usableBytes returns how many bytes of L2 spillOverload counts on at a step.
func (p *placement) usableBytes(step int) int {
	size := p.j.l2Bytes()
	if p.crowded[step] == 0 {
		return size
	}
	return size - min(size, size/64<<min(p.crowded[step]-1, 6))
}

// A stay holds an extent of residents: of one, or of several of which each overwrites the one before.
type stay struct {
	extent    *place.Extent
	residents []*resident
	order     int  // among all stays
	inUse     bool // at the step that spillOverload looks at
}

// findStays returns the stays of all residents.
func (p *placement) findStays() []*stay {
	var list []*stay
	index := map[*place.Extent]*stay{}
	for _, r := range p.chosen {
		s := index[r.extent]
		if s == nil {
			s = &stay{extent: r.extent, order: len(list)}
			index[r.extent] = s
			list = append(list, s)
		}
		s.residents = append(s.residents, r)
	}
	return list
}

// A stayHeap orders stays as a heap, with the one on top that gives room to others first.
type stayHeap []*stay

func (h stayHeap) Len() int { return len(h) }
func (h stayHeap) Less(i, k int) bool {
	return cmp.Or(compareStay(h[i].extent, h[k].extent), cmp.Compare(h[i].order, h[k].order)) < 0
}
func (h stayHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *stayHeap) Push(x any)   { *h = append(*h, x.(*stay)) }
func (h *stayHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h = (*h)[:last]
	return s
}

// avoidBankConflicts gives the residents layouts that cause no bank conflicts for any of their
// readers. It reports whether any layout changed: even if none takes more bytes, a step can then no
// longer write its result over a source whose rows are spaced otherwise.
func (p *placement) avoidBankConflicts() bool {
	changed := false
	for _, r := range p.chosen {
		if before := r.layout; !r.byPlane {
			r.setRowLayout(r.fetches)
			changed = changed || r.layout != before
		}
	}
	return changed
}

// compactAt compacts the residents that are in L2 at the same time as an extent in bad. If none of
// them becomes smaller, or after manyRounds calls, it compacts all residents.
func (p *placement) compactAt(bad []*place.Extent) {
	p.rounds++
	change := make([]int, len(p.arenas)+1)
	for _, e := range bad {
		change[e.First]++
		change[e.Last+1]--
	}
	// crowded[i] is the number of steps before i at which an extent in bad is in use.
	crowded := make([]int, len(p.arenas)+1)
	for i, count := 0, 0; i < len(p.arenas); i++ {
		count += change[i]
		crowded[i+1] = crowded[i] + min(count, 1)
	}
	smaller := false
	for _, r := range p.chosen {
		if crowded[r.extent.Last+1] > crowded[r.extent.First] && r.compactLayout() {
			smaller = true
		}
	}
	if !smaller || p.rounds > manyRounds {
		for _, r := range p.chosen {
			r.compactLayout()
		}
	}
}

// overwriteSources makes a step write its result over one of its sources where possible: the step
// must be a single elementwise task, and no later step may read that source. It returns list
// without the extents that are no longer needed. Apple's compiler does so for softmax; that it
// does so for additions between convolutions is inferred.
func (j *joiner) overwriteSources(chosen []*resident, kept map[access]*resident, list []*place.Extent) []*place.Extent {
	gone := map[*place.Extent]bool{}
	for _, r := range chosen {
		a := r.accesses[0]
		plan := j.steps[a.step].part.output.Tasks
		if a.which != task.OperandResult || len(plan) != 1 || !plan[0].IsElementwise() {
			continue
		}
		for _, which := range [...]task.Operand{task.Operand1, task.Operand2} {
			in := kept[access{a.step, 0, which}]
			if in == nil || in.extent == r.extent || in.extent.Last != a.step || in.layout != r.layout || in.loads != nil && in.loads[0].step == a.step {
				continue
			}
			from, ok := in.locateOperand(plan[0], which)
			to, _ := r.locateOperand(plan[0], task.OperandResult)
			if !ok || from != to {
				continue
			}
			gone[r.extent] = true
			in.extent.Last = r.extent.Last
			r.extent = in.extent
			break
		}
	}
	return slices.DeleteFunc(list, func(e *place.Extent) bool { return gone[e] })
}
