package onnx

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// A FormatError is a file that is no ONNX model.
type FormatError struct {
	Off  int64 // byte of the file
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %#x: %s", e.Off, e.What) }

// A field is one field of a message: a number (varint, fixed) or bytes.
type field struct {
	num  protowire.Number
	wire protowire.Type
	off  int // of its tag in the file
	n    uint64
	body message
}

// A message is a run of fields and where it stands in the file.
type message struct {
	data []byte
	off  int
}

func (m message) errorf(at int, format string, args ...any) error {
	return &FormatError{int64(at), fmt.Sprintf(format, args...)}
}

// fields calls visit on every field.
func (m message) fields(visit func(f field) error) error {
	for at := 0; at < len(m.data); {
		num, wire, n := protowire.ConsumeTag(m.data[at:])
		if n < 0 {
			return m.errorf(m.off+at, "field tag: %v", protowire.ParseError(n))
		}
		f := field{num: num, wire: wire, off: m.off + at}
		at += n
		rest := m.data[at:]
		switch wire {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(rest)
			f.n = uint64(v)
		case protowire.Fixed64Type:
			f.n, n = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			f.body.data, n = protowire.ConsumeBytes(rest)
			f.body.off = m.off + at + n - len(f.body.data)
		default:
			n = protowire.ConsumeFieldValue(num, wire, rest)
		}
		if n < 0 {
			return m.errorf(f.off, "field %d: %v", num, protowire.ParseError(n))
		}
		at += n
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// want checks a field's wire type.
func (f *field) want(wire protowire.Type) error {
	if f.wire != wire {
		return &FormatError{int64(f.off), fmt.Sprintf("field %d has wire type %d, want %d", f.num, f.wire, wire)}
	}
	return nil
}

// text stores a string field.
func (f *field) text(s *string) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	*s = string(f.body.data)
	return nil
}

// integer stores a varint field.
func (f *field) integer(n *int64) error {
	if err := f.want(protowire.VarintType); err != nil {
		return err
	}
	*n = int64(f.n)
	return nil
}

// integers appends a repeated varint field, packed or not.
func (f *field) integers(list *[]int64) error {
	if f.wire == protowire.VarintType {
		*list = append(*list, int64(f.n))
		return nil
	}
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	if len(f.body.data) > maxIntegers {
		return &FormatError{int64(f.off), fmt.Sprintf("field %d is a list of %d bytes of integers", f.num, len(f.body.data))}
	}
	for at := 0; at < len(f.body.data); {
		v, n := protowire.ConsumeVarint(f.body.data[at:])
		if n < 0 {
			return &FormatError{int64(f.body.off + at), fmt.Sprintf("packed field %d: %v", f.num, protowire.ParseError(n))}
		}
		*list = append(*list, int64(v))
		at += n
	}
	return nil
}

// fixed appends the bytes of a repeated fixed-width field, packed or not.
func (f *field) fixed(width int, b *[]byte) error {
	switch {
	case f.wire == protowire.BytesType && len(f.body.data)%width == 0:
		*b = append(*b, f.body.data...)
	case f.wire == protowire.Fixed32Type && width == 4:
		*b = protowire.AppendFixed32(*b, uint32(f.n))
	case f.wire == protowire.Fixed64Type && width == 8:
		*b = protowire.AppendFixed64(*b, f.n)
	default:
		return &FormatError{int64(f.off), fmt.Sprintf("field %d is no list of %d-byte values", f.num, width)}
	}
	return nil
}
