package lower_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/internal/lint"
	"anesim/loader"
	"anesim/loader/internal/golden"
	"anesim/loader/internal/lower/join"
	. "anesim/loader/lower"
)

// Every layer and network of the goldens is free of findings, but for results of layers that no
// other layer and no output takes.
func TestGoldensLint(t *testing.T) {
	descriptors, unused := 0, 0
	for _, pattern := range []string{"layers", "explained", "networks"} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			for _, c := range golden.Read(t, file) {
				p, spare := goldenProgram(t, pattern == "networks", c.Input)
				if p == nil {
					continue // refused
				}
				name := strings.Join(c.Input, "; ")
				r, err := lint.Program(p)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				descriptors += r.Descriptors
				if r.Undecided > 0 {
					t.Errorf("%s: %d undecided", name, r.Undecided)
				}
				for i := range r.Findings {
					if spare && r.Findings[i].Rule == lint.Unread {
						unused++
						continue
					}
					t.Errorf("%s: %v", name, &r.Findings[i])
				}
			}
		}
	}
	if descriptors < 1000 || unused == 0 {
		t.Errorf("%d descriptors, %d findings of unused layers", descriptors, unused)
	}
}

// goldenProgram is the program of a golden's input, nil where it is refused, and whether it is
// one of a network with layers that nothing takes.
func goldenProgram(t *testing.T, isNetwork bool, input []string) (p *loader.Program, spare bool) {
	t.Helper()
	var b *loader.Builder
	if isNetwork {
		n := goldenNetwork(t, input)
		j, err := n.Join()
		if err != nil {
			return nil, false
		}
		b, spare = j.Builder, hasUnused(n)
	} else {
		l, w := goldenLayer(t, input)
		c, err := Compile(l, w)
		if err != nil {
			return nil, false
		}
		b = c.Builder
	}
	p, err := b.Layout("golden")
	if err != nil {
		return nil, false
	}
	return p, spare
}

// hasUnused reports whether a network has a layer that no other layer and no output takes.
func hasUnused(n *join.Network) bool {
	return slices.ContainsFunc(n.Nodes, func(x join.Node) bool {
		return !slices.Contains(n.Outputs, x.Output) &&
			!slices.ContainsFunc(n.Nodes, func(y join.Node) bool { return slices.Contains(y.Inputs, x.Output) })
	})
}
