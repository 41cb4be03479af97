package e5

import (
	"encoding/binary"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// A FormatError is a file that is no dispatch descriptor, or a broken one.
type FormatError struct {
	Off  int // byte offset in the file
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %#x: %s", e.Off, e.What) }

// The runtime reads where offsets lead and panics where they lead out of the file. A
// buffer checks every offset before it is followed; what it hands to the runtime is inside.
type buffer struct {
	b    []byte
	base int // of the buffer in the file, for messages
	cost int // bytes handed out so far: shared parts must not multiply
}

func (b *buffer) fail(at int, format string, args ...any) error {
	return &FormatError{b.base + at, fmt.Sprintf(format, args...)}
}

// most bounds what a file may refer to in all, in multiples of its size: parts may be
// shared, which a writer does with strings.
const most = 16

func (b *buffer) spend(at, n int) error {
	if b.cost += n; b.cost > most*len(b.b) {
		return b.fail(at, "parts of the buffer are referred to more than %d times its size", most)
	}
	return nil
}

// room checks that n bytes stand at an offset.
func (b *buffer) room(at, n int, what string) error {
	if at < 0 || n < 0 || at > len(b.b) || n > len(b.b)-at {
		return b.fail(max(0, min(at, len(b.b))), "%s of %d bytes leaves the buffer of %d", what, n, len(b.b))
	}
	return nil
}

// follow is where the offset at a place leads.
func (b *buffer) follow(at int, what string) (int, error) {
	if err := b.room(at, flatbuffers.SizeUOffsetT, what); err != nil {
		return 0, err
	}
	n := uint64(flatbuffers.GetUOffsetT(b.b[at:]))
	if n == 0 || n > uint64(len(b.b)-at) {
		return 0, b.fail(at, "offset of %s leaves the buffer of %d bytes", what, len(b.b))
	}
	return at + int(n), nil
}

// A table is a checked table: its virtual table and its fields are inside the buffer.
type table struct {
	*buffer
	flatbuffers.Table
}

// table checks the table at a place.
func (b *buffer) table(at int, what string) (t table, err error) {
	if err := b.room(at, flatbuffers.SizeSOffsetT, what); err != nil {
		return t, err
	}
	v := int64(at) - int64(flatbuffers.GetSOffsetT(b.b[at:]))
	if v < 0 || v > int64(len(b.b)-4) || v%2 != 0 {
		return t, b.fail(at, "virtual table of %s leaves the buffer", what)
	}
	vtable := int(v)
	size, inline := int(binary.LittleEndian.Uint16(b.b[vtable:])), int(binary.LittleEndian.Uint16(b.b[vtable+2:]))
	if size < 4 || size%2 != 0 || inline < 4 {
		return t, b.fail(vtable, "virtual table of %s has %d bytes for a table of %d", what, size, inline)
	}
	if err := b.room(vtable, size, "virtual table of "+what); err != nil {
		return t, err
	}
	if err := b.room(at, inline, what); err != nil {
		return t, err
	}
	for f := 4; f < size; f += 2 {
		if o := int(binary.LittleEndian.Uint16(b.b[vtable+f:])); o != 0 && (o < 4 || o > inline) {
			return t, b.fail(vtable+f, "field of %s stands outside its %d bytes", what, inline)
		}
	}
	if err := b.spend(at, inline); err != nil {
		return t, err
	}
	return table{b, flatbuffers.Table{Bytes: b.b, Pos: flatbuffers.UOffsetT(at)}}, nil
}

// field is where a field stands, 0 when it is absent.
func (t table) field(slot, size int, what string) (int, error) {
	o := int(t.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
	if o == 0 {
		return 0, nil
	}
	at := int(t.Pos) + o
	return at, t.room(at, size, what)
}

func (t table) uint32(slot int, what string) (uint32, error) {
	at, err := t.field(slot, 4, what)
	if at == 0 || err != nil {
		return 0, err
	}
	return flatbuffers.GetUint32(t.b[at:]), nil
}

func (t table) uint64(slot int, what string) (uint64, error) {
	at, err := t.field(slot, 8, what)
	if at == 0 || err != nil {
		return 0, err
	}
	return flatbuffers.GetUint64(t.b[at:]), nil
}

// sub is a field that is a table; ok is false when it is absent.
func (t table) sub(slot int, what string) (s table, ok bool, err error) {
	at, err := t.field(slot, 4, what)
	if at == 0 || err != nil {
		return s, false, err
	}
	to, err := t.follow(at, what)
	if err != nil {
		return s, false, err
	}
	s, err = t.table(to, what)
	return s, err == nil, err
}

// vector is a field's elements: their place and number.
func (t table) vector(slot, size int, what string) (at, n int, err error) {
	at, err = t.field(slot, 4, what)
	if at == 0 || err != nil {
		return 0, 0, err
	}
	if at, err = t.follow(at, what); err != nil {
		return 0, 0, err
	}
	return t.elements(at, size, what)
}

func (b *buffer) elements(at, size int, what string) (int, int, error) {
	if err := b.room(at, 4, what); err != nil {
		return 0, 0, err
	}
	n := uint64(flatbuffers.GetUint32(b.b[at:]))
	if n > uint64(len(b.b)) {
		return 0, 0, b.fail(at, "%s has %d elements, more than the buffer has bytes", what, n)
	}
	if err := b.room(at+4, int(n)*size, what); err != nil {
		return 0, 0, err
	}
	return at + 4, int(n), b.spend(at, 4+int(n)*size)
}

func (t table) bytes(slot int, what string) ([]byte, int, error) {
	at, n, err := t.vector(slot, 1, what)
	if err != nil || n == 0 {
		return nil, 0, err
	}
	return t.b[at : at+n : at+n], at, nil
}

func (t table) text(slot int, what string) (string, error) {
	b, _, err := t.bytes(slot, what)
	return string(b), err
}

func (t table) uint32s(slot int, what string) ([]uint32, error) {
	at, n, err := t.vector(slot, 4, what)
	if err != nil {
		return nil, err
	}
	var out []uint32
	for i := range n {
		out = append(out, flatbuffers.GetUint32(t.b[at+4*i:]))
	}
	return out, nil
}

func (t table) uint64s(slot int, what string) ([]uint64, error) {
	at, n, err := t.vector(slot, 8, what)
	if err != nil {
		return nil, err
	}
	var out []uint64
	for i := range n {
		out = append(out, flatbuffers.GetUint64(t.b[at+8*i:]))
	}
	return out, nil
}

// tables visits the elements of a field that are tables.
func (t table) tables(slot int, what string, visit func(table) error) error {
	at, n, err := t.vector(slot, 4, what)
	if err != nil {
		return err
	}
	for i := range n {
		to, err := t.follow(at+4*i, what)
		if err != nil {
			return err
		}
		s, err := t.table(to, what)
		if err != nil {
			return err
		}
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

// root is the table a buffer begins with.
func root(b []byte, base int, what string) (table, error) {
	buf := &buffer{b: b, base: base}
	at, err := buf.follow(0, what)
	if err != nil {
		return table{}, err
	}
	return buf.table(at, what)
}
