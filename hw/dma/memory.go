package dma

import (
	"fmt"
	"slices"
	"sort"
)

// A Segment is a run of device memory.
type Segment struct {
	Name string
	Addr uint64
	Size uint64
	Data []byte // initial bytes, at most Size; the rest is zero
}

// An AccessError is an access outside every segment.
type AccessError struct {
	Addr, Bytes uint64
	Segment     string // the segment the access starts in, empty for none
	End         uint64 // that segment's end
}

func (e *AccessError) Error() string {
	if e.Segment == "" {
		return fmt.Sprintf("%#x bytes at address %#x are in no segment", e.Bytes, e.Addr)
	}
	return fmt.Sprintf("%#x bytes at address %#x leave segment %s, which ends at %#x", e.Bytes, e.Addr, e.Segment, e.End)
}

// Memory is the device's view of a program's segments.
type Memory struct {
	segments []segment // by address, not overlapping
}

type segment struct {
	name string
	addr uint64
	size uint64
	used uint64 // end of the furthest access that was checked
	data []byte // nil until something touches it; then used bytes or more
	init []byte
	made [][2]uint64 // address ranges whose bytes nobody gave
}

// NewMemory lays out the segments. A segment takes memory once something touches it, and
// then only up to the furthest access checked: a declared gigabyte costs nothing.
// Overlapping segments are an error.
func NewMemory(list []Segment) (*Memory, error) {
	m := new(Memory)
	for _, s := range list {
		if s.Size == 0 {
			continue
		}
		if uint64(len(s.Data)) > s.Size {
			return nil, fmt.Errorf("segment %s: %d bytes of data in %d", s.Name, len(s.Data), s.Size)
		}
		m.segments = append(m.segments, segment{name: s.Name, addr: s.Addr, size: s.Size, init: s.Data})
	}
	slices.SortStableFunc(m.segments, func(a, b segment) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return 0
	})
	for i := 1; i < len(m.segments); i++ {
		a, b := &m.segments[i-1], &m.segments[i]
		if a.addr+a.size > b.addr || a.addr+a.size < a.addr {
			return nil, fmt.Errorf("segments %s and %s overlap at address %#x", a.name, b.name, b.addr)
		}
	}
	return m, nil
}

// find is the segment that holds all of the n bytes at addr.
func (m *Memory) find(addr, n uint64) (*segment, error) {
	i := sort.Search(len(m.segments), func(i int) bool { return m.segments[i].addr+m.segments[i].size > addr })
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

// Check reports an access that is not wholly inside one segment as an *AccessError.
func (m *Memory) Check(addr, n uint64) error {
	_, err := m.find(addr, n)
	return err
}

// Bytes is the n bytes at addr; writing to them writes the memory. The slice is good
// until an access further into its segment grows it, so check all accesses first.
func (m *Memory) Bytes(addr, n uint64) ([]byte, error) {
	s, err := m.find(addr, n)
	if err != nil {
		return nil, err
	}
	if off := uint64(len(s.data)); off < s.used {
		grown := make([]byte, s.used)
		copy(grown, s.data)
		if off < uint64(len(s.init)) {
			copy(grown[off:], s.init[off:])
		}
		s.data = grown
	}
	off := addr - s.addr
	return s.data[off : off+n : off+n], nil
}

// MakeUp says that nobody gave the n bytes at addr: what is written there only fills a
// place. An *AccessError says that they are in no segment.
func (m *Memory) MakeUp(addr, n uint64) error {
	s, err := m.find(addr, n)
	if err == nil {
		s.made = append(s.made, [2]uint64{addr, addr + n})
	}
	return err
}

// MadeUp reports whether nobody gave any of the n bytes at addr.
func (m *Memory) MadeUp(addr, n uint64) bool {
	s, err := m.find(addr, n)
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
