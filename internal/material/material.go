package material

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dir is the directory of the material, or "" if it is not there. It is found when the process
// starts, since a test may change the working directory.
var dir = find()

// find returns the directory shared next to the checkout, which has the go.mod of this module and is
// the working directory of a test or a directory above it. It returns "" if there is no such
// directory.
func find() string {
	at, err := os.Getwd()
	for err == nil {
		if b, e := os.ReadFile(filepath.Join(at, "go.mod")); e == nil && strings.HasPrefix(string(b), "module anesim\n") {
			shared := filepath.Join(filepath.Dir(at), "shared")
			if info, e := os.Stat(shared); e == nil && info.IsDir() {
				return shared
			}
			return ""
		}
		if filepath.Dir(at) == at {
			return ""
		}
		at = filepath.Dir(at)
	}
	return ""
}

// There reports whether the material is there.
func There() bool { return dir != "" }

// need skips the test if the material is not there.
func need(t testing.TB) {
	t.Helper()
	if !There() {
		t.Skip("the reference material is not beside the checkout")
	}
}

// File returns the path of a file or directory of the material, whose name has slashes. It skips the
// test if the material is not there, and fails it if only the file is missing.
func File(t testing.TB, name string) string {
	t.Helper()
	need(t)
	path := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the reference material is beside the checkout, but: %v", err)
	}
	return path
}

// Read returns the content of a file of the material; see [File].
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Files returns the paths of the files of the material that match one of the patterns, in their
// order. It skips the test if the material is not there, and fails it if a pattern matches nothing.
func Files(t testing.TB, patterns ...string) []string {
	t.Helper()
	need(t)
	return More(t, patterns...)
}

// More is like [Files] for a test that has files of its own. It returns nil and writes to the test's
// log if the material is not there.
func More(t testing.TB, patterns ...string) []string {
	t.Helper()
	if !There() {
		t.Log("the reference material is not beside the checkout: only files of the project are tried")
		return nil
	}
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("the reference material is beside the checkout, but has no %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}
