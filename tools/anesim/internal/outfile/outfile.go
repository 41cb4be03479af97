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
	"time"
)

// A File is an output file in the making. Exactly one of Commit and Abort ends it; Abort
// after Commit does nothing, so that a deferred Abort is safe.
type File struct {
	file    *os.File // the temporary file
	name    string   // where Commit puts it
	mode    fs.FileMode
	special bool // a device or pipe: written directly
	done    bool
}

// Write writes to the file. Errors are those of the name that Commit puts it under.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	return n, f.named(err)
}

// named returns an error with the name of the file in the place of the temporary one's.
func (f *File) named(err error) error {
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

// An InputError is an output that would overwrite what the command has read.
type InputError struct {
	Output, Input string
}

func (e *InputError) Error() string {
	return fmt.Sprintf("%s is the input %s; choose another output", e.Output, e.Input)
}

// Avoiding reports an *InputError when name leads to one of the inputs.
func Avoiding(name string, inputs ...string) error {
	out, err := os.Stat(name)
	if err != nil {
		return nil // no such file, so none of the inputs
	}
	for _, in := range inputs {
		info, err := os.Stat(in)
		if err == nil && info.Mode().IsRegular() && os.SameFile(out, info) {
			return &InputError{name, in}
		}
	}
	return nil
}

// Create opens an output file. Nothing stands under its name before Commit. A symbolic
// link to a file is replaced and not followed: the file it leads to, which may be another's,
// stays as it is. A device or a pipe, such as /dev/stdout, is written as it is.
func Create(name string) (*File, error) {
	f := &File{name: name, mode: 0o666}
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "create", Path: name, Err: errors.New("is a directory")}
	case err == nil && !info.Mode().IsRegular():
		f.special = true
		f.file, err = os.OpenFile(name, os.O_WRONLY, 0)
		return f, err
	}
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
		f.mode = info.Mode().Perm()
	}
	// os.CreateTemp makes private files; O_EXCL with the usual mode lets the umask decide,
	// as for any other file a command writes.
	// A name may be as long as the file system takes; the temporary one has more to it.
	dir, base := filepath.Split(f.name)
	base = base[:min(len(base), 128)]
	removeAbandoned(dir, base)
	for i := range 10000 {
		temp := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d", base, os.Getpid(), i))
		file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			// The reader knows the name asked for, not the temporary one.
			var path *fs.PathError
			if errors.As(err, &path) {
				err = &fs.PathError{Op: "create", Path: name, Err: path.Err}
			}
			return nil, err
		}
		f.file = file
		return f, nil
	}
	return nil, &fs.PathError{Op: "create", Path: name, Err: errors.New("too many temporary files beside it")}
}

// abandoned is the age from which a file in the making is taken for one whose process was
// killed.
const abandoned = time.Hour

// removeAbandoned removes the temporary files beside a file that killed processes have left.
func removeAbandoned(dir, base string) {
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
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > abandoned {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil
}

// Commit flushes the file to the disk and puts it in its place. After an error nothing of
// it is left.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	f.done = true
	if f.special {
		return f.named(f.file.Close())
	}
	temp := f.file.Name()
	err := f.file.Sync()
	if e := f.file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp, f.name)
	}
	if err != nil {
		os.Remove(temp)
		return f.named(err)
	}
	// The rename lasts once its directory does; a file system that cannot flush a
	// directory has nothing to lose by it.
	if dir, e := os.Open(filepath.Dir(f.name)); e == nil {
		dir.Sync()
		dir.Close()
	}
	return nil
}

// Abort removes the file in the making and leaves its name as it was.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.file.Close()
	if !f.special {
		os.Remove(f.file.Name())
	}
}

// Write writes data as the whole file.
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

// WriteTo writes a file whose name is not empty.
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
