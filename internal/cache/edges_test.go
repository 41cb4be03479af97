package cache_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/cache"
)

// Why an entry is not used is said in its own sizes.
func TestSizesInReasons(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir(), Build: "b"}
	content := []byte("programs")
	make := func() ([]byte, error) { return content, nil }
	use := func([]byte) error { return nil }
	e, err := c.Do(key(), use, make)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{
		3:              fmt.Sprintf("entry has 3 bytes; want at least %d", len(whole)-len(content)),
		len(whole) - 2: "declared content size is 8 bytes; found 6",
	} {
		if err := os.WriteFile(e.Path, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Do(key(), use, make); err != nil || !strings.HasSuffix(got.Why, want) {
			t.Errorf("%d bytes: %q, %v; want %q", n, got.Why, err, want)
		}
	}
}

// An entry that is no regular file, or a huge one of something else, is replaced without waiting for
// it or reading it.
func TestEntryIsNoFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"pipe":      func(path string) error { return exec.Command("mkfifo", path).Run() },
		"device":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"huge file": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 1<<40)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &cache.Cache{Dir: t.TempDir(), Build: "b"}
			path := c.Path(key())
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Skipf("no %s can be made here: %v", name, err)
			}
			use, make := func([]byte) error { return nil }, func() ([]byte, error) { return []byte("x"), nil }
			c.Mode = cache.ForceFetch
			var miss *cache.MissError
			if _, err := c.Do(key(), use, make); !errors.As(err, &miss) || miss.Why == "" {
				t.Errorf("fetched: %v", err)
			}
			c.Mode = cache.FetchOrMake
			if e, err := c.Do(key(), use, make); err != nil || e.Outcome != cache.Remade || e.Unkept != nil {
				t.Errorf("%+v, %v", e, err)
			}
			if e, err := c.Do(key(), use, make); err != nil || e.Outcome != cache.Fetched {
				t.Errorf("then %+v, %v", e, err)
			}
		})
	}
}

// What cannot be put in its place is not kept, and leaves no file in the making.
func TestPlaceIsTaken(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir(), Build: "b", Mode: cache.ForceRecompilation}
	path := c.Path(key())
	if err := os.MkdirAll(filepath.Join(path, "not empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Do(key(), func([]byte) error { return nil }, func() ([]byte, error) { return []byte("x"), nil }); err != nil || e.Unkept == nil || !strings.Contains(e.Unkept.Error(), "write "+path+":") {
		t.Errorf("written over a directory: %v, %v", err, e.Unkept)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// Files in the making of this process that stand in the way are passed by, up to a thousand.
func TestManyInTheMaking(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir(), Build: "b", Mode: cache.ForceRecompilation}
	dir := filepath.Dir(c.Path(key()))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	use, make := func([]byte) error { return nil }, func() ([]byte, error) { return []byte("x"), nil }
	for i := range 1000 {
		if i == 0 || i == 999 {
			if _, err := c.Do(key(), use, make); err != nil {
				t.Fatalf("%d in the way: %v", i, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(".model.bundle.%d-%d", os.Getpid(), i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var e *cache.Error
	if entry, err := c.Do(key(), use, make); err != nil || !errors.As(entry.Unkept, &e) || !errors.Is(e, fs.ErrExist) || !strings.HasPrefix(e.Error(), "cache: write an entry: ") {
		t.Errorf("a thousand in the way: %v, %v", err, entry.Unkept)
	}
}

// What became of an entry, in words.
func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		cache.Fetched.String() + " " + cache.Made.String() + " " + cache.Remade.String() + " " + cache.Outcome(3).String(): "fetched made remade outcome 3",
		(&cache.MissError{Path: "p"}).Error():            "cache: missing entry p",
		(&cache.MissError{Path: "p", Why: "w"}).Error():  "cache: p is damaged: w",
		(&cache.FormatError{Off: 12, What: "w"}).Error(): "byte 0xc: w",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A cache of this executable is one of its own, the same each time, and what makes nothing
// keeps nothing.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	a, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := cache.Open(dir)
	if err != nil || a.Build != b.Build || len(a.Build) != 16 || a.Dir != dir {
		t.Errorf("%+v, %+v, %v", a, b, err)
	}
	failed := errors.New("no")
	if _, err := a.Do(key(), func([]byte) error { return nil }, func() ([]byte, error) { return nil, failed }); err != failed {
		t.Errorf("%v", err)
	}
	if _, err := a.Do(key(), func([]byte) error { return failed }, func() ([]byte, error) { return nil, nil }); err != failed {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(a.Path(key())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an entry of nothing: %v", err)
	}
	// An entry that cannot be read is neither missing nor damaged. Its program is made all the
	// same, unless it has to be fetched.
	if err := os.MkdirAll(a.Path(key()), 0o777); err != nil {
		t.Fatal(err)
	}
	var e *cache.Error
	used := 0
	use, make := func([]byte) error { used++; return nil }, func() ([]byte, error) { return nil, nil }
	if entry, err := a.Do(key(), use, make); err != nil || !errors.As(entry.Unkept, &e) || e.Op != "read an entry" || used != 1 {
		t.Errorf("%v, %v; used %d times", err, entry.Unkept, used)
	}
	a.Mode = cache.ForceFetch
	if _, err := a.Do(key(), use, make); !errors.As(err, &e) || e.Op != "read an entry" || used != 1 {
		t.Errorf("%v; used %d times", err, used)
	}
}
