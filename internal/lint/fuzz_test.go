package lint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"anesim/internal/lint"
	"anesim/loader"
	"anesim/loader/asm"
)

// FuzzProgram lints whatever can be read: nothing panics, findings have their place.
func FuzzProgram(f *testing.F) {
	u, err := asm.Assemble("chain.td", []byte(chain(f)), new(asm.Options))
	if err != nil {
		f.Fatal(err)
	}
	file, err := u.File()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	examples, err := filepath.Glob("../../loader/testdata/examples/*.hwx")
	if err != nil || len(examples) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, name := range examples {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := loader.Read("fuzz", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		r, err := lint.Program(p)
		if err != nil {
			return
		}
		for i := range r.Findings {
			if x := &r.Findings[i]; x.Descriptor < 0 || x.Descriptor >= r.Descriptors || x.Register == "" || x.What == "" || x.Evidence == "" {
				t.Errorf("%+v", x)
			}
		}
	})
}
