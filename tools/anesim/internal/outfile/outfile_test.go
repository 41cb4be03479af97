package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOldFileStandsUntilCommit(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	if err := Write(name, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if _, err := f.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, name); got != "old" {
		t.Errorf("before Commit the file holds %q", got)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	if got := content(t, name); got != "new" {
		t.Errorf("after Commit the file holds %q", got)
	}
	if n := names(t, dir); len(n) != 1 {
		t.Errorf("directory holds %q", n)
	}
}

// A name as long as file systems take has a temporary file all the same.
func TestLongestName(t *testing.T) {
	name := filepath.Join(t.TempDir(), strings.Repeat("x", 255))
	if err := Write(name, []byte("all")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, name); got != "all" {
		t.Errorf("%q", got)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("half")
	f.Abort()
	if n := names(t, dir); len(n) != 0 {
		t.Errorf("directory holds %q", n)
	}
	if err := f.Commit(); err == nil {
		t.Error("Commit after Abort succeeded")
	}
}

func TestErrorsNameWhatWasAskedFor(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "out")
	var path *os.PathError
	if err := Write(missing, nil); !errors.As(err, &path) || path.Path != missing {
		t.Errorf("Write in no directory: %v", err)
	}
	if err := Write(dir, nil); !errors.As(err, &path) || path.Path != dir {
		t.Errorf("Write over a directory: %v", err)
	}
}

func TestModeStays(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(name, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 1 {
		t.Errorf("the file became %v, %v", info, err)
	}
}

// A link gives way to the file that is written; what it leads to is not touched, be it
// there or not.
func TestLinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("another's"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"other", "missing"} {
		link := filepath.Join(dir, "link to "+target)
		if err := os.Symlink(target, link); err != nil {
			t.Skip("symbolic links cannot be made here: ", err)
		}
		if err := Write(link, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() || content(t, link) != "x" {
			t.Errorf("%s became %v, %v", link, info.Mode(), err)
		}
	}
	if got := content(t, other); got != "another's" {
		t.Errorf("the file behind the link became %q", got)
	}
	if n := names(t, dir); len(n) != 3 {
		t.Errorf("directory holds %q", n)
	}
}

func TestInputIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	in, other := filepath.Join(dir, "in"), filepath.Join(dir, "other")
	if err := Write(in, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(in, other); err != nil {
		t.Skip("the file system has no hard links: ", err)
	}
	var e *InputError
	for _, out := range []string{in, other, filepath.Join(dir, ".", "in")} {
		if err := Avoiding(out, "nothing", in); !errors.As(err, &e) || e.Input != in {
			t.Errorf("%s: %v", out, err)
		}
	}
	if err := Avoiding(filepath.Join(dir, "new"), in); err != nil {
		t.Error(err)
	}
}

func TestDeviceIsWrittenAsItIs(t *testing.T) {
	if err := Write(os.DevNull, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s became %v, %v", os.DevNull, info, err)
	}
}
