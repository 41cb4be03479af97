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

// The head of an entry: a magic, a version, the identifier of its key and the size of its
// content. Behind the content stands the hash.
const (
	magic     = "anebundl"
	version   = 1
	versionAt = len(magic)
	keyAt     = versionAt + 4
	sizeAt    = keyAt + len(Hash{})
	headBytes = sizeAt + 8
)

// A FormatError is an entry that is damaged.
type FormatError struct {
	Off  int
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %#x: %s", e.Off, e.What) }

// seal makes the entry of a content.
func seal(content []byte, id Hash) ([]byte, Hash) {
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

// open is the content of an entry, a part of data. Errors are a *FormatError.
func open(data []byte, id Hash) ([]byte, Hash, error) {
	le := binary.LittleEndian
	fail := func(off int, format string, args ...any) ([]byte, Hash, error) {
		return nil, Hash{}, &FormatError{off, fmt.Sprintf(format, args...)}
	}
	switch {
	case len(data) < headBytes+len(Hash{}):
		return fail(len(data), "%d bytes, an entry has %d or more", len(data), headBytes+len(Hash{}))
	case string(data[:versionAt]) != magic:
		return fail(0, "magic %q, want %q", data[:versionAt], magic)
	case le.Uint32(data[versionAt:]) != version:
		return fail(versionAt, "version %d, want %d", le.Uint32(data[versionAt:]), version)
	case Hash(data[keyAt:sizeAt]) != id:
		return fail(keyAt, "the entry of key %v", Hash(data[keyAt:sizeAt]))
	}
	end := len(data) - len(Hash{})
	if n := le.Uint64(data[sizeAt:]); n != uint64(end-headBytes) {
		return fail(sizeAt, "a content of %d bytes, %d are there", n, end-headBytes)
	}
	have, want := Hash(data[end:]), Sum(data[:end])
	if have != want {
		return fail(end, "hash %v, the bytes have %v", have, want)
	}
	return data[headBytes:end], have, nil
}

// abandoned is the age from which a file in the making is taken for one whose process died.
const abandoned = time.Hour

// write puts a file in its place whole: written beside it, flushed, renamed.
func write(name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	sweep(dir)
	f, err := inTheMaking(dir)
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
	// The rename lasts once its directory does; a file system that cannot flush a
	// directory has nothing to lose by it.
	if d, e := os.Open(dir); e == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

// inTheMaking makes a file of this process, which may write several at once.
func inTheMaking(dir string) (f *os.File, err error) {
	for i := range 1000 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d", bundleName, os.Getpid(), i))
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); !os.IsExist(err) {
			return f, err
		}
	}
	return nil, err
}

// sweep removes files in the making that their processes have left.
func sweep(dir string) {
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
