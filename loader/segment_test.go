package loader

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// Segments and their sections at the ends of the device's space, the file and each other.
func TestSegmentLimits(t *testing.T) {
	const space = 1 << regs.AddressBits
	type section struct{ addr, size, offset, relocs uint64 }
	type seg struct{ addr, memory, offset, file uint64 }
	build := func(s seg, list ...section) []byte {
		b := command(CommandSegment, segmentSize+sectionSize*len(list), map[int]uint64{24: s.addr, 32: s.memory, 40: s.offset, 48: s.file})
		le.PutUint32(b[64:], uint32(len(list)))
		copy(b[8:], "S")
		for i, x := range list {
			at := b[segmentSize+sectionSize*i:]
			copy(at, "s")
			copy(at[16:], "S")
			le.PutUint64(at[32:], x.addr)
			le.PutUint64(at[40:], x.size)
			le.PutUint32(at[48:], uint32(x.offset))
			le.PutUint32(at[56:], uint32(x.offset+x.size)) // relocations stand behind the bytes
			le.PutUint32(at[60:], uint32(x.relocs))
		}
		return b
	}
	file := make([]byte, 64)
	for i := range file {
		file[i] = byte(i)
	}
	for _, tc := range []struct {
		name string
		s    seg
		list []section
		off  int    // of the error in the command at 1000
		err  string // "" for none
	}{
		{"nothing", seg{}, nil, 0, ""},
		{"all of the file", seg{0, 64, 0, 64}, nil, 0, ""},
		{"to its end", seg{0, 64, 32, 32}, nil, 0, ""},
		{"beyond it", seg{0, 64, 33, 32}, nil, 40, "extends past the end of the file"},
		{"behind it", seg{0, 64, 64, 0}, nil, 0, ""},
		{"further behind", seg{0, 64, 65, 0}, nil, 40, "extends past the end of the file"},
		{"more in the file than in memory", seg{0, 31, 0, 32}, nil, 48, "more bytes in the file"},
		{"to the end of the space", seg{space - 16, 16, 0, 0}, nil, 0, ""},
		{"beyond it", seg{space - 16, 17, 0, 0}, nil, 24, "extends past the 42-bit"},
		{"nothing behind it", seg{space, 0, 0, 0}, nil, 0, ""},
		{"nothing further behind", seg{space + 1, 0, 0, 0}, nil, 24, "extends past the 42-bit"},
		{"a section as large as its segment", seg{16, 16, 8, 16}, []section{{16, 16, 8, 0}}, 0, ""},
		{"two side by side", seg{16, 16, 8, 16}, []section{{16, 8, 8, 0}, {24, 8, 16, 0}}, 0, ""},
		{"an empty one at the end", seg{16, 16, 8, 16}, []section{{32, 0, 24, 0}}, 0, ""},
		{"one ahead of the segment", seg{16, 16, 8, 16}, []section{{15, 8, 8, 0}}, segmentSize + 32, "is not inside its segment"},
		{"one behind it", seg{16, 16, 8, 16}, []section{{33, 0, 8, 0}}, segmentSize + 32, "is not inside its segment"},
		{"one that leaves it", seg{16, 16, 8, 16}, []section{{24, 9, 8, 0}}, segmentSize + 32, "is not inside its segment"},
		{"bytes ahead of the segment's", seg{16, 16, 8, 16}, []section{{16, 8, 7, 0}}, segmentSize + 48, "are not inside its segment"},
		{"behind them", seg{16, 16, 8, 16}, []section{{16, 0, 25, 0}}, segmentSize + 48, "are not inside its segment"},
		{"that leave them", seg{16, 16, 8, 16}, []section{{16, 8, 17, 0}}, segmentSize + 48, "are not inside its segment"},
		{"a second section that does", seg{16, 16, 8, 16}, []section{{16, 4, 8, 0}, {16, 8, 17, 0}}, segmentSize + sectionSize + 48, "are not inside its segment"},
		{"a window has no bytes", seg{16, 16, 0, 0}, []section{{16, 16, 63, 0}}, 0, ""},
		{"relocations", seg{16, 16, 8, 16}, []section{{16, 16, 8, 2}}, 0, ""},
		{"to the file's end", seg{16, 16, 8, 16}, []section{{16, 16, 8, 5}}, 0, ""},
		{"beyond it", seg{16, 16, 8, 16}, []section{{16, 16, 8, 6}}, segmentSize + 56, "extends past the end of the file"},
	} {
		r := &reader{file: pieces{rest: file}}
		l, err := r.decodeSegment(1000, build(tc.s, tc.list...))
		var f *FormatError
		if tc.err != "" {
			if !errors.As(err, &f) || f.Off != uint64(1000+tc.off) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v, want %q at %d", tc.name, err, tc.err, 1000+tc.off)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		s := l.(*SegmentLoad)
		if len(tc.list) == 0 && !slices.Equal(s.Data, file[tc.s.offset:tc.s.offset+tc.s.file]) {
			t.Errorf("%s: % x", tc.name, s.Data)
		}
		for i, x := range tc.list {
			h := s.Sections[i]
			if tc.s.file > 0 && !slices.Equal(h.Data, file[x.offset:x.offset+x.size]) || len(h.Relocs) != int(x.relocs) {
				t.Errorf("%s: section %d has % x and %d relocations", tc.name, i, h.Data, len(h.Relocs))
			}
			for k, p := range h.Relocs {
				if at := x.offset + x.size + relocSize*uint64(k); p.Off != le.Uint32(file[at:]) || p.Info != le.Uint32(file[at+4:]) {
					t.Errorf("%s: relocation %d is %+v", tc.name, k, p)
				}
			}
		}
	}
	b := build(seg{}, section{})
	le.PutUint32(b[64:], 2)
	if _, err := (&reader{file: pieces{rest: file}}).decodeSegment(0, b); err == nil || !strings.Contains(err.Error(), "extend past the command") {
		t.Errorf("two sections in the room of one: %v", err)
	}
	if _, err := (&reader{file: pieces{rest: file}}).decodeSegment(0, b[:segmentSize-1]); err == nil || !strings.Contains(err.Error(), "is below") {
		t.Errorf("no room for the segment: %v", err)
	}
}

// What planar tasks do, in words: each stage that changes something, and no other.
func TestPlanarWords(t *testing.T) {
	const half, two = 0x3800, 0x4000
	neutral := func(form regs.PlanarForm, change func(*regs.Groups)) *regs.Groups {
		g := new(regs.Groups)
		g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
		g.Common.InDim, g.Common.OutDim = g.Common.InDim.WithHin(2).WithWin(2), g.Common.OutDim.WithHout(2).WithWout(2)
		g.Common.Cin, g.Common.Cout, g.Common.InDepth, g.Common.OutDepth = 1, 1, 1, 1
		g.PE.BiasScale = g.PE.BiasScale.WithScale(0x3c00)
		g.PE.PreScale = g.PE.PreScale.WithScale(0x3c00)
		g.PE.FinalScale = 0x3f800000
		change(g)
		return g
	}
	for _, tc := range []struct {
		form   regs.PlanarForm
		change func(*regs.Groups)
		want   string
	}{
		{regs.FormConstant, func(*regs.Groups) {}, "copy by the planar engine"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithBias(half) }, "addition of 0.5"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithScale(two) }, "multiplication by 2"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithBias(half).WithScale(two) }, "addition of 0.5, then multiplication by 2"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.PreScale = g.PE.PreScale.WithPreScale(half) }, "copy by the planar engine, plus 0.5"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.PreScale = g.PE.PreScale.WithScale(two) }, "copy by the planar engine, times 2"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.PreScale = 0 }, "copy by the planar engine"},
		{regs.FormConstant, func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithAbsolute(true) }, "absolute value"},
		{regs.FormConstant, func(g *regs.Groups) {
			g.PE.Cfg, g.PE.BiasScale = g.PE.Cfg.WithAbsolute(true), g.PE.BiasScale.WithBias(half)
		}, "absolute value, plus 0.5"},
		{regs.FormBiasScale, func(*regs.Groups) {}, "source 1 plus the first row of source 2, times its second row"},
		{regs.FormBiasScale, func(g *regs.Groups) { g.PE.Cfg = g.PE.Cfg.WithSecSrc(negated) }, "source 1 less the first row of source 2, times its second row"},
		{regs.FormBiasScale, func(g *regs.Groups) { g.PE.BiasScale = g.PE.BiasScale.WithBias(half).WithScale(two) }, "source 1 plus the first row of source 2, times its second row, plus 0.5, times 2"},
		{regs.PlanarForm(0x77 & 0xf), func(*regs.Groups) {}, ""},
	} {
		g := neutral(tc.form, tc.change)
		got := strings.Join(describePlanarOperation(g, g.Operands()), ", ")
		if tc.want == "" {
			if !strings.Contains(got, "whose meaning is not known") {
				t.Errorf("form %v: %q", tc.form, got)
			}
		} else if got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
