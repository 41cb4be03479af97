package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/x448/float16"
)

const (
	magic        = "\x93NUMPY"
	dtype        = "<f2"
	elementBytes = 2
	alignment    = 64      // of the first element in the file
	maxHeader    = 1 << 16 // bytes; a shape of maxAxes axes takes less than 2 KiB
	maxAxes      = 64      // NumPy's own limit
)

// HasMagic reports whether data begins like a .npy file.
func HasMagic(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }

// An Array is a tensor of fp16 values in C order: the last axis varies fastest.
type Array struct {
	Shape []int // empty for a scalar
	Data  []float16.Float16
	// Numbers holds the exact elements of an integer type, since fp16 cannot represent all
	// of them. It is nil for other types.
	Numbers []float64
}

// A FormatError reports that a file is not a valid .npy file.
type FormatError struct {
	Off  int64  // byte offset in the file
	What string // what is wrong, and what was expected
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %#x: %s", e.Off, e.What) }

// A DTypeError reports a valid .npy file whose element type is not supported. The only type that
// [Read] supports is fp16, written as <f2.
type DTypeError struct {
	DType string // as written in the file, such as <f4 or a list of fields
}

func (e *DTypeError) Error() string {
	return fmt.Sprintf("unsupported dtype %q; want %q; convert it with array.astype('%[2]s')", e.DType, dtype)
}

func newFormatError(off int64, format string, args ...any) error {
	return &FormatError{off, fmt.Sprintf(format, args...)}
}

// Read reads an array of fp16 values from a .npy file of exactly size bytes. The error is a
// *[FormatError], a *[DTypeError] or any error from r.
func Read(r io.ReaderAt, size int64) (Array, error) { return readArrayAs(r, size, halfTypes) }

func readArrayAs(r io.ReaderAt, size int64, types map[string]element) (Array, error) {
	text, off, err := readHeader(r, size)
	if err != nil {
		return Array{}, err
	}
	p := parser{text: text, off: off}
	h, err := p.parseHeader()
	if err != nil {
		return Array{}, err
	}
	e, ok := types[h.descr]
	if !ok {
		return Array{}, &DTypeError{h.descr}
	}
	off += int64(len(text))
	n, err := countElements(h.shape)
	if err != nil {
		return Array{}, newFormatError(h.shapeOff, "%v", err)
	}
	// The sizes are compared before anything is allocated: a header of a hundred bytes can ask for
	// terabytes.
	switch got, want := size-off, int64(e.bytes)*int64(n); {
	case got < want:
		return Array{}, newFormatError(off, "data has %d bytes; want %d for shape %v", got, want, h.shape)
	case got > want:
		return Array{}, newFormatError(off+want, "%d extra bytes after the data for shape %v", got-want, h.shape)
	}
	a := Array{Shape: h.shape, Data: make([]float16.Float16, n)}
	if e.number != nil {
		a.Numbers = make([]float64, n)
	}
	if err := readData(io.NewSectionReader(r, off, size-off), &a, e); err != nil {
		return Array{}, err
	}
	if h.fortran {
		a.Data = reorderFromFortran(a.Shape, a.Data)
		if a.Numbers != nil {
			a.Numbers = reorderFromFortran(a.Shape, a.Numbers)
		}
	}
	return a, nil
}

// readHeader returns the text of the header and its byte offset.
func readHeader(r io.ReaderAt, size int64) (text []byte, off int64, err error) {
	const short, long = 10, 12
	var b [long]byte
	if size < short {
		return nil, 0, newFormatError(0, "file has %d bytes; want at least %d for a .npy file", size, short)
	}
	if err := readFullAt(r, b[:short], 0); err != nil {
		return nil, 0, err
	}
	if string(b[:6]) != magic {
		return nil, 0, newFormatError(0, "invalid magic string %q; want %q", b[:6], magic)
	}
	off = short
	n := int64(binary.LittleEndian.Uint16(b[8:]))
	switch major, minor := b[6], b[7]; {
	case minor != 0 || major < 1 || major > 3:
		return nil, 0, newFormatError(6, "unsupported version %d.%d; want 1.0, 2.0 or 3.0", major, minor)
	// Version 1.0 has 2 bytes for the header's length; 2.0 and 3.0 have 4, and 3.0 differs from 2.0
	// only in the encoding of field names.
	case major > 1:
		if off = long; size < long {
			return nil, 0, newFormatError(8, "unexpected end of file in the header length")
		}
		if err := readFullAt(r, b[short:], short); err != nil {
			return nil, 0, err
		}
		n = int64(binary.LittleEndian.Uint32(b[8:]))
	}
	if n > min(size-off, maxHeader) {
		return nil, 0, newFormatError(8, "header is %d bytes long; want at most %d", n, min(size-off, maxHeader))
	}
	text = make([]byte, n)
	return text, off, readFullAt(r, text, off)
}

// readFullAt fills b with the bytes of r at offset off. It returns io.ErrUnexpectedEOF if the file
// ends early.
func readFullAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

const chunk = 32 << 10 // bytes

func readData(r io.Reader, a *Array, e element) error {
	var b [chunk]byte
	numbers := a.Numbers
	for dst := a.Data; len(dst) > 0; {
		n := min(len(dst), chunk/e.bytes)
		if _, err := io.ReadFull(r, b[:e.bytes*n]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		for i := range n {
			dst[i] = e.read(b[e.bytes*i:])
		}
		if e.number != nil {
			for i := range n {
				numbers[i] = e.number(b[e.bytes*i:])
			}
			numbers = numbers[n:]
		}
		dst = dst[n:]
	}
	return nil
}

// countElements returns the number of elements of a shape. It returns an error if an extent is
// negative or the elements cannot fit in memory.
func countElements(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d == 0 {
			return 0, nil
		}
	}
	for _, d := range shape {
		if n > math.MaxInt/widest/d {
			return 0, fmt.Errorf("array of shape %v does not fit in memory", shape)
		}
		n *= d
	}
	return n, nil
}

// reorderFromFortran returns the elements of src in C order. In src they are in Fortran order, in
// which the first axis varies fastest.
func reorderFromFortran[T any](shape []int, src []T) []T {
	dst := make([]T, len(src))
	at := make([]int, len(shape))
	for i := range dst {
		from, stride := 0, 1
		for axis, d := range shape {
			from += at[axis] * stride
			stride *= d
		}
		dst[i] = src[from]
		for axis := len(at) - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < shape[axis] {
				break
			}
			at[axis] = 0
		}
	}
	return dst
}

// Write writes data as a .npy file in C order. It returns an error unless len(data) is the number
// of elements of the given shape.
func Write(w io.Writer, shape []int, data []float16.Float16) error {
	return writeArrayAs(w, dtype, halfTypes[dtype], shape, data)
}

func writeArrayAs(w io.Writer, descr string, e element, shape []int, data []float16.Float16) error {
	n, err := countElements(shape)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	if len(shape) > maxAxes {
		return fmt.Errorf("npy: shape has %d dimensions; want at most %d", len(shape), maxAxes)
	}
	if n != len(data) {
		return fmt.Errorf("npy: data has %d elements; want %d for shape %v", len(data), n, shape)
	}
	if _, err := w.Write(appendHeader(nil, descr, shape)); err != nil {
		return err
	}
	b := make([]byte, 0, min(chunk, e.bytes*n))
	for len(data) > 0 {
		b = b[:0]
		part := data[:min(len(data), chunk/e.bytes)]
		for _, v := range part {
			b = e.append(b, v)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		data = data[len(part):]
	}
	return nil
}
