package onnx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A File is a file with values of tensors that may be read after the model itself. It is open between
// [OpenFile] and Close, and again during each later read, so that a model of which only the time is
// asked holds neither its weights nor a file.
type File struct {
	path string
	info fs.FileInfo // of the file when it was first opened

	mu    sync.Mutex
	users int // reads and the opener
	file  *os.File
}

// A ChangedFileError reports that values cannot be read from a file because it was replaced or
// written to since the model was read from it.
type ChangedFileError struct{ Path string }

func (e *ChangedFileError) Error() string {
	return fmt.Sprintf("%s has changed since the network was read from it", e.Path)
}

// OpenFile opens the regular file at path. It returns the error of [os.Open], or an error for a file
// of another kind.
func OpenFile(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return newFile(path, file)
}

// newFile returns an open File for file, which is at path. It closes file in case of an error.
func newFile(path string, file *os.File) (*File, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var whole string
	if err == nil {
		whole, err = filepath.Abs(path) // later reads may have another working directory
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &File{path: whole, info: info, users: 1, file: file}, nil
}

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.info.Size() }

// ReadAt implements [io.ReaderAt] while the file is open.
func (f *File) ReadAt(b []byte, at int64) (int, error) { return f.file.ReadAt(b, at) }

// acquire opens the file unless it is open already. Each call that succeeds needs a call of Close. The
// error is a [*ChangedFileError] if path no longer names the same bytes, as far as size and time of
// modification tell.
func (f *File) acquire() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 {
		file, err := os.Open(f.path)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil && !(os.SameFile(info, f.info) && info.Size() == f.info.Size() && info.ModTime().Equal(f.info.ModTime())) {
			err = &ChangedFileError{f.path}
		}
		if err != nil {
			file.Close()
			return err
		}
		f.file = file
	}
	f.users++
	return nil
}

// Close ends the use of the file by its opener, or by a read.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users > 0 {
		return nil
	}
	file := f.file
	f.file = nil
	return file.Close()
}
