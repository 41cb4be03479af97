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

	written bool // an access that was checked writes
	lent    bool // data is somebody else's
}

// NewMemory lays out the segments. A segment takes memory once something touches it, and
// then only up to the furthest access checked: a declared gigabyte costs nothing.
// Overlapping segments are an error.
func NewMemory(list []Segment) (*Memory, error) {
	m := new(Memory)
	for _, s := range list {
		if err := m.Add(s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Add lays out one more segment.
func (m *Memory) Add(s Segment) error {
	if s.Size == 0 {
		return nil
	}
	if uint64(len(s.Data)) > s.Size {
		return fmt.Errorf("segment %s: %d bytes of data in %d", s.Name, len(s.Data), s.Size)
	}
	i := m.first(s.Addr)
	if s.Addr+s.Size < s.Addr {
		return fmt.Errorf("segment %s at address %#x ends behind the last", s.Name, s.Addr)
	}
	if i < len(m.segments) && m.segments[i].addr < s.Addr+s.Size {
		b := &m.segments[i]
		return fmt.Errorf("segments %s and %s overlap at address %#x", b.name, s.Name, max(s.Addr, b.addr))
	}
	m.segments = slices.Insert(m.segments, i, segment{name: s.Name, addr: s.Addr, size: s.Size, init: s.Data})
	return nil
}

// Remove takes the segment that starts at an address away, with what stands in it. It
// reports whether there was one.
func (m *Memory) Remove(addr uint64) bool {
	i := m.first(addr)
	if i == len(m.segments) || m.segments[i].addr != addr {
		return false
	}
	m.segments = slices.Delete(m.segments, i, i+1)
	return true
}

// first is the first segment that ends behind an address.
func (m *Memory) first(addr uint64) int {
	return sort.Search(len(m.segments), func(i int) bool { return m.segments[i].addr+m.segments[i].size > addr })
}

// find is the segment that holds all of the n bytes at addr.
func (m *Memory) find(addr, n uint64) (*segment, error) {
	i := m.first(addr)
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
		s.data, s.lent = grown, false
	}
	off := addr - s.addr
	return s.data[off : off+n : off+n], nil
}

// Peek is Bytes for what is only read: the segment's initial bytes as they stand, where
// nothing has touched it yet.
func (m *Memory) Peek(addr, n uint64) ([]byte, error) {
	s, err := m.find(addr, n)
	if err != nil {
		return nil, err
	}
	if off := addr - s.addr; s.data == nil && off+n <= uint64(len(s.init)) {
		return s.init[off : off+n : off+n], nil
	}
	return m.Bytes(addr, n)
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

// Give says that somebody gave the n bytes at addr after all.
func (m *Memory) Give(addr, n uint64) error {
	s, err := m.find(addr, n)
	if err == nil {
		s.made = slices.DeleteFunc(s.made, func(r [2]uint64) bool { return addr <= r[0] && r[1] <= addr+n })
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
