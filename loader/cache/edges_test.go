package cache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/loader/cache"
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
		3:              fmt.Sprintf("3 bytes, an entry has %d or more", len(whole)-len(content)),
		len(whole) - 2: "a content of 8 bytes, 6 are there",
	} {
		if err := os.WriteFile(e.Path, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Do(key(), use, make); err != nil || !strings.HasSuffix(got.Why, want) {
			t.Errorf("%d bytes: %q, %v; want %q", n, got.Why, err, want)
		}
	}
}

// What cannot be put in its place is an error, and leaves no file in the making.
func TestPlaceIsTaken(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir(), Build: "b", Mode: cache.ForceRecompilation}
	path := c.Path(key())
	if err := os.MkdirAll(filepath.Join(path, "not empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(key(), func([]byte) error { return nil }, func() ([]byte, error) { return []byte("x"), nil }); err == nil {
		t.Error("written over a directory")
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
