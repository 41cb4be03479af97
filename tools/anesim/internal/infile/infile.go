package infile

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"

	"golang.org/x/exp/mmap"
)

// A File is an input file, mapped. Its size is the one it had when it was opened.
type File struct {
	name string
	m    *mmap.ReaderAt
}

// A FaultError is a part of a file that could not be read: the file has been truncated
// since it was opened, or its disk has no room for the part.
type FaultError struct {
	Name       string
	Off, Bytes int64 // of the read that failed
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("%s: %d bytes at byte %#x cannot be read; the file changed while it was read, or its disk is full",
		e.Name, e.Bytes, e.Off)
}

// Open maps a file.
func Open(name string) (*File, error) {
	m, err := mmap.Open(name)
	var path *fs.PathError
	if err != nil && !errors.As(err, &path) {
		err = &fs.PathError{Op: "read", Path: name, Err: err} // a directory or a device
	}
	if err != nil {
		return nil, err
	}
	return &File{name, m}, nil
}

// Size is the file's size in bytes when it was opened.
func (f *File) Size() int64 { return int64(f.m.Len()) }

// ReadAt is as io.ReaderAt has it; a *FaultError is a part of the file that is gone.
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	// The setting is the goroutine's own; a fault in the copy below, and in nothing else,
	// is a page without a file.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			n, err = 0, &FaultError{f.name, off, int64(len(p))}
		default:
			panic(fault)
		}
	}()
	return f.m.ReadAt(p, off)
}

// Close unmaps the file.
func (f *File) Close() error { return f.m.Close() }
