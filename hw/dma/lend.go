package dma

import (
	"encoding/binary"
	"unsafe"

	"github.com/x448/float16"
)

// Values of large tensors stand once where the host and the device can share them: the
// device's memory is little-endian bytes, which on most hosts is what a slice of fp16 values
// is. This is the one place that makes either of the other.

// native reports whether the host's words are little-endian.
var native = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// CheckWrite is Check for an access that writes.
func (m *Memory) CheckWrite(addr, n uint64) error {
	s, err := m.find(addr, n)
	if err == nil {
		s.written = true
	}
	return err
}

// Lend makes data the bytes of the segment that starts at addr, without a copy. It reports
// whether it did: not of a segment that has bytes already, that an access that was checked
// writes or goes beyond data in, nor on a host that is not little-endian. Who lends must not
// change data before the memory is done with.
func (m *Memory) Lend(addr uint64, data []float16.Float16) bool {
	n := 2 * uint64(len(data))
	s, err := m.find(addr, n)
	if err != nil || n == 0 || !native || s.addr != addr || s.data != nil || len(s.init) > 0 || s.written || s.used > n {
		return false
	}
	s.data, s.lent = unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), n), true
	return true
}

// Halves is n fp16 values at addr as they stand in memory: writing to either writes the other.
// Like Bytes it is good until its segment grows, and like Lend it may not be possible; nor is it
// where the values are less than half of a segment, all of which they would keep, or somebody
// else's, who lent them.
func (m *Memory) Halves(addr, n uint64) (data []float16.Float16, ok bool) {
	b, err := m.Bytes(addr, 2*n)
	if err != nil || n == 0 || !native || uintptr(unsafe.Pointer(&b[0]))%2 != 0 {
		return nil, false
	}
	if s, err := m.find(addr, 2*n); err != nil || s.lent || uint64(len(s.data)) > 4*n {
		return nil, false
	}
	return unsafe.Slice((*float16.Float16)(unsafe.Pointer(&b[0])), n), true
}
