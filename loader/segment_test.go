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
		{"beyond it", seg{0, 64, 33, 32}, nil, 40, "leaves no room for 0x20 bytes in the file"},
		{"behind it", seg{0, 64, 64, 0}, nil, 0, ""},
		{"further behind", seg{0, 64, 65, 0}, nil, 40, "leaves no room for 0x0 bytes in the file"},
		{"more in the file than in memory", seg{0, 31, 0, 32}, nil, 48, "less than its file size"},
		{"to the end of the space", seg{space - 16, 16, 0, 0}, nil, 0, ""},
		{"beyond it", seg{space - 16, 17, 0, 0}, nil, 24, "leaves no room for 0x11 bytes in the 42-bit"},
		{"nothing behind it", seg{space, 0, 0, 0}, nil, 0, ""},
		{"nothing further behind", seg{space + 1, 0, 0, 0}, nil, 24, "leaves no room for 0x0 bytes in the 42-bit"},
		{"a section as large as its segment", seg{16, 16, 8, 16}, []section{{16, 16, 8, 0}}, 0, ""},
		{"two side by side", seg{16, 16, 8, 16}, []section{{16, 8, 8, 0}, {24, 8, 16, 0}}, 0, ""},
		{"an empty one at the end", seg{16, 16, 8, 16}, []section{{32, 0, 24, 0}}, 0, ""},
		{"one ahead of the segment", seg{16, 16, 8, 16}, []section{{15, 8, 8, 0}}, segmentSize + 32, "bytes outside its segment"},
		{"one behind it", seg{16, 16, 8, 16}, []section{{33, 0, 8, 0}}, segmentSize + 32, "bytes outside its segment"},
		{"one that leaves it", seg{16, 16, 8, 16}, []section{{24, 9, 8, 0}}, segmentSize + 32, "bytes outside its segment"},
		{"bytes ahead of the segment's", seg{16, 16, 8, 16}, []section{{16, 8, 7, 0}}, segmentSize + 48, "data outside its segment"},
		{"behind them", seg{16, 16, 8, 16}, []section{{16, 0, 25, 0}}, segmentSize + 48, "data outside its segment"},
		{"that leave them", seg{16, 16, 8, 16}, []section{{16, 8, 17, 0}}, segmentSize + 48, "data outside its segment"},
		{"a second section that does", seg{16, 16, 8, 16}, []section{{16, 4, 8, 0}, {16, 8, 17, 0}}, segmentSize + sectionSize + 48, "data outside its segment"},
		{"a window has no bytes", seg{16, 16, 0, 0}, []section{{16, 16, 63, 0}}, 0, ""},
		{"relocations", seg{16, 16, 8, 16}, []section{{16, 16, 8, 2}}, 0, ""},
		{"to the file's end", seg{16, 16, 8, 16}, []section{{16, 16, 8, 5}}, 0, ""},
		{"beyond it", seg{16, 16, 8, 16}, []section{{16, 16, 8, 6}}, segmentSize + 56, "leaves no room for 0x30 bytes in the file"},
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
	if _, err := (&reader{file: pieces{rest: file}}).decodeSegment(0, b); err == nil || !strings.Contains(err.Error(), "too large for its command") {
		t.Errorf("two sections in the room of one: %v", err)
	}
	if _, err := (&reader{file: pieces{rest: file}}).decodeSegment(0, b[:segmentSize-1]); err == nil || !strings.Contains(err.Error(), "truncated segment command") {
		t.Errorf("no room for the segment: %v", err)
	}
}
