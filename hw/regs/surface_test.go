package regs_test

import (
	"errors"
	"testing"

	"anesim/hw/regs"
)

func TestSurface(t *testing.T) {
	for _, tc := range []struct {
		name string
		s    regs.Surface
		low  int64
		span uint64
	}{
		{"64 channels of one pixel", // a row is padded to 64 bytes
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 64, Height: 1, Width: 1}, Row: 64, Plane: 64},
			0, 63*64 + 2},
		{"64x64 pixels without padding",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 64, Height: 64, Width: 64}, Row: 0x80, Plane: 0x2000},
			0, 0x80000},
		{"8x8 pixels in rows of 64 bytes, batch 8",
			regs.Surface{Shape: regs.Shape{Groups: 8, Channels: 64, Height: 8, Width: 8}, Row: 64, Plane: 512, Group: 0x8000},
			0, 7*0x8000 + 63*512 + 7*64 + 16},
		{"a depth of 16",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 1, Height: 2, Width: 16, Depth: 16}, Row: 0x400, DepthStride: 0x40},
			0, 0x400 + 15*0x40 + 32},
		{"no strides at all",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: 5}},
			0, 10},
		{"8-bit elements",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 1, Height: 64, Width: 64}, Row: 0x40, Element: 1},
			0, 0x1000},
		{"transposed: channels side by side",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 256, Height: 1, Width: 2}, Row: 0x400, Plane: 0x200, Transposed: true},
			0, 0x200 + 512},
		{"interleaved by four",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 64, Height: 1, Width: 256}, Row: 0x800, Plane: 0x800, Interleave: 4},
			0, 16 * 0x800},
		{"transposed, then interleaved by four",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 128, Height: 1, Width: 64}, Row: 0x400, Plane: 0x400, Transposed: true, Interleave: 4},
			0, 16 * 0x400},
		{"rows upwards",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 2, Height: 3, Width: 4}, Row: -64, Plane: 256},
			-128, 256 + 8 + 128},
		{"no elements",
			regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 0, Height: 1, Width: 1}, Row: 64},
			0, 0},
	} {
		if low, _ := tc.s.Extent(); low != tc.low {
			t.Errorf("%s: begins at %d, want %d", tc.name, low, tc.low)
		}
		if got := tc.s.Span(); got != tc.span {
			t.Errorf("%s: spans %#x bytes, want %#x", tc.name, got, tc.span)
		}
	}
}

func TestResolve(t *testing.T) {
	bars := regs.BARs{1: 0x4000, 4: 0x3000_0000, 5: 1<<42 - 0x40}
	var on regs.Groups
	on.TileDMASrc.Src1DMAConfig = on.TileDMASrc.Src1DMAConfig.WithDepMode(1)
	on.ReadMeanings()
	on.TileDMASrc.Src1Base = on.TileDMASrc.Src1Base.WithBytes(0x80)
	for _, tc := range []struct {
		name  string
		bases regs.HeaderBases
		want  uint64
		err   string
	}{
		{"base and offset", regs.HeaderBases(0).WithRBase0(4).WithRBE0(true), 0x3000_0080, ""},
		{"no buffer named", regs.HeaderBases(0).WithRBase0(4), 0, "source 1 DMA is enabled, but the header names no buffer"},
		{"buffer not there", regs.HeaderBases(0).WithRBase0(31).WithRBE0(true), 0, "source 1 DMA is enabled, but buffer 31 is not in the program"},
		{"beyond the address bits", regs.HeaderBases(0).WithRBase0(5).WithRBE0(true), 0,
			"source 1 DMA is enabled, but buffer 5 resolves to address 0x40000000040, which exceeds 42 bits"},
	} {
		b, err := regs.Resolve(&regs.Header{Bases: tc.bases}, &on, &bars)
		var be *regs.BaseError
		switch {
		case tc.err == "" && (err != nil || b != regs.Bases{Source1: tc.want}):
			t.Errorf("%s: %+v, %v", tc.name, b, err)
		case tc.err != "" && (!errors.As(err, &be) || err.Error() != tc.err):
			t.Errorf("%s: %v, want %s", tc.name, err, tc.err)
		}
	}
	// A base whose DMA is off is not resolved.
	if b, err := regs.Resolve(new(regs.Header), new(regs.Groups), new(regs.BARs)); err != nil || b != (regs.Bases{}) {
		t.Errorf("all off: %+v, %v", b, err)
	}
}
