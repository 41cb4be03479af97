package lint

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"anesim/hw/regs"
	"anesim/loader"
)

// Origins of bytes that hold no value of the chain.
const (
	unwritten = -1 // no span: never written
	given     = -2 // an input, a constant
	unknown   = -3 // a surface that was not decided, or a buffer that rows pass through
)

// A kind says how a value came to a memory: as a result, as a source that stays in L2, as a
// ring between two descriptors, or as rows that pass through L2.
type kind uint8

const (
	result  kind = iota
	kept         // a source that stays in L2
	ring         // rows between two descriptors
	passing      // rows of a source on their way through L2
)

// A value is the data that a descriptor wrote to one memory.
type value struct {
	at     region
	td     int32
	lostTo int32 // the value that first overwrote a part of it, or -1
	kind   kind
	role   regs.Role
	planar bool // left by the planar engine
	l2     bool
	output bool // lies in an output port
	read   bool
	told   bool // a finding names it

	parts [4]int64 // strides between channels, rows, planes in depth and groups, 0 if there is only one
}

// beginsAt reports whether addr is the start of the value or of one of its channels, rows, planes
// or groups.
func (v *value) beginsAt(at int64) bool {
	off := at - v.at.base
	for _, stride := range v.parts {
		if stride > 0 && off > 0 && off%stride == 0 {
			return true
		}
	}
	return off == 0
}

// addressRegisterName returns the name of the register that holds the value's address.
func (v *value) addressRegisterName() string {
	if v.l2 {
		return l2Bases[v.role]
	}
	return memoryBases[v.role]
}

// String returns text that names the value in a message.
func (v *value) String() string {
	what := "result"
	switch v.kind {
	case kept:
		what = "kept source"
	case ring:
		what = "ring"
	case passing:
		return fmt.Sprintf("%v of descriptor %d, on its way through L2", v.role, v.td)
	}
	return fmt.Sprintf("the %s of descriptor %d", what, v.td)
}

// A place is a region of one memory.
type place struct {
	at region
	g  *ground
}

// Limits on the work for a program: on contiguous byte ranges, and on steps of searches for
// elements at the same address. Each is a base (All) plus an amount for each descriptor (Each).
const (
	runsEach, runsAll   = 64, 1 << 22
	stepsEach, stepsAll = 256, 1 << 22
	runsMost            = 1 << 16 // per surface
)

// A state records, while the descriptors are checked in order, which values are in memory and in
// L2.
type state struct {
	program *loader.Program
	linked  *loader.Linked
	report  Report
	values  []value
	memory  ground
	l2      ground
	ended   map[region]int32 // latest value in L2 by region

	runs  int64 // remaining budget for runs of regions and spans; below zero no more are visited
	steps int   // remaining budget for searches for folds

	outputs, scratch [][2]int64 // address ranges
	sources          []place    // of the current descriptor
	hints
}

// newState returns the state of memory and L2 before the first descriptor of a program.
func newState(p *loader.Program, l *loader.Linked) *state {
	s := &state{
		program: p, linked: l, ended: map[region]int32{},
		runs: runsAll + runsEach*int64(l.Count), steps: stepsAll + stepsEach*l.Count,
	}
	s.closed, s.closedTold = -1, -1
	for i := range l.Map {
		m := &l.Map[i]
		lo, hi := int64(m.Addr), int64(m.End())
		// Whatever the file or the host fills counts as written before the first task. The rest is written
		// by tasks or not at all.
		if m.Data != nil || m.Unmade || m.Prot&loader.ProtWrite == 0 || m.Prot&loader.ProtExec != 0 {
			s.memory.setOrigin(lo, hi, given)
			continue
		}
		if bar := p.BARs[regs.BARScratch]; m.Section == "__bss" || bar >= m.Addr && bar < m.End() {
			s.scratch = append(s.scratch, [2]int64{lo, hi})
		}
	}
	for i := range p.Ports {
		q := &p.Ports[i]
		lo, hi := int64(q.Address), int64(q.Address+(q.Bytes+memoryUnit-1)/memoryUnit*memoryUnit)
		switch m := l.Segment(q.Address, 1); {
		case m == nil:
		case q.Direction == loader.Input:
			s.memory.setOrigin(lo, max(hi, int64(m.End())), given)
		default:
			s.outputs = append(s.outputs, [2]int64{lo, max(hi, int64(m.End()))})
		}
	}
	slices.SortFunc(s.outputs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	return s
}

// containsAddress reports whether one of the ranges in list, which must be sorted, contains addr.
func containsAddress(list [][2]int64, addr int64) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i][1] > addr })
	return i < len(list) && list[i][0] <= addr
}

// addFinding adds a finding about a register of descriptor td, with text formatted by fmt.Sprintf.
func (s *state) addFinding(td int32, register string, rule Rule, evidence, format string, args ...any) {
	if len(s.report.Findings) >= maxFindings {
		s.report.More++
		return
	}
	s.report.Findings = append(s.report.Findings, Finding{int(td), register, rule, fmt.Sprintf(format, args...), evidence})
}

// spendBudget subtracts the number of contiguous byte ranges of r from the budget. It returns false
// if the budget was too small, so that the caller must not check r range by range.
func (s *state) spendBudget(r *region) bool {
	n := r.countRuns(runsMost)
	if n > runsMost || n > s.runs {
		s.report.Undecided++
		return false
	}
	s.runs -= n
	return true
}

// isBudgetSpent reports whether the budget is used up, so that memory contents are no longer
// tracked.
func (s *state) isBudgetSpent() bool { return s.runs < 0 }

// checkTask checks the reads of a descriptor, its weights and its dependency fields, and then
// records its writes.
func (s *state) checkTask(t *regs.Task) {
	o, td := t.Operands, int32(t.Index)
	bases := [...]uint64{t.Bases.Source1, t.Bases.Source2, t.Bases.Destination}
	sources := [...]*regs.Operand{&o.Source1, &o.Source2}
	s.beginTask(t)
	for _, x := range sources {
		switch {
		case x.DRAM:
			l := newMemoryLayout(x, bases[x.Role])
			once := l
			once.dropRepeatedAxes(&l)
			s.checkAliasing(td, &once)
			s.readSource(td, x.Role, &l, &s.memory)
		case x.Used && x.L2 == regs.Resident:
			l := newL2Layout(x)
			s.readSource(td, x.Role, &l, &s.l2)
		case x.Used && x.L2 == regs.Circular:
			l := newRingLayout(t, x)
			s.readSource(td, x.Role, &l, &s.l2)
		}
	}
	s.checkWeights(t)
	s.checkDependencyFields(t)
	for _, x := range sources {
		if !x.DRAM {
			continue
		}
		if l := newL2Layout(x); x.L2 == regs.Resident {
			once, from := l, newMemoryLayout(x, 0)
			from.axes[0], from.axes[1] = from.axes[1], from.axes[0] // rows and planes, as in the L2
			once.dropRepeatedAxes(&from)
			s.checkAliasing(td, &once)
			// A source that repeats along an axis is kept for its own descriptor (from
			// the bytes of tile).
			again := x.Shape != o.In
			s.recordWrite(&l, value{td: td, kind: kept, role: x.Role, l2: true, planar: t.Groups.Planar(), read: again})
			continue
		}
		s.recordPassingRows(t, x)
	}
	x := &o.Result
	planar := t.Groups.Planar()
	switch x.L2 {
	case regs.Resident:
		l := newL2Layout(x)
		if !x.DRAM { // otherwise nobody needs to read it there, and groups have no stride (from the bytes of sums over channels)
			s.checkAliasing(td, &l)
		}
		s.recordWrite(&l, value{td: td, role: x.Role, l2: true, planar: planar, read: x.DRAM})
	case regs.Circular:
		l := newRingLayout(t, x)
		s.recordWrite(&l, value{td: td, kind: ring, role: x.Role, l2: true, planar: planar})
	}
	if x.DRAM {
		l := newMemoryLayout(x, bases[x.Role])
		s.checkAliasing(td, &l)
		s.recordWrite(&l, value{td: td, role: x.Role, planar: planar, output: containsAddress(s.outputs, l.base)})
	}
	s.rememberTask(t)
}

// newRingLayout returns the layout of a ring buffer in L2 for operand x: the rows of one slice, each
// as long as a row in L2.
func newRingLayout(t *regs.Task, x *regs.Operand) layout {
	rows := min(x.Height, max(1, int(t.Groups.Common.TileCfg.TileHeight())))
	return layout{base: int64(x.Tile.Base), inner: int64(x.Tile.Row), unit: l2Unit,
		axes: [4]axis{{n: int64(rows), stride: int64(x.Tile.Row)}, {n: 1}, {n: 1}, {n: 1}}}
}

// recordPassingRows records that rows of a source that is read from memory pass through L2.
func (s *state) recordPassingRows(t *regs.Task, x *regs.Operand) {
	c := &t.Groups.Common
	rows := x.Height
	if h := int(c.TileCfg.TileHeight()); h > 0 {
		reach := h
		if !t.Groups.Planar() && t.Groups.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
			reach = (h-1)*max(1, int(c.ConvCfg.Sy())) + int(c.ConvCfg.Kh())
		}
		rows = min(rows, reach)
	}
	l := layout{base: int64(x.Tile.Base), inner: int64(x.Tile.Row), unit: l2Unit,
		axes: [4]axis{{n: int64(rows), stride: int64(x.Tile.Row)}, {n: 1}, {n: 1}, {n: 1}}}
	s.recordWrite(&l, value{td: int32(t.Index), kind: passing, role: x.Role, l2: true, read: true})
}

// checkAliasing adds a finding if two elements of a surface have the same address.
func (s *state) checkAliasing(td int32, l *layout) {
	a, known := l.findAliasingAxis(&s.steps)
	switch {
	case !known:
		s.report.Undecided++
	case a != nil:
		s.addFinding(td, a.name, Fold, byStrides, "%d parts are %d bytes apart, less than the size of one: they overlap", a.n, a.stride)
	}
}

// readSource processes the read of a source. It adds findings about bytes that were never written
// and about values that were partly overwritten.
func (s *state) readSource(td int32, role regs.Role, l *layout, g *ground) {
	register := memoryBases[role]
	if g == &s.l2 {
		register = l2Bases[role]
	}
	if l.isEmpty() {
		return
	}
	r := l.toRegion()
	if s.isBudgetSpent() || !s.spendBudget(&r) {
		s.markValuesRead(r.base, r.endAddress(), g)
		return
	}
	s.sources = append(s.sources, place{r, g})
	s.readRegion(td, register, &r, g)
}

// markValuesRead marks all values between the addresses lo and hi as read. It is used for a source
// that could not be checked.
func (s *state) markValuesRead(lo, hi int64, g *ground) {
	if s.isBudgetSpent() {
		s.report.Undecided++
		return
	}
	g.visitSpans(lo, hi, func(x span) {
		s.runs--
		if x.by >= 0 {
			s.values[x.by].read, s.values[x.by].told = true, true
		}
	})
}

// writersMost is the largest number of values per source that are checked for overwritten parts.
const writersMost = 16

// readRegion processes the read of a region. Rows that pass through L2 count as unwritten.
func (s *state) readRegion(td int32, register string, r *region, g *ground) {
	var missing, total int64
	var from []int32
	last := int32(unwritten)
	r.forEachRun(func(lo, hi int64) {
		at := lo
		total += hi - lo
		g.visitSpans(lo, hi, func(x span) {
			s.runs--
			missing += x.lo - at
			at = x.hi
			if x.by < 0 {
				return
			}
			v := &s.values[x.by]
			v.read = true
			if v.kind == passing {
				missing += x.hi - x.lo
			}
			// Neighboring spans mostly have one writer, so comparing with the last one keeps the list
			// short without a search.
			if x.by != last && len(from) < writersMost {
				from = append(from, x.by)
			}
			last = x.by
		})
		missing += hi - at
	})
	s.recordPreviousResultUse(td, from)
	s.checkEndOfRun(td, from)
	if s.checkPartlyOverwritten(td, r, g, from) || g == &s.l2 && s.checkStaleSource(td, r, from) {
		return
	}
	// Memory that others may write, such as an input, is not reported: the program does not show who fills
	// it.
	if missing > 0 && (g == &s.l2 || s.isWrittenOnlyByChain(r.base)) {
		what := "L2"
		if g == &s.memory {
			what = "memory"
		}
		s.addFinding(td, register, Unwritten, byPlaces, "reads %d bytes of %s at %#x; %d of them were never written", total, what, r.base, missing)
	}
}

// isWrittenOnlyByChain reports whether addr is in device memory that only the program's own
// descriptors write to.
func (s *state) isWrittenOnlyByChain(addr int64) bool {
	return containsAddress(s.scratch, addr) || containsAddress(s.outputs, addr)
}

// checkPartlyOverwritten adds a finding for each value of which a source reads the bytes that are
// left after another value overwrote the rest. It reports whether it found such a value. The list
// from has the numbers of the values that the source reads.
func (s *state) checkPartlyOverwritten(td int32, r *region, g *ground, from []int32) (found bool) {
	for _, by := range from {
		v := &s.values[by]
		if v.lostTo < 0 || v.told || v.kind == passing {
			continue
		}
		over := int32(-1)
		if !s.spendBudget(r) {
			return found
		}
		r.forEachRun(func(lo, hi int64) {
			g.visitSpans(lo, hi, func(x span) {
				s.runs--
				if over < 0 && (x.by > by || x.by == unknown) && v.at.intersects(x.lo, x.hi) {
					over = v.lostTo
				}
			})
		})
		if over >= 0 {
			s.reportOverwrittenValue(v, over, fmt.Sprintf("descriptor %d reads it after that", td))
			found = true
		}
	}
	return found
}

// checkStaleSource adds a finding if a source reads where an overwritten value was, unless a later
// value or a part of one begins there. It reports whether it added a finding.
func (s *state) checkStaleSource(td int32, r *region, from []int32) bool {
	by, ok := s.ended[*r]
	if !ok || len(from) != 1 || from[0] <= by {
		return false
	}
	v, w := &s.values[by], &s.values[from[0]]
	if v.lostTo < 0 || v.told || w.beginsAt(r.base) && w.kind != passing {
		return false
	}
	s.reportOverwrittenValue(v, v.lostTo, fmt.Sprintf("descriptor %d reads there after that", td))
	return true
}

// reportOverwrittenValue adds a finding about a value that descriptor writer overwrote while it was
// still needed.
func (s *state) reportOverwrittenValue(v *value, writer int32, needed string) {
	v.told = true
	w := &s.values[writer]
	s.addFinding(w.td, w.addressRegisterName(), Overlap, byPlaces, "%v, at %#x to %#x, overwrites %v, at %#x to %#x: %s", w, w.at.base, w.at.endAddress(), v, v.at.base, v.at.endAddress(), needed)
}

// recordWrite records that a descriptor writes the value v with the layout l.
func (s *state) recordWrite(l *layout, v value) {
	g := &s.memory
	if v.l2 {
		g = &s.l2
	}
	if l.isEmpty() {
		return
	}
	v.at, v.lostTo = l.toRegion(), -1
	for i, a := range l.axes {
		if a.n > 1 {
			v.parts[i] = a.stride
		}
	}
	by := int32(len(s.values))
	// A write that is not tracked must not leave the earlier value in place, or its readers would be
	// reported as reading an old one.
	if s.isBudgetSpent() || !s.spendBudget(&v.at) {
		s.markContentsUnknown(v.at.base, v.at.endAddress(), g)
		return
	}
	s.values = append(s.values, v)
	update := slices.Contains(s.sources, place{v.at, g}) // a descriptor may update a region that it reads
	if v.kind == result && !update {
		s.checkOverwrittenSource(&v, g)
	}
	v.at.forEachRun(func(lo, hi int64) {
		g.visitSpans(lo, hi, func(x span) {
			if x.by >= 0 && !update && s.values[x.by].lostTo < 0 {
				s.values[x.by].lostTo = by
			}
		})
		g.setOrigin(lo, hi, by)
	})
	if v.l2 && v.kind != passing {
		s.ended[v.at] = by
	}
}

// checkOverwrittenSource adds a finding if the result v lies partly over a source of its own descriptor,
// but not at exactly the same places: its first rows then replace rows that are still to be read.
func (s *state) checkOverwrittenSource(v *value, g *ground) {
	for i := range s.sources {
		x := &s.sources[i]
		if x.g != g || x.at.base >= v.at.endAddress() || v.at.base >= x.at.endAddress() || !s.spendBudget(&v.at) {
			continue
		}
		meets := false
		v.at.forEachRun(func(lo, hi int64) { meets = meets || x.at.intersects(lo, hi) })
		if meets {
			s.addFinding(v.td, v.addressRegisterName(), Overlap, byPlaces, "%v, at %#x to %#x, overwrites a source that the same descriptor reads, at %#x to %#x: the places of the two differ", v, v.at.base, v.at.endAddress(), x.at.base, x.at.endAddress())
			return
		}
	}
}

// markContentsUnknown marks the contents between the addresses lo and hi as unknown. It is used for
// a result that could not be checked.
func (s *state) markContentsUnknown(lo, hi int64, g *ground) {
	if s.markValuesRead(lo, hi, g); !s.isBudgetSpent() {
		g.setOrigin(lo, hi, unknown)
	}
}

// checkFinalState adds findings about outputs that were overwritten and about values that no
// descriptor read. It must be called after the last descriptor.
func (s *state) checkFinalState() {
	if s.isBudgetSpent() {
		return
	}
	for _, x := range s.outputs {
		s.memory.visitSpans(x[0], x[1], func(x span) {
			if x.by < 0 {
				return
			}
			v := &s.values[x.by]
			v.read = true
			if v.lostTo >= 0 && !v.told && v.at.run > 0 {
				s.reportOverwrittenValue(v, v.lostTo, "it is an output")
			}
		})
	}
	for i := range s.values {
		v := &s.values[i]
		if v.read || v.told {
			continue
		}
		s.reportUnreadValue(v)
	}
}

// reportUnreadValue adds a finding about a value that is never read.
func (s *state) reportUnreadValue(v *value) {
	where, evidence := "memory", byPlaces
	if v.l2 {
		where = "L2"
	}
	if v.kind == kept {
		evidence = byKept
	}
	why := "no later descriptor reads it"
	if v.lostTo >= 0 {
		w := &s.values[v.lostTo]
		why = fmt.Sprintf("%v overwrites it before it is read", w)
	} else if !v.l2 && !s.isWrittenOnlyByChain(v.at.base) {
		return // memory that others may read
	}
	s.addFinding(v.td, v.addressRegisterName(), Unread, evidence, "%v is stored in %s at %#x to %#x; %s", v, where, v.at.base, v.at.endAddress(), why)
}
