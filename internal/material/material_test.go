package material_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"anesim/internal/material"
)

// A recorder records whether a test would be skipped or fail.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Skip(...any)           { r.skipped = true; runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; runtime.Goexit() }
func (r *recorder) Log(...any)            {}

// try calls f in a goroutine of its own, which Skip and Fatalf end.
func try(f func(t testing.TB)) *recorder {
	r, done := new(recorder), make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

// Without the material a test skips. With it, a test whose file is missing fails: it does not pass
// for one that has nothing to do.
func TestMissingFilesFail(t *testing.T) {
	_, err := os.Stat(filepath.Join("..", "..", "..", "shared"))
	if there := err == nil; there != material.There() {
		t.Fatalf("the material is there: %t, found: %t", there, material.There())
	}
	for name, f := range map[string]func(t testing.TB){
		"file":    func(t testing.TB) { material.File(t, "no/such.file") },
		"content": func(t testing.TB) { material.Read(t, "no/such.file") },
		"files":   func(t testing.TB) { material.Files(t, "README.md", "no/such*.file") },
	} {
		if r := try(f); r.failed != material.There() || r.skipped == material.There() {
			t.Errorf("%s: failed %t, skipped %t", name, r.failed, r.skipped)
		}
	}
	r := try(func(t testing.TB) { material.More(t, "no/such*.file") })
	if r.failed != material.There() || r.skipped {
		t.Errorf("more: failed %t, skipped %t", r.failed, r.skipped)
	}
	if material.There() {
		t.Chdir(t.TempDir()) // the place does not depend on the working directory
		if files := material.Files(t, "README.md", "programs/*.hwx"); len(files) < 2 {
			t.Errorf("found %q", files)
		}
	}
}
