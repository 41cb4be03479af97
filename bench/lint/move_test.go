package lint_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"anesim"
	"anesim/bench/lint"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/patch"
)

// Whatever single mistake is made in a real network's chain, lint tells of it: a result that
// stands somewhere else in the L2 or in scratch memory than its reader looks, a wait that is
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
		list = append(list, fmt.Sprintf("L2.SourceCfg=%#x", uint32(c)))
	}
	return list
}
