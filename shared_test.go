package anesim_test

import (
	"testing"

	"anesim"
	"anesim/internal/material"
	"anesim/loader"
)

// programs returns the file names of the real programs. It skips the test if there are none.
func programs(t testing.TB) []string {
	t.Helper()
	return material.Files(t, "programs/*.hwx", "programs/text/*.bin")
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
