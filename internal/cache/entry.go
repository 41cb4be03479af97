package cache

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// maxEntry is the largest size of an entry's file in bytes. A larger file is damaged: it is not read
// into memory, and programs that would need one are not stored.
const maxEntry = 1 << 31

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
	if err := checkEntryHead(data, int64(len(data)), id); err != nil {
		return nil, Hash{}, err
	}
	end := len(data) - len(Hash{})
	have, want := Hash(data[end:]), Sum(data[:end])
	if have != want {
		return nil, Hash{}, &FormatError{end, fmt.Sprintf("stored hash is %v; want %v", have, want)}
	}
	return data[headBytes:end], have, nil
}

// checkEntryHead returns a *FormatError if data does not begin with the head of an entry whose file has
// size bytes and whose identifier is id.
func checkEntryHead(data []byte, size int64, id Hash) error {
	le := binary.LittleEndian
	fail := func(off int, format string, args ...any) error {
		return &FormatError{off, fmt.Sprintf(format, args...)}
	}
	switch least := int64(headBytes + len(Hash{})); {
	case size < least:
		return fail(int(size), "entry has %d bytes; want at least %d", size, least)
	case size > maxEntry:
		return fail(0, "entry has %d bytes; want at most %d", size, int64(maxEntry))
	case string(data[:versionAt]) != magic:
		return fail(0, "unknown magic %q; want %q", data[:versionAt], magic)
	case le.Uint32(data[versionAt:]) != version:
		return fail(versionAt, "unknown version %d; want %d", le.Uint32(data[versionAt:]), version)
	case Hash(data[keyAt:sizeAt]) != id:
		return fail(keyAt, "entry has key %v; want %v", Hash(data[keyAt:sizeAt]), id)
	case le.Uint64(data[sizeAt:]) != uint64(size-least):
		return fail(sizeAt, "declared content size is %d bytes; found %d", le.Uint64(data[sizeAt:]), size-least)
	}
	return nil
}

// readEntryFile returns the content of the file of the entry with the identifier id. It reads only
// the head of a file that has another. The error is a *FormatError if it has, or if the file is not a
// regular one.
func readEntryFile(name string, id Hash) ([]byte, error) {
	info, err := os.Stat(name) // before opening, since a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // reading a directory fails below
		return nil, &FormatError{0, "not a regular file"}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readEntry(f, info.Size(), id)
}

// readEntry returns size bytes of r, the content of the file of the entry with the identifier id. The
// error is a *FormatError if the head is damaged, or if r has fewer bytes because another process
// made the file shorter.
func readEntry(r io.ReaderAt, size int64, id Hash) ([]byte, error) {
	head := make([]byte, headBytes)
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if err := checkEntryHead(head, size, id); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	n, err := r.ReadAt(data, 0)
	if n < len(data) && err == io.EOF {
		return nil, &FormatError{n, fmt.Sprintf("entry ends after %d of %d bytes", n, size)}
	}
	if n == len(data) {
		err = nil // a reader may report the end together with the last bytes
	}
	return data, err
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
		return &fs.PathError{Op: "create", Path: name, Err: errors.Unwrap(err)} // not the temporary name
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return &fs.PathError{Op: "write", Path: name, Err: errors.Unwrap(err)} // not the temporary name
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
