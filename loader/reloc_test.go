package loader

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"anesim/hw/regs"
)

func TestRelocationResolve(t *testing.T) {
	bars := regs.BARs{4: 0x3000c000}
	for _, tt := range []struct {
		name string
		r    Relocation
		want uint64
		err  string
	}{
		{"address", Relocation{Kind: DeviceAddress, Target: 4, Value: 0x40, Bit: 6, Width: 26, Shift: 6}, 0xc00301, ""},
		{"low half of an address", Relocation{Kind: DeviceAddress, Target: 4, Width: 32}, 0x3000c000, ""},
		{"data set", Relocation{Kind: DataSet, Value: 3, Bit: 4, Width: 2}, 3, ""},
		{"offset", Relocation{Kind: BufferOffset, Value: 0x80, Bit: 6, Width: 26, Shift: 6}, 2, ""},
		{"live-in", Relocation{Kind: LiveIn, Value: 12, Width: 15, Range: Range{4, 20, 8}}, 12, ""},
		{"one value", Relocation{Kind: LiveIn, Value: 4, Width: 15, Range: Range{4, 4, 0}}, 4, ""},
		{"between steps", Relocation{Kind: LiveIn, Name: "rows", Value: 13, Width: 15, Range: Range{4, 20, 8}}, 0, "rows is 13; want 4 to 20 in steps of 8"},
		{"below", Relocation{Kind: LiveIn, Value: 3, Width: 15, Range: Range{4, 20, 1}}, 0, "want 4 to 20"},
		{"above", Relocation{Kind: LiveIn, Value: 21, Width: 15, Range: Range{4, 20, 1}}, 0, "want 4 to 20"},
		{"no step", Relocation{Kind: LiveIn, Value: 5, Width: 15, Range: Range{4, 20, 0}}, 0, "want 4 to 20"},
		{"no buffer", Relocation{Kind: DeviceAddress, Target: 5, Width: 32}, 0, "buffer 5 is not in the program"},
		{"no such buffer", Relocation{Kind: DeviceAddress, Target: 32, Width: 32}, 0, "buffer 32"},
		{"too wide", Relocation{Kind: DataSet, Value: 4, Bit: 4, Width: 2}, 0, "does not fit in 2 bits"},
		{"not in units", Relocation{Kind: BufferOffset, Value: 0x20, Bit: 6, Width: 26, Shift: 6}, 0, "not a multiple of 64"},
		{"beyond the word", Relocation{Kind: DataSet, Bit: 20, Width: 13}, 0, "invalid field"},
		{"no bits", Relocation{Kind: DataSet}, 0, "invalid field"},
	} {
		got, err := tt.r.Resolve(&bars)
		var r *RelocError
		if tt.err == "" && (err != nil || got != tt.want) || tt.err != "" && (!errors.As(err, &r) || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %#x, %v; want %#x, %q", tt.name, got, err, tt.want, tt.err)
		}
	}
}

// TestRelocationLink writes a bar into the text while it is linked and leaves the
// program alone.
func TestRelocationLink(t *testing.T) {
	p, err := exampleProgram("concat")
	if err != nil {
		t.Fatal(err)
	}
	base, _ := regs.Lookup("TileDMADst", "DstBase")
	var off uint32
	for d, err := range p.Descriptors() {
		if err != nil {
			t.Fatal(err)
		}
		for at, r := range recordsWithOffsets(d) {
			if d.Index == 1 && base.Addr() >= r.Addr && base.Addr() < r.Addr+4*uint32(len(r.Values)) {
				off = at + base.Addr() - r.Addr
			}
		}
	}
	p.Relocations = append(p.Relocations, Relocation{
		Kind: BufferOffset, Task: 1, Register: base.Addr(), Off: off, Bit: 6, Width: 26, Shift: 6, Value: 0x40,
	})
	before := string(p.Text)
	l, err := p.Link()
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Tasks[1].Bases.Destination; got != p.BARs[4]+0x40 {
		t.Errorf("destination at %#x, want %#x", got, p.BARs[4]+0x40)
	}
	if string(p.Text) != before {
		t.Error("linking changed the program's text")
	}
	// A bar is checked like any other surface.
	p.Relocations[0].Value = 0x4000
	var s *SurfaceError
	if _, err := p.Link(); !errors.As(err, &s) {
		t.Errorf("error %v, want a *SurfaceError", err)
	}
	p.Relocations[0].Off = 0x10000
	var r *RelocError
	if _, err := p.Link(); !errors.As(err, &r) {
		t.Errorf("error %v, want a *RelocError", err)
	}
	p.Relocations[0] = Relocation{Kind: DeviceAddress, Target: 9, Width: 32}
	if _, err := p.Link(); !errors.As(err, &r) {
		t.Errorf("error %v, want a *RelocError", err)
	}
}

// TestLinear holds the values at the edges of their range to arithmetic without one.
func TestLinear(t *testing.T) {
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -3, -1, 0, 1, 2, 1 << 31, math.MaxInt64 - 1, math.MaxInt64}
	for _, v := range []uint64{0, 1, 2, 1 << 32, math.MaxInt64, math.MaxUint64} {
		for _, scale := range edges {
			for _, plus := range edges {
				want := new(big.Int).SetUint64(v)
				if scale != 0 {
					want.Mul(want, big.NewInt(scale))
				}
				// A product of more than 63 bits is refused even where the sum has fewer.
				fits := want.IsInt64() && want.Int64() != math.MinInt64
				want.Add(want, big.NewInt(plus))
				fits = fits && want.IsInt64() && want.Sign() >= 0
				if got, ok := Linear(v, scale, plus); ok != fits || ok && got != want.Uint64() {
					t.Errorf("%d*%d%+d is %d, %v; want %v, %v", scale, v, plus, got, ok, want, fits)
				}
			}
		}
	}
}
