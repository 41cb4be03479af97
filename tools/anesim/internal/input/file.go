package input

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Open opens the named file, or standard input if file is "-", and calls read with its base name,
// contents and size. It reads standard input, a pipe or a device into memory first. Errors contain
// the name of the file. If the file cannot be opened, the error is a *[MissingError].
func Open(file string, stdin io.Reader, read func(name string, r io.ReaderAt, size int64) error) error {
	if file == "-" {
		data, err := ReadAll(stdin)
		if err == nil {
			err = read(stdinName, bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			return InFile(stdinName, err)
		}
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return &MissingError{err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s: is a directory", file)
	}
	if !info.Mode().IsRegular() { // a pipe has no size
		data, err := ReadAll(f)
		if err == nil {
			err = read(filepath.Base(file), bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			return InFile(file, err)
		}
		return nil
	}
	if err := read(filepath.Base(file), f, info.Size()); err != nil {
		return InFile(file, err)
	}
	return nil
}

// MaxPiped is the largest number of bytes that are read from a pipe or a device, whose size is not
// known in advance. Files may be larger.
const MaxPiped = 256 << 20

// ReadAll reads a pipe to its end. It returns an error if there are more than [MaxPiped] bytes.
func ReadAll(r io.Reader) ([]byte, error) { return readPipe(r, MaxPiped) }

// readPipe is like ReadAll, with a limit of most bytes.
func readPipe(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("pipe has more than %d bytes; use a file instead", most)
	}
	return data, err
}

// ReadFile returns the contents of a file, or of standard input if file is "-". It returns an error
// if there are more than limit bytes. Errors contain the name of the file.
func ReadFile(file string, stdin io.Reader, limit int64) (data []byte, err error) {
	err = Open(file, stdin, func(_ string, r io.ReaderAt, size int64) error {
		data, err = ReadWhole(r, size, limit)
		return err
	})
	return data, err
}

// ReadWhole returns the contents of r, which has size bytes. It returns an error if size exceeds
// limit.
func ReadWhole(r io.ReaderAt, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("file has %d bytes; want at most %d", size, limit)
	}
	data := make([]byte, size)
	n, err := r.ReadAt(data, 0)
	if int64(n) < size {
		return nil, fmt.Errorf("read only %d of %d bytes: %w", n, size, err)
	}
	return data, nil
}
