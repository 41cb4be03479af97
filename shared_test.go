package anesim_test

import (
	"os"
	"path/filepath"
	"testing"

	"anesim"
	"anesim/loader"
)

// programs lists the real programs beside the repository, and skips the test when they
// are not there.
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

// sharedFiles lists the real programs that are there, and where they are looked for.
func sharedFiles() (files []string, dir string) {
	dir = filepath.Join("..", "shared", "programs")
	files, _ = filepath.Glob(filepath.Join(dir, "*.hwx"))
	texts, _ := filepath.Glob(filepath.Join(dir, "text", "*.bin"))
	return append(files, texts...), dir
}

// programOf returns the one program of a model.
func programOf(t *testing.T, m *anesim.Model) *loader.Program {
	t.Helper()
	list, err := m.Programs(t.Context(), anesim.Options{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d programs, %v; want 1", len(list), err)
	}
	return list[0]
}
