package lower_test

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/golden"
	. "anesim/loader/lower"
)

// TestPlacements holds layers and networks to testdata/placements, which has a line for each descriptor: what
// it computes, the groups, channels, rows and columns of its first source and of its result, where
// each operand begins, and the bytes from one channel, row and group to the next. Operands are in L2,
// or in a buffer of memory such as b4, the first input or output, from which they go through L2.
func TestPlacements(t *testing.T) {
	golden.Test(t, "testdata/placements/*.txt", func(t *testing.T, c *golden.Case) string {
		var b strings.Builder
		var builder *loader.Builder
		if strings.Contains(c.Input[0], " = ") {
			j, err := goldenNetwork(t, c.Input).Join()
			if err != nil {
				return "refused: " + err.Error()
			}
			for _, s := range j.Spilled {
				fmt.Fprintf(&b, "spilled %s of %d bytes: %s\n", s.Tensor, s.Bytes, s.Why)
			}
			builder = j.Builder
		} else {
			made, err := Compile(goldenLayer(t, c.Input))
			if err != nil {
				return "refused: " + err.Error()
			}
			builder = made.Builder
		}
		b.WriteString(placements(t, builder))
		if n := builder.Scratch; n > 0 {
			fmt.Fprintf(&b, "scratch %d bytes\n", n)
		}
		if n := len(builder.Constants); n > 0 {
			fmt.Fprintf(&b, "constants %d bytes, checksum %08x\n", n, crc32.ChecksumIEEE(builder.Constants))
		} else if builder.ConstantBytes > 0 {
			fmt.Fprintf(&b, "constants %d bytes\n", builder.ConstantBytes)
		}
		return b.String()
	})
}

// placements returns a line with the operands of each descriptor.
func placements(t *testing.T, builder *loader.Builder) string {
	t.Helper()
	p, err := builder.Layout("placements")
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	var b strings.Builder
	var f regs.File
	var g regs.Groups
	i := 0
	for about, err := range p.Describe() {
		if err != nil {
			t.Fatal(err)
		}
		d := builder.Chain[i]
		if err := d.Apply(&f); err != nil {
			t.Fatal(err)
		}
		f.Snapshot(&g)
		fmt.Fprintf(&b, "%d %s", i, about.Operation)
		if tile, rows := g.Common.TileCfg.TileHeight(), g.Common.OutDim.Hout(); tile != rows {
			fmt.Fprintf(&b, " (tiles of %d of %d rows)", tile, rows)
		}
		o, s, l := &g.TileDMADst, &g.TileDMASrc, &g.L2
		first := place(l.Src1Base.Bytes(), l.Src1ChannelStride.Bytes(), l.Src1RowStride.Bytes(), l.Src1GroupStride.Bytes())
		if g.Source1On() {
			first = fmt.Sprintf("b%d %s in %s", d.Header.Bases.RBase0(), place(s.Src1Base.Bytes(), s.Src1PlaneStride.Bytes(), s.Src1RowStride.Bytes(), s.Src1GroupStride.Bytes()), first)
		}
		fmt.Fprintf(&b, "\n    reads  %s %s\n", extents(g.InShape()), first)
		if len(about.Sources) > 1 {
			second := place(l.Src2Base.Bytes(), l.Src2ChannelStride.Bytes(), l.Src2RowStride.Bytes(), l.Src2GroupStride.Bytes())
			if g.Source2On() {
				second = fmt.Sprintf("b%d %s in %s", d.Header.Bases.RBase1(), place(s.Src2Base.Bytes(), s.Src2PlaneStride.Bytes(), s.Src2RowStride.Bytes(), s.Src2GroupStride.Bytes()), second)
			}
			fmt.Fprintf(&b, "    and    %s\n", second)
		}
		if about.Weights != "" {
			fmt.Fprintf(&b, "    weights %s%s", about.Weights, coding(&g))
			if w, ok := builder.WindowTaps[i]; ok {
				fmt.Fprintf(&b, ", for %d of the taps", w.Taps)
			}
			b.WriteString("\n")
		}
		result := place(l.ResultBase.Bytes(), l.ResultChannelStride.Bytes(), l.ResultRowStride.Bytes(), l.ResultGroupStride.Bytes())
		if g.DestinationOn() {
			result = fmt.Sprintf("b%d %s through %s", d.Header.Bases.WBase(), place(o.DstBase.Bytes(), o.DstPlaneStride.Bytes(), o.DstRowStride.Bytes(), o.DstGroupStride.Bytes()), result)
		}
		fmt.Fprintf(&b, "    writes %s %s\n", extents(g.OutShape()), result)
		i++
	}
	return b.String()
}

// place describes an address and the bytes from one channel, row and group to the next.
func place(base, channel, row, group uint32) string {
	return fmt.Sprintf("at %#x by %d, %d, %d", base, channel, row, group)
}

// extents describes a shape by its groups, channels, rows and columns, and its depth if it has one.
func extents(s regs.Shape) string {
	text := fmt.Sprintf("%dx%dx%dx%d", s.Groups, s.Channels, s.Height, s.Width)
	if s.Depth > 1 {
		text += fmt.Sprintf("x%d", s.Depth)
	}
	return text
}

// coding describes how the weights of a descriptor are coded, unless they are plain fp16 values.
func coding(g *regs.Groups) (text string) {
	cfg := g.NE.KernelCfg
	if cfg.KernelFmt() != regs.FormatFP16 {
		text += ", a byte for each"
	}
	if cfg.PalEn() {
		text += fmt.Sprintf(", %d bits of a palette", cfg.PalBits())
	}
	if cfg.Sparse() {
		text += ", without zeros"
	}
	return text
}
