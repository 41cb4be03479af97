package cache

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
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
	b := make([]byte, 0, headBytes+len(content)+len(Hash{}))
	b = le.AppendUint32(append(b, magic...), version)
	b = le.AppendUint64(append(b, id[:]...), uint64(len(content)))
	b = append(b, content...)
	h := Sum(b)
	return append(b, h[:]...), h
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
	var f *os.File
	for i := 0; f == nil; i++ {
		temp := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d", bundleName, os.Getpid(), i))
		var err error
		if f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
			f = nil
			if os.IsExist(err) && i < 1000 {
				continue
			}
			return err
		}
	}
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
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
