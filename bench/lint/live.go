package lint

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"anesim/hw/regs"
	"anesim/loader"
)

// Origins of bytes that no value of the chain has.
const (
	unwritten = -1 // of the ground that is no span: nobody has written there
	given     = -2 // an input, a constant
	unknown   = -3 // a surface that was not decided, or a buffer that rows pass through
)

// A kind is what a value is.
type kind uint8

const (
	result  kind = iota
	kept         // a source that stays in the L2
	ring         // rows between two descriptors
	passing      // rows of a source on their way through the L2
)

// A value is what a descriptor left in a memory.
type value struct {
	at     region
	td     int32
	lostTo int32 // the value that was written over some of it first, or -1
	kind   kind
	role   regs.Role
	planar bool // left by the planar engine
	l2     bool
	output bool // in an output port
	read   bool
	told   bool // a finding has named it

	parts [2]int64 // strides of the planes in depth and of the groups, 0 where there is one
}

// begins reports whether the value, or a plane in depth or a group of it, begins at an address.
func (v *value) begins(at int64) bool {
	off := at - v.at.base
	for _, stride := range v.parts {
		if stride > 0 && off > 0 && off%stride == 0 {
			return true
		}
	}
	return off == 0
}

// register is the register that places the value.
func (v *value) register() string {
	if v.l2 {
		return l2Bases[v.role]
	}
	return memoryBases[v.role]
}

// String names the value.
func (v *value) String() string {
	what := "result"
	switch v.kind {
	case kept:
		what = "kept source"
	case ring:
		what = "ring"
	case passing:
		return fmt.Sprintf("%v of td %d, on its way through the L2", v.role, v.td)
	}
	return fmt.Sprintf("the %s of td %d", what, v.td)
}

// A place is a region of a memory.
type place struct {
	at region
	g  *ground
}

// What a program may take: runs of bytes, steps of searches for folds, for each descriptor
// and for all.
const (
	runsEach, runsAll   = 64, 1 << 22
	stepsEach, stepsAll = 256, 1 << 22
	runsMost            = 1 << 16 // of one surface
)

// A state is the memories as a chain finds them.
type state struct {
	program *loader.Program
	linked  *loader.Linked
	report  Report
	values  []value
	memory  ground
	l2      ground
	ended   map[region]int32 // values in the L2 by where they stand, the latest

	runs  int64 // left, of regions and of the spans they meet; none are looked at below zero
	steps int   // left, of searches for folds

	outputs, scratch [][2]int64 // addresses
	sources          []place    // of the descriptor at hand
	hints
}

func newState(p *loader.Program, l *loader.Linked) *state {
	s := &state{
		program: p, linked: l, ended: map[region]int32{},
		runs: runsAll + runsEach*int64(l.Count), steps: stepsAll + stepsEach*l.Count,
	}
	s.closed, s.closedTold = -1, -1
	for i := range l.Map {
		m := &l.Map[i]
		lo, hi := int64(m.Addr), int64(m.End())
		if m.Data != nil || m.Unmade || m.Prot&loader.ProtWrite == 0 || m.Prot&loader.ProtExec != 0 {
			s.memory.put(lo, hi, given)
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
			s.memory.put(lo, max(hi, int64(m.End())), given)
		default:
			s.outputs = append(s.outputs, [2]int64{lo, max(hi, int64(m.End()))})
		}
	}
	slices.SortFunc(s.outputs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	return s
}

// within reports whether an address lies in one of some areas, which are in order.
func within(list [][2]int64, addr int64) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i][1] > addr })
	return i < len(list) && list[i][0] <= addr
}

// find adds a finding.
func (s *state) find(td int32, register string, rule Rule, evidence, format string, args ...any) {
	if len(s.report.Findings) >= MaxFindings {
		s.report.More++
		return
	}
	s.report.Findings = append(s.report.Findings, Finding{int(td), register, rule, fmt.Sprintf(format, args...), evidence})
}

// afford takes the runs of a region off what the program may take, and reports whether it
// could.
func (s *state) afford(r *region) bool {
	n := r.runs(runsMost)
	if n > runsMost || n > s.runs {
		s.report.Undecided++
		return false
	}
	s.runs -= n
	return true
}

// blind reports whether what stands where is no longer followed.
func (s *state) blind() bool { return s.runs < 0 }

// task takes a descriptor: what it reads, then what it leaves.
func (s *state) task(t *regs.Task) {
	o, td := t.Operands, int32(t.Index)
	bases := [...]uint64{t.Bases.Source1, t.Bases.Source2, t.Bases.Destination}
	sources := [...]*regs.Operand{&o.Source1, &o.Source2}
	s.begin(t)
	for _, x := range sources {
		switch {
		case x.DRAM:
			l := inMemory(x, bases[x.Role])
			once := l
			once.drop(&l)
			s.fold(td, &once)
			s.reads(td, x.Role, &l, &s.memory)
		case x.Used && x.L2 == regs.Resident:
			l := inL2(x)
			s.reads(td, x.Role, &l, &s.l2)
		case x.Used && x.L2 == regs.Circular:
			l := ringOf(t, x)
			s.reads(td, x.Role, &l, &s.l2)
		}
	}
	s.kernel(t)
	s.consider(t)
	for _, x := range sources {
		if !x.DRAM {
			continue
		}
		if l := inL2(x); x.L2 == regs.Resident {
			once, from := l, inMemory(x, 0)
			from.axes[0], from.axes[1] = from.axes[1], from.axes[0] // rows and planes, as in the L2
			once.drop(&from)
			s.fold(td, &once)
			// One that repeats along an axis is kept for its own descriptor (bytes: tile).
			again := x.Shape != o.In
			s.leaves(&l, value{td: td, kind: kept, role: x.Role, l2: true, planar: t.Groups.Planar(), read: again})
			continue
		}
		s.passes(t, x)
	}
	x := &o.Result
	planar := t.Groups.Planar()
	switch x.L2 {
	case regs.Resident:
		l := inL2(x)
		if !x.DRAM { // else nobody needs to read it there, and groups have no stride (bytes: sums over channels)
			s.fold(td, &l)
		}
		s.leaves(&l, value{td: td, role: x.Role, l2: true, planar: planar, read: x.DRAM})
	case regs.Circular:
		l := ringOf(t, x)
		s.leaves(&l, value{td: td, kind: ring, role: x.Role, l2: true, planar: planar})
	}
	if x.DRAM {
		l := inMemory(x, bases[x.Role])
		s.fold(td, &l)
		s.leaves(&l, value{td: td, role: x.Role, planar: planar, output: within(s.outputs, l.base)})
	}
	s.finish(t)
}

// ringOf is the rows of a ring: those of a tile, as far as a row reaches in the L2.
func ringOf(t *regs.Task, x *regs.Operand) layout {
	rows := min(x.Height, max(1, int(t.Groups.Common.TileCfg.TileHeight())))
	return layout{base: int64(x.Tile.Base), inner: int64(x.Tile.Row), unit: l2Unit,
		axes: [4]axis{{n: int64(rows), stride: int64(x.Tile.Row)}, {n: 1}, {n: 1}, {n: 1}}}
}

// passes takes the place of the rows of a source on their way through the L2.
func (s *state) passes(t *regs.Task, x *regs.Operand) {
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
	s.leaves(&l, value{td: int32(t.Index), kind: passing, role: x.Role, l2: true, read: true})
}

// fold tells of a surface whose elements stand in one place.
func (s *state) fold(td int32, l *layout) {
	a, known := l.folds(&s.steps)
	switch {
	case !known:
		s.report.Undecided++
	case a != nil:
		s.find(td, a.name, Fold, byStrides, "%d parts stand %d bytes apart, which is less than one takes: they lie on each other", a.n, a.stride)
	}
}

// reads takes a source: it tells of bytes that nobody wrote, and of values that are no longer
// whole.
func (s *state) reads(td int32, role regs.Role, l *layout, g *ground) {
	register := memoryBases[role]
	if g == &s.l2 {
		register = l2Bases[role]
	}
	if l.empty() {
		return
	}
	r := l.region()
	if s.blind() || !s.afford(&r) {
		s.forget(r.base, r.end(), g)
		return
	}
	s.sources = append(s.sources, place{r, g})
	s.readsRegion(td, register, &r, g)
}

// forget marks all values between two addresses as read, by a source that was not decided.
func (s *state) forget(lo, hi int64, g *ground) {
	if s.blind() {
		s.report.Undecided++
		return
	}
	g.look(lo, hi, func(x span) {
		s.runs--
		if x.by >= 0 {
			s.values[x.by].read, s.values[x.by].told = true, true
		}
	})
}

// writersMost is how many of the values of one source are looked at for what they have lost.
const writersMost = 16

// readsRegion takes a region that is read from a ground. Rows on their way through the L2 are
// nothing that anybody may read.
func (s *state) readsRegion(td int32, register string, r *region, g *ground) {
	var missing, total int64
	var from []int32
	last := int32(unwritten)
	r.each(func(lo, hi int64) {
		at := lo
		total += hi - lo
		g.look(lo, hi, func(x span) {
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
			if x.by != last && len(from) < writersMost {
				from = append(from, x.by)
			}
			last = x.by
		})
		missing += hi - at
	})
	s.dependsOn(td, from)
	if s.whole(td, r, g, from) || g == &s.l2 && s.stale(td, r, from) {
		return
	}
	if missing > 0 && (g == &s.l2 || s.empty(r.base)) {
		what := "the L2"
		if g == &s.memory {
			what = "memory"
		}
		s.find(td, register, Unwritten, byPlaces, "reads %d bytes of %s at %#x; nothing was left in %d of them before", total, what, r.base, missing)
	}
}

// empty reports whether nobody but the chain writes at an address of device memory.
func (s *state) empty(addr int64) bool { return within(s.scratch, addr) || within(s.outputs, addr) }

// whole tells of a value that a source reads some bytes of, while the rest of what the source
// reads was written over. It reports whether there is one.
func (s *state) whole(td int32, r *region, g *ground, from []int32) (found bool) {
	for _, by := range from {
		v := &s.values[by]
		if v.lostTo < 0 || v.told || v.kind == passing {
			continue
		}
		over := int32(-1)
		if !s.afford(r) {
			return found
		}
		r.each(func(lo, hi int64) {
			g.look(lo, hi, func(x span) {
				s.runs--
				if over < 0 && (x.by > by || x.by == unknown) && v.at.meets(x.lo, x.hi) {
					over = v.lostTo
				}
			})
		})
		if over >= 0 {
			s.overlap(v, over, fmt.Sprintf("td %d reads it after that", td))
			found = true
		}
	}
	return found
}

// stale tells of a source that stands where a value stood that is written over, and where no
// later value or part of one begins. It reports whether it does.
func (s *state) stale(td int32, r *region, from []int32) bool {
	by, ok := s.ended[*r]
	if !ok || len(from) != 1 || from[0] <= by {
		return false
	}
	v, w := &s.values[by], &s.values[from[0]]
	if v.lostTo < 0 || v.told || w.begins(r.base) && w.kind != passing {
		return false
	}
	s.overlap(v, v.lostTo, fmt.Sprintf("td %d reads there after that", td))
	return true
}

// overlap tells of a value that is written over while it is needed.
func (s *state) overlap(v *value, by int32, needed string) {
	v.told = true
	w := &s.values[by]
	s.find(w.td, w.register(), Overlap, byPlaces, "%v, at %#x to %#x, lies over %v, at %#x to %#x: %s", w, w.at.base, w.at.end(), v, v.at.base, v.at.end(), needed)
}

// leaves takes what a descriptor writes.
func (s *state) leaves(l *layout, v value) {
	g := &s.memory
	if v.l2 {
		g = &s.l2
	}
	if l.empty() {
		return
	}
	v.at, v.lostTo = l.region(), -1
	for i, a := range l.axes[2:] {
		if a.n > 1 {
			v.parts[i] = a.stride
		}
	}
	by := int32(len(s.values))
	if s.blind() || !s.afford(&v.at) {
		s.lose(v.at.base, v.at.end(), g)
		return
	}
	s.values = append(s.values, v)
	update := slices.Contains(s.sources, place{v.at, g}) // of what the descriptor reads
	v.at.each(func(lo, hi int64) {
		g.look(lo, hi, func(x span) {
			if x.by >= 0 && !update && s.values[x.by].lostTo < 0 {
				s.values[x.by].lostTo = by
			}
		})
		g.put(lo, hi, by)
	})
	if v.l2 && v.kind != passing {
		s.ended[v.at] = by
	}
}

// lose makes the bytes between two addresses unknown, of a result that was not decided.
func (s *state) lose(lo, hi int64, g *ground) {
	if s.forget(lo, hi, g); !s.blind() {
		g.put(lo, hi, unknown)
	}
}

// end tells of values that are of no use.
func (s *state) end() {
	if s.blind() {
		return
	}
	for _, x := range s.outputs {
		s.memory.look(x[0], x[1], func(x span) {
			if x.by < 0 {
				return
			}
			v := &s.values[x.by]
			v.read = true
			if v.lostTo >= 0 && !v.told && v.at.run > 0 {
				s.overlap(v, v.lostTo, "it is an output")
			}
		})
	}
	for i := range s.values {
		v := &s.values[i]
		if v.read || v.told {
			continue
		}
		s.unread(v)
	}
}

// unread tells of a value that nobody reads.
func (s *state) unread(v *value) {
	where, evidence := "memory", byPlaces
	if v.l2 {
		where = "the L2"
	}
	if v.kind == kept {
		evidence = byKept
	}
	why := "no later descriptor reads it"
	if v.lostTo >= 0 {
		w := &s.values[v.lostTo]
		why = fmt.Sprintf("%v lies over it, and nothing reads it before", w)
	} else if !v.l2 && !s.empty(v.at.base) {
		return // memory that somebody else may read
	}
	s.find(v.td, v.register(), Unread, evidence, "%v stands in %s at %#x to %#x; %s", v, where, v.at.base, v.at.end(), why)
}
