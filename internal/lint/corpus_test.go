package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/lint"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/lower"
	"anesim/loader/network/partition"
	"anesim/loader/network/weights"
)

// findings returns the findings for the programs of a model as text, and the number of its
// descriptors.
func findings(t *testing.T, name string, m *anesim.Model) (list []string, descriptors int) {
	t.Helper()
	programs, err := programsOf(t, m)
	if err != nil {
		return nil, 0 // refused
	}
	for _, p := range programs {
		r, err := lint.Program(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		descriptors += r.Descriptors
		if r.Undecided > 0 {
			t.Errorf("%s: %d surfaces are not decided", name, r.Undecided)
		}
		for i := range r.Findings {
			list = append(list, fmt.Sprintf("%s: %v", name, &r.Findings[i]))
		}
	}
	return list, descriptors
}

// programsOf returns the programs of a model. Those of a layer or a network have no weights, which
// lint does not read.
func programsOf(t *testing.T, m *anesim.Model) (programs []*loader.Program, err error) {
	t.Helper()
	switch m.Kind() {
	case anesim.KindLayer:
		l := m.Network().Layers[0]
		w, err := weights.Sizes(&l, 0)
		if err != nil {
			return nil, err
		}
		p, err := lower.Sized(l.Lower, w)
		return []*loader.Program{p}, err
	case anesim.KindNetwork:
		lowered, _, err := partition.Lower(t.Context(), m.Network(), partition.Lowering{SizesOnly: true})
		for _, p := range lowered {
			programs = append(programs, p.Program)
		}
		return programs, err
	}
	return m.Programs(t.Context(), anesim.Options{})
}

// The vendor's programs have no finding: a rule that they break is wrong.
func TestVendorPrograms(t *testing.T) {
	programs, descriptors := 0, 0
	for _, file := range material.Files(t, "programs/*.hwx", "programs/text/*.text.bin", "texts/*.text.bin", "oracles/*.text.bin") {
		m, err := anesim.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		list, n := findings(t, filepath.Base(file), m)
		for _, f := range list {
			t.Error(f)
		}
		programs++
		descriptors += n
	}
	if programs < 170 || descriptors < 320 {
		t.Errorf("%d programs of %d descriptors", programs, descriptors)
	}
}

// What we lower ourselves, layers and networks, has no finding.
func TestLowered(t *testing.T) {
	descriptors := 0
	try := func(name string, m *anesim.Model, err error) {
		if err != nil {
			return // a layer or a file that is no network
		}
		list, n := findings(t, name, m)
		descriptors += n
		for _, f := range list {
			t.Error(f)
		}
	}
	for _, words := range goldenLayers(t) {
		f := strings.Fields(words)
		m, err := anesim.Layer(f[0], f[1:]...)
		try(words, m, err)
	}
	for _, pattern := range []string{"../../tools/anesim/examples/*"} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() && !strings.HasSuffix(file, ".mlpackage") || strings.HasSuffix(file, ".fw") {
				continue
			}
			m, err := anesim.Open(file)
			try(filepath.Base(file), m, err)
		}
	}
	if descriptors < 1_000 {
		t.Errorf("%d descriptors", descriptors)
	}
}

// goldenLayers returns the layers for which the tests of package lower have expected descriptor
// text.
func goldenLayers(t *testing.T) (list []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, dir := range []string{"layers", "explained"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "loader", "lower", "testdata", dir, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no layers: %v", err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for part := range strings.SplitSeq("\n"+string(b), "\n\n") {
				for line := range strings.Lines(strings.TrimLeft(part, "\n")) {
					if strings.HasPrefix(line, "#") {
						continue
					}
					if words := strings.Join(strings.Fields(line), " "); words != "" && !seen[words] {
						seen[words] = true
						list = append(list, words)
					}
					break
				}
			}
		}
	}
	return list
}
