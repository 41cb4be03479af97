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

// A Linked is a program whose memory accesses have been checked: all bytes that a task reads or
// writes with one DMA lie in a single segment.
type Linked struct {
	Program *Program
	Stream  regs.Stream  // the relocated text and the buffer addresses, from which tasks are read
	Count   int          // number of tasks
	Tasks   []*regs.Task // all tasks; nil for LinkStream
	Map     []Segment    // segments of at least one byte, sorted by address
	Reach   []Reach      // range that the tile DMA accesses in each segment of Map

	eightBit uint32 // bit i is set if a source of 8-bit elements is read from buffer i
}

// A Reach is the part of a segment that the tasks of a program read or write, apart from weights.
// It is the zero Reach if there is no such part.
type Reach struct {
	Low, End uint64 // device addresses of the first byte and after the last
	Written  bool   // a task writes there
}

// ReadsEightBit reports whether any task reads 8-bit elements from buffer bar as its first
// source. It returns false if there is no such buffer.
func (l *Linked) ReadsEightBit(bar int) bool {
	return bar >= 0 && bar < len(regs.BARs{}) && l.eightBit>>bar&1 != 0
}

// HasEightBit reports whether any task reads 8-bit elements as its first source.
func (l *Linked) HasEightBit() bool { return l.eightBit != 0 }

// Segment returns the segment that contains all n bytes at device address addr, or nil if there is
// none.
func (l *Linked) Segment(addr, n uint64) *Segment {
	s := segmentBelow(l.Map, addr)
	if s == nil || addr-s.Addr >= s.Size || n > s.Size-(addr-s.Addr) {
		return nil
	}
	return s
}

// segmentBelow returns the last segment that starts at or below an address, or nil if there
// is none.
func segmentBelow(m []Segment, addr uint64) *Segment {
	if i := segmentIndexBelow(m, addr); i >= 0 {
		return &m[i]
	}
	return nil
}

// segmentIndexBelow returns the index of the last segment that starts at or below an address, or
// -1 if there is none.
func segmentIndexBelow(m []Segment, addr uint64) int {
	return sort.Search(len(m), func(i int) bool { return m[i].Addr > addr }) - 1
}

// Link computes the device addresses that the tasks of the program access, and checks that
// all of them are inside the program's segments. It returns a *[FormatError] for an invalid
// chain of descriptors, a *[RelocError] for an invalid relocation, a *[MemoryError] for
// segments that overlap, a *[SurfaceError] for an access outside the segments, or an
// *[UnsupportedError] for captured registers and programs of other chips.
func (p *Program) Link() (*Linked, error) {
	type task struct {
		regs.Task
		ops regs.Operands
	}
	var tasks []task
	l, err := p.linkTasks(func(_ *Linked, t *regs.Task, most int) {
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
		tasks[i].Operands = &tasks[i].ops // the iteration reuses its own
		l.Tasks[i] = &tasks[i].Task
	}
	return l, nil
}

// LinkStream works like [Program.Link], but does not keep the tasks in memory. The caller can read
// them from the Stream field of the result. If visit is not nil, LinkStream calls it for each task.
// The task t is valid only during the call, when only the fields Program and Map of l are complete.
func (p *Program) LinkStream(visit func(l *Linked, t *regs.Task)) (*Linked, error) {
	return p.linkTasks(func(l *Linked, t *regs.Task, _ int) {
		if visit != nil {
			visit(l, t)
		}
	})
}

// linkTasks links the program as Link does. It calls show for each task; most is an upper bound on
// the number of tasks. The task is valid until show returns.
func (p *Program) linkTasks(show func(l *Linked, t *regs.Task, most int)) (*Linked, error) {
	if p.Form == FormRegisters {
		return nil, &UnsupportedError{"captured registers", "cannot run: no known version 10 registers for " + strings.Join(describeUnknownFields(), ", ")}
	}
	if p.Subtype != SubtypeM1 {
		return nil, p.Container.newUnsupportedError()
	}
	m, err := newMemoryMap(p.Segments)
	if err != nil {
		return nil, err
	}
	text, err := p.relocateText()
	if err != nil {
		return nil, err
	}
	l := &Linked{
		Program: p, Map: m, Reach: make([]Reach, len(m)),
		Stream: regs.Stream{Text: text, File: p.TextFile, FirstWords: p.FirstWords, BARs: p.BARs, WindowTaps: p.WindowTaps},
	}
	// Allocate for the declared number of tasks, which is not checked yet, but no more than
	// fit in the text.
	most := min(max(0, p.TaskCount), int(p.textBytes()/regs.Alignment)+1)
	buf := make([]access, 0, 3+len(regs.KernelDMASrc{}.CoeffBaseAddr)) // three tensors and the weight lanes
	for t, err := range l.Stream.Tasks(new(regs.File)) {
		if err != nil {
			return nil, p.wrapStreamError(err)
		}
		buf = listAccesses(buf, &t.Header, &t.Groups, t.Operands)
		for i := range buf {
			if err := l.checkAccess(t.Index, &buf[i]); err != nil {
				return nil, err
			}
		}
		if t.Groups.Source1On() && t.Groups.Common.ChCfg.InFmt() != regs.FormatFP16 {
			l.eightBit |= 1 << t.Header.Bases.RBase0()
		}
		show(l, t, most)
		l.Count++
	}
	if p.TaskCount != 0 && p.TaskCount != l.Count {
		return nil, newFormatError(p.textOff, nil, "chain has %d descriptors, but the header declares %d", l.Count, p.TaskCount)
	}
	return l, nil
}

// wrapStreamError returns err, an error of reading the descriptors, as a *[FormatError]
// with the offset in the program's file.
func (p *Program) wrapStreamError(err error) error {
	var s *regs.StreamError
	if errors.As(err, &s) {
		return wrapFormatError(p.textOff+s.Off, err, "cannot read the program text")
	}
	return wrapFormatError(p.textOff, err, "cannot read the program text")
}

// checkAccess returns a *[SurfaceError] unless access a of a task is inside one segment
// that permits it. It extends the reach of that segment.
func (l *Linked) checkAccess(task int, a *access) error {
	if !a.on {
		return nil
	}
	addr := l.Program.BARs[a.bar] + uint64(a.low)
	at := segmentIndexBelow(l.Map, addr)
	var s *Segment
	if at >= 0 {
		s = &l.Map[at]
	}
	bad := func(what string) error {
		name := "none"
		if s != nil {
			name = fmt.Sprintf("%v, %#x bytes at %#x", s, s.Size, s.Addr)
		}
		return &SurfaceError{Task: task, Unit: a.dmaName(), Addr: addr, Bytes: a.bytes, Segment: name, What: what}
	}
	switch {
	case s == nil || addr-s.Addr >= s.Size:
		return bad("are not inside any segment; nearest segment below:")
	case a.bytes > s.Size-(addr-s.Addr):
		return bad("extend past the end of segment")
	case s.Prot == 0:
		return bad("are not accessible in segment")
	case a.write && s.Prot&ProtWrite == 0:
		return bad("are not writable in segment")
	}
	// Reach is that of the tile DMA: nobody asks which part of the weights a program reads.
	if !a.kernel {
		l.Reach[at].extendTo(addr, addr+a.bytes, a.write)
	}
	return nil
}

// extendTo extends the reach to include the addresses from low up to end.
func (r *Reach) extendTo(low, end uint64, write bool) {
	if *r == (Reach{}) {
		r.Low = low
	}
	r.Low, r.End, r.Written = min(r.Low, low), max(r.End, end), r.Written || write
}

// newMemoryMap returns the segments that are not empty, sorted by address. It returns a
// *[MemoryError] if two of them overlap, if they need more than maxZeroFill bytes without
// contents, or if they are more than maxAddressRange bytes apart.
func newMemoryMap(segments []Segment) ([]Segment, error) {
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
		if !isInAperture(s.Addr, s.Size) {
			return nil, &MemoryError{fmt.Sprintf("segment %v of %#x bytes at %#x extends past the %d-bit device address space", s, s.Size, s.Addr, regs.AddressBits)}
		}
		if i > 0 && m[i-1].End() > s.Addr {
			return nil, &MemoryError{fmt.Sprintf("segment %v at %#x overlaps %v of %#x bytes at %#x", s, s.Addr, &m[i-1], m[i-1].Size, m[i-1].Addr)}
		}
		if s.Prot == 0 {
			continue // a guard segment, without contents
		}
		if high == 0 {
			low = s.Addr
		}
		high = s.End()
		if !s.Unmade {
			zero += s.Size - uint64(len(s.Data))
		}
		// A file of bytes may declare segments of gigabytes. The sum over all is what memory is needed
		// for.
		if zero > maxZeroFill {
			return nil, &MemoryError{fmt.Sprintf("segments up to %v need more than %#x zero-filled bytes", s, maxZeroFill)}
		}
	}
	if high-low > maxAddressRange {
		return nil, &MemoryError{fmt.Sprintf("segment addresses %#x to %#x span more than %#x bytes", low, high, maxAddressRange)}
	}
	return m, nil
}
