package cache

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Layout of the head of an entry: a magic, a version, the identifier of its key and the
// size of its content. The hash follows the content.
const (
	magic     = "anebundl"
	version   = 1
	versionAt = len(magic)
	keyAt     = versionAt + 4
	sizeAt    = keyAt + len(Hash{})
	headBytes = sizeAt + 8
)

// A FormatError reports a damaged entry. Off is the offset in bytes of the damage.
type FormatError struct {
	Off  int
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %#x: %s", e.Off, e.What) }

// encodeEntry returns the file contents of an entry that stores content under the identifier id,
// and the entry's hash.
func encodeEntry(content []byte, id Hash) ([]byte, Hash) {
	le := binary.LittleEndian
	head := le.AppendUint32([]byte(magic), version)
	head = le.AppendUint64(append(head, id[:]...), uint64(len(content)))
	var h Hash
	b := slices.Concat(head, content, h[:])
	end := len(b) - len(h)
	h = Sum(b[:end])
	copy(b[end:], h[:])
	return b, h
}

// decodeEntry returns the content that the entry with file contents data stores, a slice of data,
// and the entry's hash. It returns a *FormatError if the entry is damaged or has another identifier
// than id.
func decodeEntry(data []byte, id Hash) ([]byte, Hash, error) {
	le := binary.LittleEndian
	fail := func(off int, format string, args ...any) ([]byte, Hash, error) {
		return nil, Hash{}, &FormatError{off, fmt.Sprintf(format, args...)}
	}
	switch {
	case len(data) < headBytes+len(Hash{}):
		return fail(len(data), "entry has %d bytes; want at least %d", len(data), headBytes+len(Hash{}))
	case string(data[:versionAt]) != magic:
		return fail(0, "unknown magic %q; want %q", data[:versionAt], magic)
	case le.Uint32(data[versionAt:]) != version:
		return fail(versionAt, "unknown version %d; want %d", le.Uint32(data[versionAt:]), version)
	case Hash(data[keyAt:sizeAt]) != id:
		return fail(keyAt, "entry has key %v; want %v", Hash(data[keyAt:sizeAt]), id)
	}
	end := len(data) - len(Hash{})
	if n := le.Uint64(data[sizeAt:]); n != uint64(end-headBytes) {
		return fail(sizeAt, "declared content size is %d bytes; found %d", n, end-headBytes)
	}
	have, want := Hash(data[end:]), Sum(data[:end])
	if have != want {
		return fail(end, "stored hash is %v; want %v", have, want)
	}
	return data[headBytes:end], have, nil
}

// abandoned is the age from which a temporary file is considered left over from a process
// that died.
const abandoned = time.Hour

// writeFileAtomically writes a file atomically: it writes a temporary file, flushes it and renames
// it.
func writeFileAtomically(name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	removeAbandonedFiles(dir)
	f, err := createTempFile(dir)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	// Flush the directory so that the rename is durable. Errors are ignored because some
	// file systems cannot flush directories.
	if d, e := os.Open(dir); e == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

// createTempFile creates a temporary file whose name contains the process id and a number.
func createTempFile(dir string) (f *os.File, err error) {
	for i := range 1000 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d", bundleName, os.Getpid(), i))
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); !os.IsExist(err) {
			return f, err
		}
	}
	return nil, err
}

// removeAbandonedFiles removes temporary files that are older than the duration abandoned.
func removeAbandonedFiles(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range list {
		if info, err := f.Info(); err == nil && strings.HasPrefix(f.Name(), "."+bundleName) && time.Since(info.ModTime()) > abandoned {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}
