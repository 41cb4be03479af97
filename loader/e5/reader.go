package e5

import (
	"encoding/binary"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// A FormatError reports an invalid dispatch descriptor, with the byte offset of the mistake.
type FormatError struct {
	Off  int // byte offset in the file
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %#x: %s", e.Off, e.What) }

// A buffer is a FlatBuffer whose offsets are checked before use, because the FlatBuffers
// package panics if an offset is invalid.
type buffer struct {
	b    []byte
	base int // offset of the buffer in the file, for messages
	cost int // bytes returned so far, to limit repeated use of shared parts
}

func (b *buffer) newFormatError(at int, format string, args ...any) error {
	return &FormatError{b.base + at, fmt.Sprintf(format, args...)}
}

// maxSharing limits the number of bytes that the parts of a file may have together, as a
// multiple of its size. The sum may exceed the size, because parts may share bytes.
const maxSharing = 16

func (b *buffer) limitSharedBytes(at, n int) error {
	if b.cost += n; b.cost > maxSharing*len(b.b) {
		return b.newFormatError(at, "referenced parts total more than %d times the buffer size", maxSharing)
	}
	return nil
}

// checkRange returns an error unless the n bytes at offset at are inside the buffer.
func (b *buffer) checkRange(at, n int, name string) error {
	if at < 0 || n < 0 || at > len(b.b) || n > len(b.b)-at {
		return b.newFormatError(max(0, min(at, len(b.b))), "%s of %d bytes extends past the end of the buffer (%d bytes)", name, n, len(b.b))
	}
	return nil
}

// followOffset reads the offset at position at of the buffer and returns the position that it
// refers to. It returns a *FormatError if that is outside the buffer.
func (b *buffer) followOffset(at int, name string) (int, error) {
	if err := b.checkRange(at, flatbuffers.SizeUOffsetT, name); err != nil {
		return 0, err
	}
	n := uint64(flatbuffers.GetUOffsetT(b.b[at:]))
	if n == 0 || n > uint64(len(b.b)-at) {
		return 0, b.newFormatError(at, "offset %d of %s is out of range; want 1 to %d", n, name, len(b.b)-at)
	}
	return at + int(n), nil
}

// A table is a FlatBuffers table whose fields are known to be inside the buffer.
type table struct {
	*buffer
	flatbuffers.Table
}

// readTable returns the table at position at of the buffer. It returns a *FormatError, which
// contains the given name of the table, if a field is outside the buffer.
func (b *buffer) readTable(at int, name string) (t table, err error) {
	if err := b.checkRange(at, flatbuffers.SizeSOffsetT, name); err != nil {
		return t, err
	}
	v := int64(at) - int64(flatbuffers.GetSOffsetT(b.b[at:]))
	if v < 0 || v > int64(len(b.b)-4) || v%2 != 0 {
		return t, b.newFormatError(at, "virtual table of %s is misaligned or outside the buffer", name)
	}
	vtable := int(v)
	size, inline := int(binary.LittleEndian.Uint16(b.b[vtable:])), int(binary.LittleEndian.Uint16(b.b[vtable+2:]))
	if size < 4 || size%2 != 0 {
		return t, b.newFormatError(vtable, "virtual table of %s has %d bytes; want an even number, at least 4", name, size)
	}
	if inline < 4 {
		return t, b.newFormatError(vtable, "table of %s has %d bytes; want at least 4", name, inline)
	}
	if err := b.checkRange(vtable, size, "virtual table of "+name); err != nil {
		return t, err
	}
	if err := b.checkRange(at, inline, name); err != nil {
		return t, err
	}
	// A field that nobody reads is checked too, so that a damaged table is refused as a whole.
	for f := 4; f < size; f += 2 {
		if o := int(binary.LittleEndian.Uint16(b.b[vtable+f:])); o != 0 && (o < 4 || o > inline) {
			return t, b.newFormatError(vtable+f, "field offset %d of %s is out of range; want 4 to %d", o, name, inline)
		}
	}
	// Tables may share bytes, so a small file can describe a very large tree.
	if err := b.limitSharedBytes(at, inline); err != nil {
		return t, err
	}
	return table{b, flatbuffers.Table{Bytes: b.b, Pos: flatbuffers.UOffsetT(at)}}, nil
}

// fieldOffset returns the position in the buffer of the field in the given slot, which has size
// bytes, or 0 if the table does not have the field.
func (t table) fieldOffset(slot, size int, name string) (int, error) {
	o := int(t.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
	if o == 0 {
		return 0, nil
	}
	at := int(t.Pos) + o
	return at, t.checkRange(at, size, name)
}

func (t table) readUint32(slot int, name string) (uint32, error) {
	at, err := t.fieldOffset(slot, 4, name)
	if at == 0 || err != nil {
		return 0, err
	}
	return flatbuffers.GetUint32(t.b[at:]), nil
}

func (t table) readUint64(slot int, name string) (uint64, error) {
	at, err := t.fieldOffset(slot, 8, name)
	if at == 0 || err != nil {
		return 0, err
	}
	return flatbuffers.GetUint64(t.b[at:]), nil
}

// readSubtable returns the table in the given slot. It returns false if the field is
// absent.
func (t table) readSubtable(slot int, name string) (s table, ok bool, err error) {
	at, err := t.fieldOffset(slot, 4, name)
	if at == 0 || err != nil {
		return s, false, err
	}
	to, err := t.followOffset(at, name)
	if err != nil {
		return s, false, err
	}
	s, err = t.readTable(to, name)
	return s, err == nil, err
}

// locateVector returns the position and the number of the elements in the given slot, or
// zeros if the field is absent.
func (t table) locateVector(slot, size int, name string) (at, n int, err error) {
	at, err = t.fieldOffset(slot, 4, name)
	if at == 0 || err != nil {
		return 0, 0, err
	}
	if at, err = t.followOffset(at, name); err != nil {
		return 0, 0, err
	}
	return t.locateElements(at, size, name)
}

func (b *buffer) locateElements(at, size int, name string) (int, int, error) {
	if err := b.checkRange(at, 4, name); err != nil {
		return 0, 0, err
	}
	n := uint64(flatbuffers.GetUint32(b.b[at:]))
	if n > uint64(len(b.b)) {
		return 0, 0, b.newFormatError(at, "%d elements in %s; want at most %d in this buffer", n, name, len(b.b))
	}
	if err := b.checkRange(at+4, int(n)*size, name); err != nil {
		return 0, 0, err
	}
	return at + 4, int(n), b.limitSharedBytes(at, 4+int(n)*size)
}

func (t table) readBytes(slot int, name string) ([]byte, int, error) {
	at, n, err := t.locateVector(slot, 1, name)
	if err != nil || n == 0 {
		return nil, 0, err
	}
	return t.b[at : at+n : at+n], at, nil
}

func (t table) readText(slot int, name string) (string, error) {
	b, _, err := t.readBytes(slot, name)
	return string(b), err
}

func (t table) readUint32s(slot int, name string) ([]uint32, error) {
	at, n, err := t.locateVector(slot, 4, name)
	if err != nil {
		return nil, err
	}
	var out []uint32
	for i := range n {
		out = append(out, flatbuffers.GetUint32(t.b[at+4*i:]))
	}
	return out, nil
}

func (t table) readUint64s(slot int, name string) ([]uint64, error) {
	at, n, err := t.locateVector(slot, 8, name)
	if err != nil {
		return nil, err
	}
	var out []uint64
	for i := range n {
		out = append(out, flatbuffers.GetUint64(t.b[at+8*i:]))
	}
	return out, nil
}

// forEachSubtable calls visit for each table of the vector in the given slot.
func (t table) forEachSubtable(slot int, name string, visit func(table) error) error {
	at, n, err := t.locateVector(slot, 4, name)
	if err != nil {
		return err
	}
	for i := range n {
		to, err := t.followOffset(at+4*i, name)
		if err != nil {
			return err
		}
		s, err := t.readTable(to, name)
		if err != nil {
			return err
		}
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

// readRootTable returns the root table of the FlatBuffer b, which starts at offset base of the file.
// name is the name of the table for errors.
func readRootTable(b []byte, base int, name string) (table, error) {
	buf := &buffer{b: b, base: base}
	at, err := buf.followOffset(0, name)
	if err != nil {
		return table{}, err
	}
	return buf.readTable(at, name)
}
