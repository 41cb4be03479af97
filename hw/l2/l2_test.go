package l2

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/hw/regs"
)

var m1 = Params{Bytes: 2 << 20, Banks: 64, Granule: 16}

// conflictDepth against a count of the granules that fall on each bank.
func TestConflictDepthCountsBanks(t *testing.T) {
	for rows := 1; rows <= 130; rows++ {
		for stride := uint32(0); stride < 0x900; stride += 16 {
			var load [64]int
			worst := 0
			for r := range rows {
				b := (r * int(stride) / 16) % 64
				load[b]++
				worst = max(worst, load[b])
			}
			if got := m1.conflictDepth(rows, stride); got != worst {
				t.Fatalf("%d rows %#x apart: depth %d, counted %d", rows, stride, got, worst)
			}
		}
	}
}

// The skews the compiler adds to row strides are the ones that spread banks.
func TestSkewsAvoidConflicts(t *testing.T) {
	for _, tc := range []struct{ skewed, plain uint32 }{
		{0x830, 0x800}, {0x1030, 0x1000}, {0x4050, 0x4000}, {0x430, 0x400}, {0x420, 0x400},
	} {
		if s, p := m1.conflictDepth(8, tc.skewed), m1.conflictDepth(8, tc.plain); s >= p {
			t.Errorf("eight rows: stride %#x has depth %d, %#x has %d", tc.skewed, s, tc.plain, p)
		}
	}
}

func TestReadReturnsWhatWriteStored(t *testing.T) {
	s := regs.Shape{Groups: 2, Channels: 3, Height: 2, Width: 5}
	for _, l := range []regs.Tile{
		{Base: 0x40, Channel: 0x10, Row: 0x50, Group: 0x100},
		{Base: 0x40, Channel: 0x10, Row: 0x60, Group: 0x100, Transposed: true},
	} {
		p := New(0x400)
		n := s.Elements() / s.Groups
		for _, write := range []bool{true, false} {
			for g := range s.Groups {
				v, err := p.View(l, s, g, 0)
				if err != nil {
					t.Fatal(err)
				}
				want := make([]float16.Float16, n)
				for i := range want {
					want[i] = float16.Float16(g<<8 | i + 1)
				}
				got := make([]float16.Float16, n)
				for r := range 6 {
					if write {
						v.SetRow(want[r*5:r*5+2], r/2, r%2, 0)
						v.SetRow(want[r*5+2:r*5+5], r/2, r%2, 2)
					}
					v.Row(got[r*5:r*5+5], r/2, r%2)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("group %d of %+v (-want +got):\n%s", g, l, d)
				}
			}
		}
	}
}

func TestTilesBeyondTheEndAreRefused(t *testing.T) {
	p := New(0x100)
	s := regs.Shape{Groups: 1, Channels: 2, Height: 1, Width: 8}
	if _, err := p.View(regs.Tile{Base: 0xe0, Channel: 0x10}, s, 0, 0); err != nil {
		t.Errorf("tile that ends at the end: %v", err)
	}
	var re *RangeError
	if _, err := p.View(regs.Tile{Base: 0xf0, Channel: 0x10}, s, 0, 0); !errors.As(err, &re) || re.End != 0x110 {
		t.Errorf("tile beyond the end: %v", err)
	}
}

// Results whose rows collide go in one after the other; a skew spreads them.
func TestWritebackConflicts(t *testing.T) {
	for _, tc := range []struct {
		channels int
		patch    Patch
		want     int
	}{
		{2, Patch{1, 1, 0x20}, 1}, // the vendor's cost dump
		{16, Patch{8, 32, 0x430}, 8},
		{16, Patch{8, 32, 0x400}, 64}, // all on one bank
		{16, Patch{8, 32, 0x420}, 8},
		{16, Patch{8, 32, 0x200}, 32}, // on two
		{16, Patch{8, 32, 0}, 8},
		{1, Patch{128, 8, 0x10}, 2},
		{1, Patch{128, 8, 0x400}, 128},
	} {
		if got := m1.WritebackCycles(tc.channels, tc.patch); int(got) != tc.want {
			t.Errorf("%d channels of %+v: %d cycles, want %d", tc.channels, tc.patch, got, tc.want)
		}
	}
}

// TestReadConflicts checks that a patch of 256 pixels is read fetch by fetch, of 128 bytes each. The
// rows of one fetch wait for each other; rows of two fetches do not.
func TestReadConflicts(t *testing.T) {
	for _, tc := range []struct {
		what   string
		window Window
		want   int
	}{
		{"16 pixels a row, skewed by three granules", Window{Patch{16, 16, 0x1030}, 16, 1}, 4},
		{"all rows on one bank", Window{Patch{16, 16, 0x1000}, 16, 1}, 16},
		{"on two", Window{Patch{16, 16, 0x1200}, 16, 1}, 8},
		{"a granule on: half of each row meets the next", Window{Patch{16, 16, 0x1010}, 16, 1}, 8},
		{"a granule back: no better", Window{Patch{16, 16, 0x13f0}, 16, 1}, 8},
		{"32 pixels a row, skewed by five", Window{Patch{8, 32, 0x4050}, 32, 1}, 4},
		{"and not", Window{Patch{8, 32, 0x4000}, 32, 1}, 8},
		{"64 pixels a row fill a fetch and need no skew", Window{Patch{4, 64, 0x8000}, 64, 1}, 4},
		{"56 pixels a row are a patch of 64", Window{Patch{6, 56, 0x7000}, 64, 1}, 6},
		{"with the halo of a 3x3 kernel", Window{Patch{10, 34, 0x4050}, 32, 1}, 6},
		{"which three granules do not clear", Window{Patch{10, 34, 0x4030}, 32, 1}, 10},
		{"18 of a 3x3 kernel, skewed by three", Window{Patch{18, 18, 0x1030}, 16, 1}, 6},
		{"24 pixels a row are a patch of 32: skewed by five", Window{Patch{10, 24, 0x2050}, 32, 1}, 4},
		{"and by three", Window{Patch{10, 24, 0x2030}, 32, 1}, 4},
		{"with a halo, by three", Window{Patch{10, 26, 0x2030}, 32, 1}, 10},
		{"every second row and column for 16 results, skewed by two", Window{Patch{33, 33, 0x2020}, 16, 2}, 18},
		{"and not", Window{Patch{33, 33, 0x2000}, 16, 2}, 36},
		{"one row", Window{Patch{1, 256, 0x8000}, 256, 1}, 4},
		{"8 pixels a row, skewed by three", Window{Patch{32, 8, 0x1030}, 8, 1}, 4},
		{"8 pixels a row on one bank", Window{Patch{32, 8, 0x1000}, 8, 1}, 32},
		{"nothing", Window{Patch{0, 8, 0}, 8, 1}, 0},
	} {
		if got := m1.Cycles(tc.window, false); got != tc.want {
			t.Errorf("%s: %d cycles, want %d", tc.what, got, tc.want)
		}
	}
	// Engines with a channel each read from all banks at once, up to the same conflicts.
	if got := m1.Cycles(Window{Patch{16, 16, 0x1030}, 16, 1}, true); got != 1 {
		t.Errorf("a unicast channel: %d cycles, want 1", got)
	}
	if got := m1.Cycles(Window{Patch{16, 16, 0x1000}, 16, 1}, true); got != 16 {
		t.Errorf("a unicast channel on one bank: %d cycles, want 16", got)
	}
}

func TestViewsOfATile(t *testing.T) {
	s := regs.Shape{Groups: 2, Channels: 2, Depth: 2, Height: 2, Width: 4}
	l := regs.Tile{Base: 0x20, Row: 8, Channel: 0x10, Depth: 0x40, Group: 0x100}
	p := New(int(l.Span(s))) // a tile that fills the scratchpad
	a, err := p.View(l, s, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.View(l, s, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	a.SetRow([]float16.Float16{0x1234}, 1, 1, 3)
	const at = 0x20 + 8 + 0x10 + 0x40 + 0x100 + 2*3
	if got := binary.LittleEndian.Uint16(p.mem[at:]); got != 0x1234 {
		t.Errorf("%#x at %#x", got, at)
	}
	row := make([]float16.Float16, 4)
	if b.Row(row, 1, 1); row[3] != 0x1234 {
		t.Errorf("the other view has %#x", row)
	}
}
