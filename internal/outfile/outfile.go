package outfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A File is an output file that does not appear under its name until it is complete. The caller
// must end it with [File.Commit] or [File.Abort]. Abort does nothing after Commit, so it can be
// deferred.
type File struct {
	file    *os.File // temporary file
	name    string   // final name
	mode    fs.FileMode
	special bool // a device or pipe, written directly
	closed  bool // all data is in the temporary file
	done    bool
}

// Write writes b to the file. Errors name the file by its final name, not that of the temporary
// file.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	return n, f.renameInError(err)
}

// renameInError returns err with the name of the temporary file replaced by the final name of the
// file.
func (f *File) renameInError(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return &fs.PathError{Op: path.Op, Path: f.name, Err: path.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: link.Op, Path: f.name, Err: link.Err}
	}
	return err
}

// Create creates an output file. Until [File.Commit], a file with that name keeps its old contents
// or does not exist. A symbolic link to a file is replaced, and the file that it points to does not
// change. A device or pipe, such as /dev/stdout, is written directly.
func Create(name string) (*File, error) {
	f := &File{name: name, mode: 0o666}
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "create", Path: name, Err: errors.New("is a directory")}
	case errors.Is(err, syscall.ENAMETOOLONG): // the temporary name is not
		return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.ENAMETOOLONG}
	case err == nil && !info.Mode().IsRegular():
		f.special = true
		f.file, err = os.OpenFile(name, os.O_WRONLY, 0)
		return f, err
	}
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
		f.mode = info.Mode().Perm()
	}
	// os.CreateTemp creates private files. With O_EXCL and the usual mode, the umask decides
	// on the permissions, as for any other file.
	// Shorten the base name: the temporary name is longer and must not exceed the limit.
	dir, base := filepath.Split(f.name)
	base = base[:min(len(base), 128)]
	removeAbandonedFiles(dir, base)
	for i := range 10000 {
		temp := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d", base, os.Getpid(), i))
		file, err := createIncomplete(temp, f.mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			// Report the final name, which the user knows, not the temporary one.
			var path *fs.PathError
			if errors.As(err, &path) {
				err = &fs.PathError{Op: "create", Path: name, Err: path.Err}
			}
			return nil, err
		}
		f.file = file
		return f, nil
	}
	return nil, &fs.PathError{Op: "create", Path: name, Err: errors.New("too many temporary files in the same directory")}
}

// abandonedAge is the age at which a temporary file is taken to belong to a killed process.
const abandonedAge = time.Hour

// removeAbandonedFiles removes the temporary files for base that killed processes left in dir.
func removeAbandonedFiles(dir, base string) {
	list, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return
	}
	for _, entry := range list {
		rest, ok := strings.CutPrefix(entry.Name(), "."+base+".")
		pid, number, both := strings.Cut(rest, "-")
		if !ok || !both || !isNumber(pid) || !isNumber(number) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > abandonedAge {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil
}

// Commit flushes the file to disk and renames it to its final name. If it fails, it removes the
// temporary file.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	if err := f.close(); err != nil {
		f.Abort()
		return err
	}
	f.done = true
	if f.special {
		return nil
	}
	if err := os.Rename(f.file.Name(), f.name); err != nil {
		removeIncomplete(f.file.Name())
		return f.renameInError(err)
	}
	forgetIncomplete(f.file.Name())
	// Flush the directory, so that the rename survives a crash. Errors are ignored, since
	// some file systems cannot flush a directory.
	if dir, e := os.Open(filepath.Dir(f.name)); e == nil {
		dir.Sync()
		dir.Close()
	}
	return nil
}

// close flushes the temporary file to disk and closes it. Afterwards, it does nothing.
func (f *File) close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	var err error
	if !f.special {
		err = f.file.Sync()
	}
	if e := f.file.Close(); err == nil {
		err = e
	}
	return f.renameInError(err)
}

// Abort discards the data written to the file. An existing file with the final name does not
// change.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.file.Close()
	if !f.special {
		removeIncomplete(f.file.Name())
	}
}

// Write writes data to the named file, which keeps its old contents if an error occurs.
func Write(name string, data []byte) error {
	f, err := Create(name)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// WriteAll writes content(i) to the file names[i], for each i. All files keep their old contents
// unless the contents of all could be written.
func WriteAll(names []string, content func(i int) []byte) error {
	files := make([]*File, len(names))
	for i, name := range names {
		f, err := Create(name)
		if err != nil {
			return err
		}
		defer f.Abort()
		if _, err := f.Write(content(i)); err != nil {
			return err
		}
		if err := f.close(); err != nil { // a full disk may show only now
			return err
		}
		files[i] = f
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// WriteTo creates the named file and calls write to fill it. If write fails, an existing file keeps
// its old contents. If name is empty, WriteTo does nothing.
func WriteTo(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	out, err := Create(name)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := write(out); err != nil {
		return err
	}
	return out.Commit()
}

// Update calls write to fill a new version of the named file, which write may read. No other Update
// of a file in the same directory runs at the same time, in this or another process, if the system
// can lock directories. If write fails, the file keeps its old contents.
func Update(name string, write func(io.Writer) error) error {
	unlock, err := lockDirectory(filepath.Dir(name))
	if err != nil {
		return &fs.PathError{Op: "lock the directory of", Path: name, Err: err}
	}
	defer unlock()
	return WriteTo(name, write)
}
