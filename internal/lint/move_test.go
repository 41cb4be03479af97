package lint_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/hw/regs"
	"anesim/internal/lint"
	"anesim/loader"
	"anesim/loader/patch"
)

// Whatever single mistake is made in a real network's chain, lint tells of it: a result that
// stands somewhere else in L2 or in scratch memory than its reader looks, a wait that is
// left out.
func TestMistakesInNetworks(t *testing.T) {
	kinds := map[string]int{}
	for _, name := range []string{"resnet50.yaml", "transformer.yaml", "mobilenetv2.yaml", "in memory: resnet50.yaml"} {
		file, inMemory := strings.CutPrefix(name, "in memory: ")
		m, err := (&anesim.OpenOptions{InMemory: inMemory}).Open(filepath.Join("..", "..", "tools", "anesim", "examples", file))
		if err != nil {
			t.Fatal(err)
		}
		programs, err := programsOf(t, m)
		if err != nil {
			t.Fatal(err)
		}
		p := programs[0]
		whole := bytes.Clone(p.Text)
		l, err := p.Link()
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range l.Tasks {
			for _, mistake := range mistakes(l, i, x) {
				set := patch.Program{Program: p}
				if err := set.Set(fmt.Sprintf("%d:%s", i, mistake)); err != nil {
					continue // the descriptor inherits the register
				}
				r, err := lint.Program(p)
				copy(p.Text, whole)
				if err != nil {
					continue // outside the program's memory
				}
				kinds[strings.Split(mistake, "=")[0]]++
				if len(r.Findings) == 0 {
					t.Errorf("%s, descriptor %d: %s is not found", name, i, mistake)
				}
			}
		}
	}
	t.Log(kinds)
	for _, k := range []string{"L2.ResultBase", "L2.SourceCfg", "TileDMADst.DstBase", "TileDMADst.DstPlaneStride", "TileDMADst.DstRowStride"} {
		if kinds[k] < 3 {
			t.Errorf("%d mistakes in %s", kinds[k], k)
		}
	}
}

// mistakes returns assignments to registers of descriptor i, whose task is x, each of which breaks
// the program l.
func mistakes(l *loader.Linked, i int, x *regs.Task) (list []string) {
	o, g := x.Operands, &x.Groups
	if o.Result.L2 == regs.Resident && !o.Result.DRAM {
		list = append(list, fmt.Sprintf("L2.ResultBase=%#x", o.Result.Tile.Base+0x40))
	}
	if o.Result.DRAM && x.Header.Bases.WBase() == regs.BARScratch {
		list = append(list, fmt.Sprintf("TileDMADst.DstBase=%#x", o.Result.Base+0x40))
	}
	if o.Result.DRAM && o.Result.Channels > 1 && !o.Result.Transposed {
		list = append(list, "TileDMADst.DstPlaneStride=0")
	}
	if o.Result.DRAM && o.Result.Height > 1 {
		list = append(list, "TileDMADst.DstRowStride=0")
	}
	if i > 0 && o.Source1.L2 == regs.Resident && !o.Source1.DRAM && o.Source1.Tile.Base == l.Tasks[i-1].Operands.Result.Tile.Base && l.Tasks[i-1].Operands.Result.L2 == regs.Resident {
		c := g.L2.SourceCfg.WithAConvRslt(false).WithAPlnrRslt(false).WithDep_or_BfrMode(0)
		list = append(list, fmt.Sprintf("L2.SourceCfg=%#x", regs.Raw(c)))
	}
	return list
}

// A container whose weight addresses have no relocations, or has one at another word, is found, though
// it runs as before where it stands.
func TestRelocations(t *testing.T) {
	m, err := anesim.Layer("softmax", "c=64", "h=8", "w=8")
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Programs(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole := *list[0]
	if n := len(whole.Relocations); n != 17 {
		t.Fatalf("%d relocations; want 16 lanes and one", n)
	}
	for what, tc := range map[string]struct {
		change func(p *loader.Program)
		want   []string
	}{
		"none": {func(p *loader.Program) { p.Relocations = nil }, []string{
			"descriptor 2 KernelDMASrc.CoeffBaseAddr: relocation: weight addresses without a relocation: 16, the first of lane 0", "descriptor 3 KernelDMASrc.CoeffBaseAddr: relocation: weight addresses without a relocation: 1, the first of lane 0",
		}},
		"one less": {func(p *loader.Program) { p.Relocations = p.Relocations[:16] }, []string{"descriptor 3 KernelDMASrc.CoeffBaseAddr: relocation: weight addresses without a relocation: 1, the first of lane 0"}},
		"one moved by a word": {func(p *loader.Program) {
			p.Relocations[16].Off += 4
			p.Relocations[16].Register += 4
		}, []string{"descriptor 3 KernelDMASrc.CoeffBaseAddr: relocation: weight addresses without a relocation: 1, the first of lane 0", "descriptor 3 KernelDMASrc.CoeffBaseAddr[1].Addr: relocation: relocations of words that are no weight addresses in use: 1, the first of KernelDMASrc.CoeffBaseAddr[1].Addr"}},
		"all": {func(*loader.Program) {}, nil},
	} {
		p := whole
		p.Relocations = slices.Clone(whole.Relocations)
		tc.change(&p)
		r, err := lint.Program(&p)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range r.Findings {
			got = append(got, r.Findings[i].String())
		}
		if !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
			t.Errorf("%s: %q; want %q", what, got, tc.want)
		}
	}
}
