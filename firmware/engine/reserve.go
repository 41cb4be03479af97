package engine

import (
	"slices"

	"anesim/hw/dma"
)

// Reserve allocates a buffer of size bytes that belongs to no program, and returns its device
// address. The name is only used in messages. Reserve returns a *[NoMemoryError] if memory is
// short.
func (s *Session) Reserve(name string, size uint64) (address uint64, err error) {
	if free := s.options.Memory - min(s.used, s.options.Memory); size > free {
		return 0, &NoMemoryError{name, size, free, s.options.Memory}
	}
	const lowest = uint64(pageSize) // address 0 means no buffer
	r := s.findFreeRange(addressRange{lowest, lowest + size})
	if end := s.options.AddressEnd; end > 0 && r.hi > end {
		return 0, &NoMemoryError{name, size, s.countFreeBelow(lowest, end), end - lowest}
	}
	if err := s.mem.Add(dma.Segment{Name: name, Addr: r.lo, Size: size}); err != nil {
		return 0, err
	}
	s.markRangeTaken(r)
	s.reserved = append(s.reserved, r)
	s.used += size
	return r.lo, nil
}

// Release frees the buffer that [Session.Reserve] allocated at address. It returns false if there
// is none. Ports that use the buffer return to their own buffers, and unfinished calls of their
// programs are aborted. A program that writes its statistics to the buffer must be given another
// one with [Loaded.Statistics] before its next call.
func (s *Session) Release(address uint64) bool {
	for _, r := range s.reserved {
		if r.lo == address {
			s.unbindPortsInRange(r)
			s.mem.Remove(address)
			s.markRangeFree(r)
			s.reserved = slices.DeleteFunc(s.reserved, func(x addressRange) bool { return x == r })
			s.used -= r.hi - r.lo
			return true
		}
	}
	return false
}

// Read returns a copy of the n bytes of device memory at address. It returns an error if they are
// not all in one segment.
func (s *Session) Read(address, n uint64) ([]byte, error) {
	b, err := s.mem.Bytes(address, n)
	return append([]byte(nil), b...), err
}
