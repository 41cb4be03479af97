package coreml

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"anesim/internal/network/mil"
)

// Constants of the weights file format.
const (
	align    = 64
	sentinel = 0xdeadbeef
	version  = 2
)

// blobTypes maps the numbers of blob element types to their names.
var blobTypes = map[uint32]mil.Elem{
	1: "fp16", 2: "fp32", 3: "uint8", 4: "int8", 5: "bf16", 6: "int16", 7: "uint16", 8: "int4", 9: "uint1", 10: "uint2",
	11: "uint4", 12: "uint3", 13: "uint6", 14: "int32", 15: "uint32",
}

// A WeightsError reports that a weights file is malformed, or that the blob at byte offset Off does
// not have the expected type and size. What describes the problem.
type WeightsError struct {
	Off  uint64
	What string
}

func (e *WeightsError) Error() string { return fmt.Sprintf("weights at %#x: %s", e.Off, e.What) }

// A Weights is the content of a weights file, which stores the large constants of a program as
// blobs.
type Weights []byte

// Values returns the elements of a blob, which must be n elements of type elem. off is the byte
// offset of the blob's record. Elements of fewer than 8 bits are expanded to a byte each. Wider
// elements are little-endian and share memory with w. Values returns a *[WeightsError] if there is
// no valid record at off, or if the record has a different element type or size.
func (w Weights) Values(off uint64, elem mil.Elem, n int) ([]byte, error) {
	fail := func(format string, v ...any) ([]byte, error) {
		return nil, &WeightsError{off, fmt.Sprintf(format, v...)}
	}
	le, size := binary.LittleEndian, uint64(len(w))
	switch {
	case size < align || le.Uint32(w[4:]) != version:
		return fail("not a version %d weights file", version)
	case off%align != 0 || off < align || off > size-align:
		return fail("invalid record offset; want a multiple of %d from %[1]d to %d", align, size-align)
	}
	// The record repeats type and size of the program. Each is compared, since a wrong offset may well hit
	// another record.
	r := w[off : off+align]
	if le.Uint32(r) != sentinel {
		return fail("record starts with %#x; want %#x", le.Uint32(r), uint32(sentinel))
	}
	kind, bytes, data := le.Uint32(r[4:]), le.Uint64(r[8:]), le.Uint64(r[16:])
	bits := elem.Bits()
	switch {
	case data%align != 0:
		return fail("values start at %#x; want a multiple of %d", data, align)
	case data > size || bytes > size-data:
		return fail("%d bytes at %#x exceed the file size of %d bytes", bytes, data, size)
	case blobTypes[kind] != elem:
		return fail("element type is %d (%s); want %s", kind, cmp.Or(blobTypes[kind], "unknown"), elem)
	// The bound keeps the product below from overflowing; no element has less than a bit.
	case n < 0 || uint64(n) > 8*size || bytes != (uint64(n)*uint64(bits)+7)/8:
		return fail("blob of %d bytes does not match %d elements of type %s", bytes, n, elem)
	}
	values := w[data : data+bytes]
	if bits < 8 {
		return mil.Unpack(values, bits, n), nil
	}
	return values, nil
}
