package agreement

import (
	"path/filepath"
	"testing"

	"anesim/vectors/material"
)

// refusedIdioms names forms of exporters that are not modelled yet, and why.
var refusedIdioms = map[string]string{
	"r1_gemm_deep":   "depth of a product",
	"r1_matmul_wide": "columns of a product",
}

// TestSharedIdioms compares forms in which exporters write networks, and which were once refused or
// wrong, with the values of onnxruntime, if they are available.
func TestSharedIdioms(t *testing.T) {
	for _, file := range material.Files(t, "idioms/*/net.onnx") {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			what, known := compareSharedGraph(t, file), refusedIdioms[name]
			switch {
			case known == "" && what != "":
				t.Error(what)
			case known != "" && what == "":
				t.Errorf("is modelled now; remove it from the list of forms that are not")
			}
		})
	}
}
