package infile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	want := bytes.Repeat([]byte{1, 2, 3}, 10_000)
	if err := os.WriteFile(name, want, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes of %d: %v", len(got), len(want), err)
	}
	if n, err := f.ReadAt(make([]byte, 4), f.Size()-2); n != 2 || err != io.EOF {
		t.Errorf("read over the end: %d, %v", n, err)
	}
}

// TestTruncated cuts a file under its mapping: without the recovery this test dies of
// SIGBUS.
func TestTruncated(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	n, err := f.ReadAt(make([]byte, 1<<16), 1<<17)
	var fault *FaultError
	if !errors.As(err, &fault) || n != 0 || fault.Off != 1<<17 || fault.Bytes != 1<<16 {
		t.Errorf("read of a truncated file: %d bytes, %v", n, err)
	}
}

func TestNoFile(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
