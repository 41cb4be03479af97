package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An entry whose head and file agree on a huge size is refused before memory is taken for it.
func TestHugeEntry(t *testing.T) {
	const size = 1 << 35
	id := Sum([]byte("key"))
	entry, _ := encodeEntry(nil, id)
	setSize := func(n int64) { binary.LittleEndian.PutUint64(entry[sizeAt:], uint64(n)-uint64(headBytes+len(Hash{}))) }
	setSize(size)
	name := filepath.Join(t.TempDir(), "entry")
	if err := os.WriteFile(name, entry, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil { // the hole takes no space on the disk
		t.Skipf("no file of %d bytes can be made here: %v", size, err)
	}
	var damage *FormatError
	if _, err := readEntryFile(name, id); !errors.As(err, &damage) || !strings.Contains(err.Error(), "want at most 2147483648") {
		t.Errorf("a file of %d bytes: %v", size, err)
	}
	// The same of a head alone, at the limit and a byte beyond it.
	for n, refused := range map[int64]bool{maxEntry: false, maxEntry + 1: true, 1 << 62: true} {
		setSize(n)
		if err := checkEntryHead(entry, n, id); (err != nil) != refused {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A file that becomes shorter while it is read is damaged, not unreadable.
func TestEntryBecomesShorter(t *testing.T) {
	id := Sum([]byte("key"))
	entry, _ := encodeEntry([]byte("programs"), id)
	if data, err := readEntry(bytes.NewReader(entry), int64(len(entry)), id); err != nil || !bytes.Equal(data, entry) {
		t.Errorf("whole: %v", err)
	}
	for n := headBytes; n < len(entry); n++ {
		var damage *FormatError
		if _, err := readEntry(bytes.NewReader(entry[:n]), int64(len(entry)), id); !errors.As(err, &damage) || damage.Off != n {
			t.Errorf("%d of %d bytes: %v", n, len(entry), err)
		}
	}
}
