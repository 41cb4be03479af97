package dma

import (
	"fmt"
	"slices"
	"sort"
)

// A Segment is a contiguous range of device memory.
type Segment struct {
	Name string
	Addr uint64
	Size uint64
	Data []byte // initial bytes, at most Size; the rest of the segment is zero
}

// An AccessError reports an access to bytes that are not all in one segment.
type AccessError struct {
	Addr, Bytes uint64
	Segment     string // the segment in which the access starts, empty if none
	End         uint64 // that segment's end
}

func (e *AccessError) Error() string {
	if e.Segment == "" {
		return fmt.Sprintf("%#x bytes at address %#x lie outside all segments", e.Bytes, e.Addr)
	}
	return fmt.Sprintf("%#x bytes at address %#x extend past segment %s, which ends at %#x", e.Bytes, e.Addr, e.Segment, e.End)
}

// Memory models device memory: a set of segments that do not overlap.
type Memory struct {
	segments []segment // sorted by address, not overlapping
}

type segment struct {
	name string
	addr uint64
	size uint64
	used uint64 // end of the farthest checked access
	data []byte // nil until first used; then at least used bytes
	init []byte
	made [][2]uint64 // address ranges with made-up values

	written bool // a checked access writes to it
	lent    bool // data belongs to the caller of Lend
}

// NewMemory returns a memory with the given segments. It returns an error if two of them overlap.
// It is cheap to declare a large segment: host memory is allocated on first use, and only up to the
// highest address that was checked.
func NewMemory(list []Segment) (*Memory, error) {
	m := new(Memory)
	for _, s := range list {
		if err := m.Add(s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Add adds segment s to the memory. It does nothing if s is empty. It returns an error if s
// overlaps another segment or is smaller than its data.
func (m *Memory) Add(s Segment) error {
	if s.Size == 0 {
		return nil
	}
	if uint64(len(s.Data)) > s.Size {
		return fmt.Errorf("%d bytes of data do not fit in segment %s of %d bytes", len(s.Data), s.Name, s.Size)
	}
	i := m.findSegmentIndex(s.Addr)
	if s.Addr+s.Size < s.Addr {
		return fmt.Errorf("segment %s of %#x bytes at address %#x extends past the 64-bit address space", s.Name, s.Size, s.Addr)
	}
	if i < len(m.segments) && m.segments[i].addr < s.Addr+s.Size {
		b := &m.segments[i]
		return fmt.Errorf("segments %s and %s overlap at address %#x", b.name, s.Name, max(s.Addr, b.addr))
	}
	m.segments = slices.Insert(m.segments, i, segment{name: s.Name, addr: s.Addr, size: s.Size, init: s.Data})
	return nil
}

// Remove removes the segment that starts at addr and discards its contents. It reports whether
// there was such a segment.
func (m *Memory) Remove(addr uint64) bool {
	i := m.findSegmentIndex(addr)
	if i == len(m.segments) || m.segments[i].addr != addr {
		return false
	}
	m.segments = slices.Delete(m.segments, i, i+1)
	return true
}

// findSegmentIndex returns the index of the first segment that ends after addr, or the number of
// segments if there is none.
func (m *Memory) findSegmentIndex(addr uint64) int {
	return sort.Search(len(m.segments), func(i int) bool { return m.segments[i].addr+m.segments[i].size > addr })
}

// findSegment returns the segment that contains all of the n bytes at addr, or an *AccessError.
func (m *Memory) findSegment(addr, n uint64) (*segment, error) {
	i := m.findSegmentIndex(addr)
	if i == len(m.segments) || m.segments[i].addr > addr {
		return nil, &AccessError{Addr: addr, Bytes: n}
	}
	s := &m.segments[i]
	if n > s.size-(addr-s.addr) {
		return nil, &AccessError{addr, n, s.name, s.addr + s.size}
	}
	s.used = max(s.used, addr-s.addr+n)
	return s, nil
}

// Check returns an *[AccessError] unless the n bytes at addr are inside one segment.
func (m *Memory) Check(addr, n uint64) error {
	_, err := m.findSegment(addr, n)
	return err
}

// Bytes returns the n bytes at addr, or an *[AccessError]. The slice shares memory with the
// segment, so writing to it changes the memory. A later access to a higher address of the segment
// may move its contents; check the highest address first to prevent this.
func (m *Memory) Bytes(addr, n uint64) ([]byte, error) {
	s, err := m.findSegment(addr, n)
	if err != nil {
		return nil, err
	}
	if off := uint64(len(s.data)); off < s.used {
		grown := make([]byte, s.used)
		copy(grown, s.data)
		if off < uint64(len(s.init)) {
			copy(grown[off:], s.init[off:])
		}
		s.data, s.lent = grown, false
	}
	off := addr - s.addr
	return s.data[off : off+n : off+n], nil
}

// Peek is like [Memory.Bytes], but the caller must not write to the slice. If the bytes were
// declared with the segment and the segment is not allocated yet, Peek returns them without
// allocating it.
func (m *Memory) Peek(addr, n uint64) ([]byte, error) {
	s, err := m.findSegment(addr, n)
	if err != nil {
		return nil, err
	}
	if off := addr - s.addr; s.data == nil && off+n <= uint64(len(s.init)) {
		return s.init[off : off+n : off+n], nil
	}
	return m.Bytes(addr, n)
}

// MakeUp marks the n bytes at addr as made up: the user gave no values for them, so the model
// invented some. It returns an *[AccessError] unless the bytes are inside one segment.
func (m *Memory) MakeUp(addr, n uint64) error {
	s, err := m.findSegment(addr, n)
	if err == nil {
		s.made = append(s.made, [2]uint64{addr, addr + n})
	}
	return err
}

// Give records that the user has now given values for the n bytes at addr: it removes the marks of
// [Memory.MakeUp] that lie within these bytes. It returns an *[AccessError] unless the bytes are
// inside one segment.
func (m *Memory) Give(addr, n uint64) error {
	s, err := m.findSegment(addr, n)
	if err == nil {
		s.made = slices.DeleteFunc(s.made, func(r [2]uint64) bool { return addr <= r[0] && r[1] <= addr+n })
	}
	return err
}

// MadeUp reports whether any of the n bytes at addr is marked as made up.
func (m *Memory) MadeUp(addr, n uint64) bool {
	s, err := m.findSegment(addr, n)
	if err != nil {
		return false
	}
	for _, r := range s.made {
		if addr < r[1] && r[0] < addr+n {
			return true
		}
	}
	return false
}
