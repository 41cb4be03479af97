package lint_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"anesim"
	"anesim/hw/regs"
	"anesim/internal/lint"
	"anesim/loader/patch"
)

// A descriptor may write its result over its source in L2 only if the rows of both are at the same
// places. If the rows of the result are spaced otherwise, its first rows replace elements that the
// descriptor has yet to read, whatever the readers of the result expect.
func TestResultsOverTheirOwnSources(t *testing.T) {
	tried := 0
	for _, name := range []string{"mobilenetv2.yaml", "resnet50.yaml", "transformer.yaml", "decode.yaml"} {
		m, err := anesim.Open(filepath.Join("..", "..", "tools", "anesim", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		programs, err := programsOf(t, m)
		if err != nil {
			t.Fatal(err)
		}
		p := programs[0]
		l, err := p.Link()
		if err != nil {
			t.Fatal(err)
		}
		whole := string(p.Text)
		for i, x := range l.Tasks {
			result := &x.Operands.Result
			if !x.Groups.Planar() || result.L2 != regs.Resident || result.DRAM || result.Height < 2 || !readsInPlace(x, result.Tile.Base) {
				continue
			}
			tried++
			set := patch.Program{Program: p}
			if err := set.Set(fmt.Sprintf("%d:L2.ResultRowStride=%#x", i, result.Tile.Row+0x10)); err != nil {
				t.Fatal(err)
			}
			r, err := lint.Program(p)
			copy(p.Text, whole)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range r.Findings {
				found = found || f.Descriptor == i && f.Rule == lint.Overlap && strings.Contains(f.What, "the same descriptor reads")
			}
			if !found {
				t.Errorf("%s, descriptor %d: rows of its result are 16 bytes further apart than those of the source below it: not found in %v", name, i, r.Findings)
			}
		}
	}
	if tried < 10 {
		t.Errorf("%d descriptors write over a source of theirs; want 10 or more", tried)
	}
}

// readsInPlace reports whether a source of x lies in L2 at base.
func readsInPlace(x *regs.Task, base uint32) bool {
	for _, s := range []*regs.Operand{&x.Operands.Source1, &x.Operands.Source2} {
		if s.Used && s.L2 == regs.Resident && !s.DRAM && s.Tile.Base == base {
			return true
		}
	}
	return false
}
