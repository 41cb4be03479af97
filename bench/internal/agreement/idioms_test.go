package agreement

import (
	"path/filepath"
	"testing"

	"anesim/internal/material"
)

// TestSharedIdioms compares forms in which exporters write networks, and which were once refused or
// wrong, with the values of onnxruntime, if they are available.
func TestSharedIdioms(t *testing.T) {
	for _, file := range material.Files(t, "idioms/*/net.onnx") {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			if what := compareSharedGraph(t, file); what != "" {
				t.Error(what)
			}
		})
	}
}
