package regs

import (
	"fmt"
	"io"
)

// A TextFile is the text of a chain that stays in its file: a walk reads it as it goes, and
// takes no more memory for a longer one than a mark for each place of a descriptor.
type TextFile struct {
	R     io.ReaderAt
	Bytes uint64 // of the text, from the start of R
}

// A window is the part of a text that a walk looks at: all of one in memory.
type window struct {
	file *TextFile // nil in memory
	at   uint64    // of buf in the text
	buf  []byte
	room []byte
}

const (
	// longest is more than a walk looks at of a descriptor: one that is as long as can be,
	// and a record that begins in its last word.
	longest = 4 * (MaxWords + 1 + 1<<6)

	// A walk that follows the text reads far ahead, one that jumps about only what it
	// needs.
	readAhead = 256 << 10
	readNear  = 2 * longest
)

func (t *window) size() uint64 {
	if t.file != nil {
		return t.file.Bytes
	}
	return uint64(len(t.buf))
}

// from is the text from an offset on: to its end, or longer than any descriptor. It is
// good until the next call.
func (t *window) from(off uint64) ([]byte, error) {
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
		return nil, fmt.Errorf("%d of %d bytes of text read at %#x: %w", got, n, off, err)
	}
	return t.buf, nil
}
