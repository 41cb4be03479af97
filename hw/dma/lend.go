package dma

import (
	"encoding/binary"
	"unsafe"

	"github.com/x448/float16"
)

// The host and the device share the values of large tensors where they can. Device memory holds
// little-endian bytes, and on most hosts a slice of fp16 values has the same representation. Lend
// and Halves are the only conversions between the two.

// native is true on a little-endian host, where fp16 values in memory have the byte order of the
// device.
var native = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// CheckWrite checks the n bytes at addr as [Memory.Check] does, and records that they will be
// written. [Memory.Lend] does not accept their segment afterwards.
func (m *Memory) CheckWrite(addr, n uint64) error {
	s, err := m.findSegment(addr, n)
	if err == nil {
		s.written = true
	}
	return err
}

// Lend makes data the contents of the segment that starts at addr, without copying, and reports
// whether it could. It returns false if the segment already has contents, if an access that was
// checked before writes to the segment or extends past data, or if the host is big-endian. The
// caller must not change data while the memory is in use.
func (m *Memory) Lend(addr uint64, data []float16.Float16) bool {
	n := 2 * uint64(len(data))
	s, err := m.findSegment(addr, n)
	if err != nil || n == 0 || !native || s.addr != addr || s.data != nil || len(s.init) > 0 || s.written || s.used > n {
		return false
	}
	s.data, s.lent = unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), n), true
	return true
}

// Halves returns the n fp16 values at addr as a slice that shares memory with the segment. The
// slice is valid until the segment grows. Halves returns false if the bytes are not inside one
// segment, if the host is big-endian, or if the segment's contents were lent. It also returns false
// if the values are less than half of the segment, because the slice would keep the whole segment
// alive.
func (m *Memory) Halves(addr, n uint64) (data []float16.Float16, ok bool) {
	b, err := m.Bytes(addr, 2*n)
	if err != nil || n == 0 || !native || uintptr(unsafe.Pointer(&b[0]))%2 != 0 {
		return nil, false
	}
	if s, err := m.findSegment(addr, 2*n); err != nil || s.lent || uint64(len(s.data)) > 4*n {
		return nil, false
	}
	return unsafe.Slice((*float16.Float16)(unsafe.Pointer(&b[0])), n), true
}
