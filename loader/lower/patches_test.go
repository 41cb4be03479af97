package lower_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/loader/internal/golden"
)

// TestPatches holds the sizes at which the engines divide the work of a layer differently to
// testdata/patches: the height and the width of a patch, the channels of a pass, the tiles of a
// result, and the spare bytes of a row in L2. Input has a range as in testdata/thresholds, and each
// line of the output has the first size of a division. Every size of the range is lowered.
func TestPatches(t *testing.T) {
	golden.Test(t, "testdata/patches/*.txt", func(t *testing.T, c *golden.Case) string {
		key, from, to := findRange(t, c.Input)
		var b strings.Builder
		last := ""
		for n := from; n <= to; n++ {
			lines := slices.Clone(c.Input)
			for i := range lines {
				lines[i] = strings.ReplaceAll(lines[i], fmt.Sprintf("%d..%d", from, to), strconv.Itoa(n))
			}
			if text := divisions(t, lines); text != last {
				fmt.Fprintf(&b, "%s%d: %s\n", key, n, text)
				last = text
			}
		}
		return b.String()
	})
}

// divisions describes how each descriptor of a layer or a network divides its work. It describes
// descriptors that follow each other and are equal in this once.
func divisions(t *testing.T, lines []string) string {
	t.Helper()
	builder, err := buildInput(t, lines)
	if err != nil {
		return "refused: " + hideSizes(err.Error())
	}
	var f regs.File
	var g regs.Groups
	var list []string
	for _, d := range builder.Chain {
		if err := d.Apply(&f); err != nil {
			t.Fatal(err)
		}
		f.Snapshot(&g)
		list = append(list, division(&g))
	}
	return strings.Join(slices.Compact(list), "; ")
}

// division describes how the task with registers g divides its work.
func division(g *regs.Groups) string {
	c := &g.Common
	var b strings.Builder
	if cfg := c.Cfg; g.Planar() {
		fmt.Fprintf(&b, "%dx%d", 1<<c.PlanarPatch.Log2H(), 1<<c.PlanarPatch.Log2W())
	} else {
		fmt.Fprintf(&b, "%d", 1<<cfg.ShMax())
		if cfg.ShMin() != cfg.ShMax() {
			fmt.Fprintf(&b, " to %d", 1<<cfg.ShMin())
		}
		if cfg.ShPref() != cfg.ShMin() {
			fmt.Fprintf(&b, ", best %d", 1<<cfg.ShPref())
		}
		if cfg.SmallSourceMode() {
			b.WriteString(" small")
		}
	}
	if n := c.ConvCfg.OCGSize(); n > 0 {
		fmt.Fprintf(&b, ", %d channels", 1<<n)
	}
	if tile, rows := c.TileCfg.TileHeight(), c.OutDim.Hout(); tile != rows {
		fmt.Fprintf(&b, ", %d tiles", (rows+tile-1)/tile)
	}
	s, channel, row := g.InShape(), int(g.L2.Src1ChannelStride.Bytes()), int(g.L2.Src1RowStride.Bytes())
	if columns := channel / 2; g.Source1On() && columns < s.Width {
		fmt.Fprintf(&b, ", slices of %d columns", columns)
	}
	if spare := row - s.Channels*channel; spare > 0 && s.Height > 1 {
		fmt.Fprintf(&b, ", %d spare", spare)
	}
	return b.String()
}
