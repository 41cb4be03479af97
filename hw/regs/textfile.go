package regs

import (
	"fmt"
	"io"
)

// A TextFile is a text of descriptors that stays in its file. Walking the chain reads it piece by
// piece, so that even a long text needs little memory.
type TextFile struct {
	R     io.ReaderAt
	Bytes uint64 // size of the text, which starts at offset 0 of R
}

// A window is the part of a text that a walk has in memory: the whole text if there is no file.
type window struct {
	file *TextFile // nil for a text in memory
	at   uint64    // offset of buf in the text
	buf  []byte
	room []byte
}

const (
	// longest exceeds the number of bytes that a walk reads of a descriptor: the longest possible
	// descriptor plus a record that starts in its last word.
	longest = 4 * (MaxWords + 1 + 1<<6)

	// A walk that follows the text reads far ahead. A walk that jumps reads only as much as it
	// needs.
	readAhead = 256 << 10
	readNear  = 2 * longest
)

// textSize returns the size of the whole text.
func (t *window) textSize() uint64 {
	if t.file != nil {
		return t.file.Bytes
	}
	return uint64(len(t.buf))
}

// bytesFrom returns the text from off on: up to its end, or more than any descriptor needs. The
// slice is valid until the next call.
func (t *window) bytesFrom(off uint64) ([]byte, error) {
	if t.file == nil {
		return t.buf[off:], nil
	}
	end := t.at + uint64(len(t.buf))
	if off >= t.at && (off+longest <= end || end == t.file.Bytes && off <= end) {
		return t.buf[off-t.at:], nil
	}
	n := uint64(readNear)
	if off >= t.at && off <= end+readNear {
		n = readAhead
	}
	n = min(n, t.file.Bytes-off)
	if t.room == nil {
		t.room = make([]byte, min(readAhead, t.file.Bytes))
	}
	t.at, t.buf = off, t.room[:n]
	if got, err := t.file.R.ReadAt(t.buf, int64(off)); got < len(t.buf) {
		t.buf = nil
		return nil, fmt.Errorf("cannot read text at %#x: got %d of %d bytes: %w", off, got, n, err)
	}
	return t.buf, nil
}
