package infile

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"

	"golang.org/x/exp/mmap"
)

// A File is a memory-mapped input file. Its size is fixed when it is opened.
type File struct {
	name string
	m    *mmap.ReaderAt
}

// A FaultError reports that a part of a file could not be read. This happens if the file was
// truncated after it was opened, or if its disk has an error.
type FaultError struct {
	Name       string
	Off, Bytes int64 // of the read that failed
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("%s: cannot read %d bytes at byte %#x; the file changed while it was read, or its disk is full",
		e.Name, e.Bytes, e.Off)
}

// Open maps the named file into memory. The caller must close the file.
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

// Size returns the size of the file in bytes when it was opened.
func (f *File) Size() int64 { return int64(f.m.Len()) }

// ReadAt implements io.ReaderAt. It returns a *[FaultError] if that part of the file can no longer
// be read.
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	// SetPanicOnFault applies to this goroutine only. A fault in the copy below means that
	// the file has no page to read.
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
