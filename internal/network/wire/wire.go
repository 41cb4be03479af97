package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// A FormatError reports that bytes are not a well-formed protocol-buffer message, or are not the
// expected kind of message.
type FormatError struct {
	Off  int64 // byte offset in the file
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %#x: %s", e.Off, e.What) }

// maxIntegers is the largest packed list, in bytes, that [Field.Integers] accepts.
const maxIntegers = 1 << 20

// A Field is one field of a message. N is its value if the field is a number. Body is its value if
// the field is a string, a list of bytes or a nested message.
type Field struct {
	Num  protowire.Number
	Wire protowire.Type
	Off  int // offset of the tag in the file
	N    uint64
	Body Message
}

// A Message is an encoded protocol-buffer message. Off is its byte offset in the file, for use in
// errors.
type Message struct {
	Data []byte
	Off  int
}

func (m Message) errorf(at int, format string, args ...any) error {
	return &FormatError{int64(at), fmt.Sprintf(format, args...)}
}

// Fields calls visit for every field of m in order. It returns the first error of visit, without
// visiting the remaining fields, or a *[FormatError] if m is malformed.
func (m Message) Fields(visit func(f Field) error) error {
	for at := 0; at < len(m.Data); {
		num, wire, n := protowire.ConsumeTag(m.Data[at:])
		if n < 0 {
			return m.errorf(m.Off+at, "cannot decode field tag: %v", Reason(n))
		}
		f := Field{Num: num, Wire: wire, Off: m.Off + at}
		at += n
		rest := m.Data[at:]
		switch wire {
		case protowire.VarintType:
			f.N, n = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(rest)
			f.N = uint64(v)
		case protowire.Fixed64Type:
			f.N, n = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			f.Body.Data, n = protowire.ConsumeBytes(rest)
			// n counts the length prefix too.
			f.Body.Off = m.Off + at + n - len(f.Body.Data)
		default:
			// Groups, which are deprecated but valid, are skipped as a whole.
			n = protowire.ConsumeFieldValue(num, wire, rest)
		}
		if n < 0 {
			return m.errorf(f.Off, "cannot decode field %d: %v", num, Reason(n))
		}
		at += n
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// FieldsOfFile is like Fields for m, the whole content of a file that should be of the given kind, such
// as "an ONNX model". It tells a file that was cut off, for instance by a download, from one that is
// something else.
func (m Message) FieldsOfFile(kind string, visit func(f Field) error) error {
	var visited error
	err := m.Fields(func(f Field) error {
		visited = visit(f)
		return visited
	})
	bad, malformed := err.(*FormatError)
	if !malformed || visited != nil {
		return err
	}
	if isText(m.Data) {
		return m.errorf(m.Off, "not %s: the file is text", kind)
	}
	// Both kinds of files begin with their version, field 1, which is a number. Without it, the length
	// that reaches beyond the end is more likely not a length.
	const version = 1<<3 | byte(protowire.VarintType)
	if at := int(bad.Off) - m.Off; at > 0 && m.Data[0] == version {
		if num, wire, n := protowire.ConsumeTag(m.Data[at:]); n > 0 && wire == protowire.BytesType {
			if length, k := protowire.ConsumeVarint(m.Data[at+n:]); k > 0 && length > uint64(len(m.Data)-at-n-k) {
				return m.errorf(m.Off+at, "the file is cut off: field %d has %d bytes, and %d of them are there", num, length, len(m.Data)-at-n-k)
			}
		}
	}
	return m.errorf(int(bad.Off), "not %s: %s", kind, bad.What)
}

// isText reports whether data begins with text: characters of UTF-8 without control codes other than
// those of lines and tabs.
func isText(data []byte) bool {
	head := data[:min(len(data), 512)]
	for at := 0; at < len(head); {
		c, n := utf8.DecodeRune(head[at:])
		switch {
		case c == utf8.RuneError && n == 1:
			return at > 0 && !utf8.FullRune(head[at:]) && len(head) < len(data) // cut by the bound on head
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c == 0x7f:
			return false
		}
		at += n
	}
	return len(head) > 0
}

// Want returns a *[FormatError] if the wire type of f is not wire.
func (f *Field) Want(wire protowire.Type) error {
	if f.Wire != wire {
		return &FormatError{int64(f.Off), fmt.Sprintf("field %d has wire type %d; want %d", f.Num, f.Wire, wire)}
	}
	return nil
}

// Text stores the value of f, a string field, in *s. It returns an error if f has a different wire
// type.
func (f *Field) Text(s *string) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	*s = string(f.Body.Data)
	return nil
}

// Integer stores the value of f, an integer field, in *n. It returns an error if f has a different
// wire type.
func (f *Field) Integer(n *int64) error {
	if err := f.Want(protowire.VarintType); err != nil {
		return err
	}
	*n = int64(f.N)
	return nil
}

// Integers appends the values of f, a repeated integer field, to *list. The field may hold one
// value or a packed list of them. Integers returns an error if the list is malformed or has more
// than maxIntegers bytes.
func (f *Field) Integers(list *[]int64) error {
	if f.Wire == protowire.VarintType {
		*list = append(*list, int64(f.N))
		return nil
	}
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	if len(f.Body.Data) > maxIntegers {
		return &FormatError{int64(f.Off), fmt.Sprintf("packed field %d has %d bytes; want at most %d", f.Num, len(f.Body.Data), maxIntegers)}
	}
	for at := 0; at < len(f.Body.Data); {
		v, n := protowire.ConsumeVarint(f.Body.Data[at:])
		if n < 0 {
			return &FormatError{int64(f.Body.Off + at), fmt.Sprintf("cannot decode packed field %d: %v", f.Num, Reason(n))}
		}
		*list = append(*list, int64(v))
		at += n
	}
	return nil
}

// Fixed appends the numbers in f, a repeated field, to *b as little-endian bytes. Each number has
// width bytes, which must be 4 or 8. The field may hold one number or a packed list of numbers.
// Fixed returns an error for any other field.
func (f *Field) Fixed(width int, b *[]byte) error {
	switch {
	case f.Wire == protowire.BytesType && len(f.Body.Data)%width == 0:
		*b = append(*b, f.Body.Data...)
	case f.Wire == protowire.Fixed32Type && width == 4:
		*b = protowire.AppendFixed32(*b, uint32(f.N))
	case f.Wire == protowire.Fixed64Type && width == 8:
		*b = protowire.AppendFixed64(*b, f.N)
	default:
		return &FormatError{int64(f.Off), fmt.Sprintf("field %d is not a list of %d-byte values", f.Num, width)}
	}
	return nil
}

// Reason returns the message for n, a negative length by which package protowire reports a parse
// error. Unlike the text of protowire's own error, the message is the same in all builds.
func Reason(n int) string {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return "its value ends after the bytes that hold it"
	}
	text := protowire.ParseError(n).Error()
	if _, why, ok := strings.Cut(text, ":"); ok {
		return strings.TrimSpace(why)
	}
	return text
}
