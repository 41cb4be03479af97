package anesim_test

import (
	"os"
	"path/filepath"
	"testing"

	"anesim"
	"anesim/loader"
)

// programs returns the file names of the real programs. It skips the test if there are none.
func programs(t testing.TB) []string {
	t.Helper()
	files, dir := sharedFiles()
	if len(files) == 0 {
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("no real programs: %v", err)
		}
		t.Fatalf("%s holds no programs", dir)
	}
	return files
}

// sharedFiles returns the file names of the real programs that are present, and the directory in
// which it looked for them.
func sharedFiles() (files []string, dir string) {
	dir = filepath.Join("..", "shared", "programs")
	files, _ = filepath.Glob(filepath.Join(dir, "*.hwx"))
	texts, _ := filepath.Glob(filepath.Join(dir, "text", "*.bin"))
	return append(files, texts...), dir
}

// programOf returns the only program of m.
func programOf(t *testing.T, m *anesim.Model) *loader.Program {
	t.Helper()
	list, err := m.Programs(t.Context(), anesim.Options{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d programs, %v; want 1", len(list), err)
	}
	return list[0]
}
