package loader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"anesim/hw/regs"
)

// A Linked program has its addresses resolved and checked: every byte its tasks move
// stands inside one segment.
type Linked struct {
	Program *Program
	Stream  regs.Stream  // what the firmware walks: the relocated text and the buffers
	Count   int          // of its tasks
	Tasks   []*regs.Task // all of them; none where they were not asked for
	Map     []Segment    // memory with at least one byte, by address
	Reach   []Reach      // of Map, what the tile DMA moves from and to each segment

	eightBit uint32 // buffers that a source of 8-bit elements is read from, bit i of BAR i
}

// A Reach is the part of a segment that the tile DMA of a program's tasks moves data from
// or to. It is the zero value for a segment that no tile DMA touches.
type Reach struct {
	Low, End uint64 // device addresses of the first byte and of the end behind the last
	Written  bool   // a task writes there
}

// ReadsEightBit reports whether a task reads its first source from buffer bar as elements
// of 8 bits.
func (l *Linked) ReadsEightBit(bar int) bool {
	return bar >= 0 && bar < len(regs.BARs{}) && l.eightBit>>bar&1 != 0
}

// Segment is the segment that holds n bytes at a device address, nil when none does.
func (l *Linked) Segment(addr, n uint64) *Segment {
	s := find(l.Map, addr)
	if s == nil || addr-s.Addr >= s.Size || n > s.Size-(addr-s.Addr) {
		return nil
	}
	return s
}

// find returns the last segment that starts at or below an address, or nil if there is none.
func find(m []Segment, addr uint64) *Segment {
	if i := indexBelow(m, addr); i >= 0 {
		return &m[i]
	}
	return nil
}

// indexBelow returns the index of the last segment that starts at or below an address, or
// -1 if there is none.
func indexBelow(m []Segment, addr uint64) int {
	return sort.Search(len(m), func(i int) bool { return m[i].Addr > addr }) - 1
}

// Link resolves every base of every descriptor to a device address and checks the
// result. Errors are a *FormatError for a chain or a count that is wrong, a
// *SurfaceError for bytes outside the program's memory, a *RelocError, a *MemoryError,
// and an *UnsupportedError for captured registers; see Transfers for what they tell.
func (p *Program) Link() (*Linked, error) {
	type task struct {
		regs.Task
		ops regs.Operands
	}
	var tasks []task
	l, err := p.link(func(t *regs.Task, most int) {
		if tasks == nil {
			tasks = make([]task, 0, most)
		}
		tasks = append(tasks, task{*t, *t.Operands})
	})
	if err != nil {
		return nil, err
	}
	l.Tasks = make([]*regs.Task, len(tasks))
	for i := range tasks {
		tasks[i].Operands = &tasks[i].ops // the walk's own are for its next tasks
		l.Tasks[i] = &tasks[i].Task
	}
	return l, nil
}

// LinkStream is Link without Tasks: what it takes does not grow with the chain. The
// linked program's Stream walks them.
func (p *Program) LinkStream() (*Linked, error) { return p.link(func(*regs.Task, int) {}) }

// link links the program and shows each task, with how many there are at most. The task is
// good until the next.
func (p *Program) link(show func(t *regs.Task, most int)) (*Linked, error) {
	if p.Form == FormRegisters {
		return nil, &UnsupportedError{"captured registers", "they do not run: no document says where version 10 has " + strings.Join(capturedGaps(), ", ")}
	}
	if p.Subtype != SubtypeM1 {
		return nil, p.Container.unsupported()
	}
	m, err := memoryMap(p.Segments)
	if err != nil {
		return nil, err
	}
	text, err := p.relocated()
	if err != nil {
		return nil, err
	}
	l := &Linked{
		Program: p, Map: m, Reach: make([]Reach, len(m)),
		Stream: regs.Stream{Text: text, File: p.TextFile, FirstWords: p.FirstWords, BARs: p.BARs},
	}
	// Room for as many as are declared, which is not checked yet, and no more than the
	// text can hold.
	most := min(max(0, p.TaskCount), int(p.textBytes()/regs.Alignment)+1)
	buf := make([]access, 0, 3+len(regs.KernelDMASrc{}.CoeffBaseAddr)) // the tensors and the lanes
	for t, err := range l.Stream.Tasks(new(regs.File)) {
		if err != nil {
			return nil, p.streamError(err)
		}
		buf = accesses(buf, &t.Header, &t.Groups, t.Operands)
		for i := range buf {
			if err := l.check(t.Index, &buf[i]); err != nil {
				return nil, err
			}
		}
		if t.Groups.Source1On() && t.Groups.Common.ChCfg.InFmt() != regs.FormatFP16 {
			l.eightBit |= 1 << t.Header.Bases.RBase0()
		}
		show(t, most)
		l.Count++
	}
	if p.TaskCount != 0 && p.TaskCount != l.Count {
		return nil, fail(p.textOff, nil, "chain has %d descriptors, the program declares %d", l.Count, p.TaskCount)
	}
	return l, nil
}

// streamError gives a chain's error its place in the file.
func (p *Program) streamError(err error) error {
	var s *regs.StreamError
	if errors.As(err, &s) {
		return wrap(p.textOff+s.Off, err, "program text")
	}
	return wrap(p.textOff, err, "program text")
}

// check holds an access to one segment, and adds it to the segment's reach.
func (l *Linked) check(task int, a *access) error {
	if !a.on {
		return nil
	}
	addr := l.Program.BARs[a.bar] + uint64(a.low)
	at := indexBelow(l.Map, addr)
	var s *Segment
	if at >= 0 {
		s = &l.Map[at]
	}
	bad := func(what string) error {
		name := "a program without memory"
		if s != nil {
			name = fmt.Sprintf("%v, %#x bytes at %#x", s, s.Size, s.Addr)
		}
		return &SurfaceError{Task: task, Unit: a.name(), Addr: addr, Bytes: a.bytes, Segment: name, What: what}
	}
	switch {
	case s == nil || addr-s.Addr >= s.Size:
		return bad("stand in no segment; the nearest below is")
	case a.bytes > s.Size-(addr-s.Addr):
		return bad("leave")
	case s.Prot == 0:
		return bad("may not touch")
	case a.write && s.Prot&ProtWrite == 0:
		return bad("may not be written in")
	}
	if !a.kernel {
		l.Reach[at].add(addr, addr+a.bytes, a.write)
	}
	return nil
}

// add extends the reach by the bytes from low up to end.
func (r *Reach) add(low, end uint64, write bool) {
	if *r == (Reach{}) {
		r.Low = low
	}
	r.Low, r.End, r.Written = min(r.Low, low), max(r.End, end), r.Written || write
}

// memoryMap sorts the segments by address and checks that they are apart and that
// together they ask for no more than a program may.
func memoryMap(segments []Segment) ([]Segment, error) {
	m := make([]Segment, 0, len(segments))
	for _, s := range segments {
		if s.Size > 0 {
			m = append(m, s)
		}
	}
	slices.SortStableFunc(m, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	var low, high, zero uint64
	for i := range m {
		s := &m[i]
		if !inAperture(s.Addr, s.Size) {
			return nil, &MemoryError{fmt.Sprintf("%v, %#x bytes at %#x, leaves the %d-bit device space", s, s.Size, s.Addr, regs.AddressBits)}
		}
		if i > 0 && m[i-1].End() > s.Addr {
			return nil, &MemoryError{fmt.Sprintf("%v at %#x overlaps %v, %#x bytes at %#x", s, s.Addr, &m[i-1], m[i-1].Size, m[i-1].Addr)}
		}
		if s.Prot == 0 {
			continue // a guard: nothing stands there
		}
		if high == 0 {
			low = s.Addr
		}
		high = s.End()
		if !s.Unmade {
			zero += s.Size - uint64(len(s.Data))
		}
		if zero > MaxZeroFill {
			return nil, &MemoryError{fmt.Sprintf("more than %#x bytes without contents, up to %v", MaxZeroFill, s)}
		}
	}
	if high-low > MaxAddressRange {
		return nil, &MemoryError{fmt.Sprintf("addresses %#x to %#x, more than %#x bytes apart", low, high, MaxAddressRange)}
	}
	return m, nil
}
