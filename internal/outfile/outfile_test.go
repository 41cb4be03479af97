package outfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
	if _, err := f.Write([]byte("new")); err != nil {
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

// What a killed process left beside a name goes when the name is written an hour later or
// more. A file of a process that may still be writing stays, as does a file of another kind.
func TestAbandonedFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for name, old := range map[string]time.Duration{
		".out.123-0": 2 * abandonedAge, ".out.124-7": 2 * abandonedAge, // left
		".out.125-0": abandonedAge / 2, ".out.orig": 2 * abandonedAge, ".out.1-0.txt": 2 * abandonedAge, ".other.1-0": 2 * abandonedAge, "out.1-0": 2 * abandonedAge,
	} {
		path, when := filepath.Join(dir, name), time.Now().Add(-old)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(filepath.Join(dir, "out"), []byte("all")); err != nil {
		t.Fatal(err)
	}
	want := []string{".other.1-0", ".out.1-0.txt", ".out.125-0", ".out.orig", "out", "out.1-0"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory has %q, want %q", got, want)
	}
}

// Errors name the file that was asked for, not the temporary one beside it.
func TestErrorsNameTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	f, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(name, "not empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) || !strings.Contains(err.Error(), name) {
		t.Errorf("a directory in the way: %v", err)
	}
	if f, err = Create(filepath.Join(t.TempDir(), "out")); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	if _, err := f.Write([]byte("more")); err == nil || strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a write to a closed file: %v", err)
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
	f.Write([]byte("half"))
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

// An output that is an input or another output is refused, in whatever order they are added, and
// through links and other spellings. A file that does not exist yet counts, as does a directory that
// an output is to be in.
func TestPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := Write("in", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("in", "hard"); err != nil {
		t.Skip("the file system has no hard links: ", err)
	}
	for _, link := range [][2]string{{"in", "link"}, {".", "here"}} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Skip("symbolic links cannot be made here: ", err)
		}
	}
	for _, out := range []string{"in", "hard", "link", "./in", "here/in", filepath.Join(dir, "in")} {
		for _, inputFirst := range []bool{true, false} {
			var p Plan
			var err error
			if inputFirst {
				err = cmp.Or(p.Read("nothing", "in"), p.Write("--html", out))
			} else {
				err = cmp.Or(p.Write("--html", out), p.Read("nothing", "in"))
			}
			var e *InputError
			if !errors.As(err, &e) || *e != (InputError{"--html", out, "in"}) {
				t.Errorf("%s, input first %t: %v", out, inputFirst, err)
			}
		}
	}
	for _, tt := range [][2]string{{"a", "a"}, {"in", "link"}, {"a", "here/a"}, {"a", "./b/../a"}, {"d", "d/y"}, {"d/y", "d"}, {"d", "here/d/e/y"}} {
		var p Plan
		var e *ClashError
		if err := cmp.Or(p.Write("--html", tt[0]), p.Write("--trace", tt[1])); !errors.As(err, &e) || *e != (ClashError{"--html", "--trace", tt[1]}) {
			t.Errorf("%s and %s: %v", tt[0], tt[1], err)
		}
	}
	var p Plan
	if err := cmp.Or(p.Read("in", "in", "-", "-"), p.Write("--html", "a", "-", ""), p.Write("--trace", "b", "-", ""), p.Write("--out", "d/a", "d/b"), p.Write("--resume", "da"),
		p.Write("--md", os.DevNull), p.Write("--emit", os.DevNull), p.Read(os.DevNull)); err != nil {
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
