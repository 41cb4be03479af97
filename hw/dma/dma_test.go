package dma

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

func memory(t *testing.T, segs ...Segment) *Memory {
	t.Helper()
	m, err := NewMemory(segs)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMemoryChecksEveryAccess(t *testing.T) {
	m := memory(t, Segment{"b", 0x2000, 0x100, nil}, Segment{"a", 0x1000, 0x80, []byte{1, 2}})
	for _, tc := range []struct {
		addr, n uint64
		segment string
		ok      bool
	}{
		{0x1000, 0x80, "", true},
		{0x107f, 1, "", true},
		{0x1000, 0x81, "a", false},
		{0x1080, 1, "", false},
		{0xfff, 1, "", false},
		{0x20ff, 2, "b", false},
		{0x2100, 1, "", false},
		{^uint64(0), 8, "", false},
		{0x2000, ^uint64(0), "b", false},
	} {
		err := m.Check(tc.addr, tc.n)
		var ae *AccessError
		switch {
		case tc.ok && err != nil:
			t.Errorf("%#x bytes at %#x: %v", tc.n, tc.addr, err)
		case !tc.ok && !errors.As(err, &ae):
			t.Errorf("%#x bytes at %#x: error %v", tc.n, tc.addr, err)
		case !tc.ok && ae.Segment != tc.segment:
			t.Errorf("%#x bytes at %#x: in segment %q, want %q", tc.n, tc.addr, ae.Segment, tc.segment)
		}
	}
	if b, _ := m.Bytes(0x1000, 3); !cmp.Equal(b, []byte{1, 2, 0}) {
		t.Errorf("initial bytes %v", b)
	}
	if _, err := NewMemory([]Segment{{"a", 0x1000, 0x80, nil}, {"b", 0x107f, 1, nil}}); err == nil {
		t.Error("overlapping segments are accepted")
	}
}

func TestWalksRoundTrip(t *testing.T) {
	shape := regs.Shape{Groups: 2, Channels: 3, Height: 2, Width: 5}
	for name, s := range map[string]regs.Surface{
		"planar":      {Shape: shape, Row: 0x40, Plane: 0x80, Group: 0x180},
		"transposed":  {Shape: shape, Row: 0x100, Plane: 0x20, Group: 0x200, Transposed: true},
		"interleaved": {Shape: shape, Row: 0x40, Plane: 0x80, Group: 0x100, Interleave: 2},
		"both":        {Shape: shape, Row: 0x100, Plane: 0x20, Group: 0x200, Transposed: true, Interleave: 2},
	} {
		m := memory(t, Segment{"s", 0x1000, s.Span(), nil})
		n := shape.Elements() / shape.Groups
		var want [2][]float16.Float16
		for g := range want {
			want[g] = make([]float16.Float16, n)
			v, err := m.View(0x1000, &s, g, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want[g] {
				want[g][i] = float16.Float16(g<<8 | i + 1)
			}
			for r := range 6 { // three channels of two rows, each in two pieces
				v.SetRow(want[g][r*5:r*5+2], r/2, r%2, 0)
				v.SetRow(want[g][r*5+2:r*5+5], r/2, r%2, 2)
			}
		}
		for g := range want {
			v, err := m.View(0x1000, &s, g, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float16.Float16, n)
			for r := range 6 {
				v.Row(got[r*5:r*5+5], r/2, r%2)
			}
			if d := cmp.Diff(want[g], got); d != "" {
				t.Errorf("%s group %d:\n%s", name, g, d)
			}
		}
		// One byte less and the walk is refused whole.
		short := memory(t, Segment{"s", 0x1000, s.Span() - 1, nil})
		var ae *AccessError
		if _, err := short.View(0x1000, &s, 0, 0); !errors.As(err, &ae) {
			t.Errorf("%s: a surface one byte too long: %v", name, err)
		}
	}
}

// The vendor's cost dump of the 1x1 convolution from 3 to 2 channels on one pixel reads
// 192 bytes and writes 128.
func TestTrafficOfThreeToTwo(t *testing.T) {
	var g regs.Groups
	g.TileDMASrc.Src1DMAConfig = g.TileDMASrc.Src1DMAConfig.WithDepMode(3)
	g.TileDMASrc.Src1RowStride = regs.DMAWord{}.WithBytes(0x40)
	g.TileDMASrc.Src1PlaneStride = regs.DMAWord{}.WithBytes(0x40)
	g.TileDMASrc.Src1DepthStride = regs.DMAWord{}.WithBytes(0xc0)
	g.TileDMADst.DstDMAConfig = g.TileDMADst.DstDMAConfig.WithEn(true)
	g.TileDMADst.DstRowStride = regs.DMAWord{}.WithBytes(0x40)
	g.TileDMADst.DstPlaneStride = regs.DMAWord{}.WithBytes(0x40)
	g.TileDMADst.DstDepthStride = regs.DMAWord{}.WithBytes(0x80)
	g.Common.InDim = g.Common.InDim.WithWin(1).WithHin(1)
	g.Common.OutDim = g.Common.OutDim.WithWout(1).WithHout(1)
	g.Common.Cin, g.Common.Cout = regs.Cin{}.WithCin(3), regs.Cout{}.WithCout(2)
	g.Common.InDepth, g.Common.OutDepth = regs.InDepth{}.WithDin(1), regs.OutDepth{}.WithDout(1)
	g.ReadMeanings()
	got := TrafficOf(g.Operands())
	if want := (Traffic{Source1: 192, Destination: 128}); got != want {
		t.Errorf("traffic %+v, want %+v", got, want)
	}
}

func BenchmarkRow(b *testing.B) {
	shape := regs.Shape{Groups: 1, Channels: 256, Height: 32, Width: 32}
	s := regs.Surface{Shape: shape, Row: 0x40, Plane: 0x800, Group: 0x80000}
	m, err := NewMemory([]Segment{{"s", 0, s.Span(), nil}})
	if err != nil {
		b.Fatal(err)
	}
	v, err := m.View(0, &s, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]float16.Float16, shape.Width)
	b.ReportAllocs()
	for b.Loop() {
		for c := range shape.Channels {
			for y := range shape.Height {
				v.Row(dst, c, y)
			}
		}
	}
	b.ReportMetric(float64(2*shape.Elements())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
}

func TestMadeUpBytes(t *testing.T) {
	m := memory(t, Segment{"a", 0x1000, 0x100, nil}, Segment{"b", 0x2000, 0x100, nil})
	if err := m.MakeUp(0x1040, 0x40); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		addr, n uint64
		want    bool
	}{
		{0x1040, 1, true}, {0x107f, 1, true}, {0x1000, 0x41, true},
		{0x1000, 0x40, false}, {0x1080, 8, false}, {0x2040, 0x40, false}, {0x3000, 8, false},
	} {
		if got := m.MadeUp(tc.addr, tc.n); got != tc.want {
			t.Errorf("%#x bytes at %#x: %v, want %v", tc.n, tc.addr, got, tc.want)
		}
	}
	var ae *AccessError
	if err := m.MakeUp(0x10ff, 2); !errors.As(err, &ae) {
		t.Errorf("beyond the segment: %v", err)
	}
}

func TestTrafficAdd(t *testing.T) {
	a := Traffic{1, 2, 3, 4}
	a.Add(&Traffic{10, 20, 30, 40})
	if want := (Traffic{11, 22, 33, 44}); a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
}

// Segments come and go; one that is taken away leaves room for another with bytes of its
// own.
func TestMemoryAddsAndRemoves(t *testing.T) {
	m, err := NewMemory([]Segment{{Name: "a", Addr: 0x1000, Size: 0x100}, {Name: "c", Addr: 0x1200, Size: 0x100}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Segment{{Addr: 0xfff, Size: 2}, {Addr: 0x10ff, Size: 2}, {Addr: 0x1100, Size: 0x101}, {Addr: 0x800, Size: 0x1000}, {Addr: ^uint64(0), Size: 2}} {
		if err := m.Add(s); err == nil {
			t.Errorf("%#x bytes at %#x were added", s.Size, s.Addr)
		}
	}
	if err := m.Add(Segment{Name: "b", Addr: 0x1100, Size: 0x100, Data: []byte{7}}); err != nil {
		t.Fatal(err)
	}
	b, err := m.Bytes(0x1100, 1)
	if err != nil || b[0] != 7 {
		t.Fatalf("%v, %v", b, err)
	}
	b[0] = 8
	if m.Remove(0x1101) || !m.Remove(0x1100) || m.Remove(0x1100) || m.Check(0x1100, 1) == nil {
		t.Error("the segment was not removed once, by its first address")
	}
	if err := m.Add(Segment{Name: "d", Addr: 0x1100, Size: 0x80, Data: []byte{9}}); err != nil {
		t.Fatal(err)
	}
	if b, err := m.Bytes(0x1100, 2); err != nil || b[0] != 9 || b[1] != 0 {
		t.Errorf("%v, %v", b, err)
	}
}

// TestMemoryPeek checks that reading a segment returns its initial bytes, followed by zeros,
// until something may write to it.
func TestMemoryPeek(t *testing.T) {
	initial := []byte{1, 2, 3, 4}
	m, err := NewMemory([]Segment{{Name: "a", Addr: 0x1000, Size: 0x100, Data: initial}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Peek(0x1001, 2)
	if err != nil || &b[0] != &initial[1] || len(b) != 2 || cap(b) != 2 {
		t.Fatalf("%v, %v", b, err)
	}
	w, err := m.Bytes(0x1001, 2)
	if err != nil || &w[0] == &initial[1] {
		t.Fatalf("%v, %v: what may be written is not a copy", w, err)
	}
	w[0] = 9
	if b, err = m.Peek(0x1000, 3); err != nil || !cmp.Equal(b, []byte{1, 9, 3}) || initial[1] != 2 {
		t.Errorf("%v, %v behind a write", b, err)
	}
	if b, err = m.Peek(0x1003, 2); err != nil || !cmp.Equal(b, []byte{4, 0}) {
		t.Errorf("%v, %v across the end of the initial bytes", b, err)
	}
	var ae *AccessError
	if _, err = m.Peek(0x10ff, 2); !errors.As(err, &ae) {
		t.Errorf("beyond the segment: %v", err)
	}
}

// TestViewOfASurfaceThatGoesBack checks that a surface with negative strides of rows, planes,
// groups or depths lies below its address, and that each element is stored where the strides
// say.
func TestViewOfASurfaceThatGoesBack(t *testing.T) {
	shape := regs.Shape{Groups: 2, Channels: 2, Depth: 2, Height: 2, Width: 3}
	for _, s := range []regs.Surface{
		{Shape: shape, Row: 0x40, Plane: 0x80, DepthStride: 0x100, Group: 0x200},
		{Shape: shape, Row: -0x40, Plane: 0x80, DepthStride: 0x100, Group: 0x200},
		{Shape: shape, Row: 0x40, Plane: -0x80, DepthStride: 0x100, Group: 0x200},
		{Shape: shape, Row: 0x40, Plane: 0x80, DepthStride: -0x100, Group: 0x200},
		{Shape: shape, Row: 0x40, Plane: 0x80, DepthStride: 0x100, Group: -0x200},
	} {
		low, high := s.Extent()
		const base, address = 0x800, 0x10000
		m := memory(t, Segment{"s", address - base, base + uint64(high), nil})
		v, err := m.View(address, &s, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.b) != int(high-low) {
			t.Errorf("%+v: a view of %d bytes, want %d", s, len(v.b), high-low)
		}
		v.SetRow([]float16.Float16{0x1234}, 1, 1, 2)
		at := uint64(address + s.Row + s.Plane + s.DepthStride + s.Group + 2*2)
		b, err := m.Bytes(at, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint16(b); got != 0x1234 {
			t.Errorf("%+v: %#x at %#x", s, got, at)
		}
	}
}

// Rows of any length are read and written whole and no further.
func TestRowsOfAnyLength(t *testing.T) {
	s := regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: 24}, Row: 0x40, Plane: 0x40, Group: 0x40}
	for n := range 12 {
		m := memory(t, Segment{"s", 0, 0x40, nil})
		v, err := m.View(0, &s, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		row := make([]float16.Float16, n)
		for i := range row {
			row[i] = float16.Float16(0x100 + i)
		}
		v.SetRow(row, 0, 0, 5)
		all := make([]float16.Float16, 24)
		v.Row(all, 0, 0)
		for i, h := range all {
			want := float16.Float16(0)
			if i >= 5 && i < 5+n {
				want = row[i-5]
			}
			if h != want {
				t.Errorf("a row of %d from element 5: element %d is %#x, want %#x", n, i, h, want)
			}
		}
		part := make([]float16.Float16, n)
		v.Row(part, 0, 0)
		if d := cmp.Diff(all[:n], part); d != "" {
			t.Errorf("%d elements read:\n%s", n, d)
		}
	}
}

// TestMemoryGrows checks that a segment allocates memory only up to the requested size, only
// once, and keeps its contents.
func TestMemoryGrows(t *testing.T) {
	m := memory(t, Segment{"a", 0x1000, 1 << 40, []byte{1, 2, 3, 4}})
	first, err := m.Bytes(0x1002, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(m.segments[0].data); got != 3 {
		t.Errorf("%d bytes taken for three", got)
	}
	first[0] = 9
	if same, err := m.Bytes(0x1001, 2); err != nil || same[0] != 2 || &same[1] != &first[0] {
		t.Errorf("%v, %v: not the same memory", same, err)
	}
	more, err := m.Bytes(0x1000, 6)
	if err != nil || !cmp.Equal(more, []byte{1, 2, 9, 4, 0, 0}) {
		t.Errorf("%v, %v", more, err)
	}
	full := memory(t, Segment{"b", 0x1000, 2, []byte{5, 6}})
	if b, err := full.Bytes(0x1000, 2); err != nil || !cmp.Equal(b, []byte{5, 6}) {
		t.Errorf("%v, %v", b, err)
	}
	if _, err := NewMemory([]Segment{{"b", 0x1000, 1, []byte{5, 6}}}); err == nil {
		t.Error("a segment with more data than room is accepted")
	}
}

func TestAccessErrors(t *testing.T) {
	m := memory(t, Segment{"a", 0x1000, 0x80, nil})
	for _, tc := range []struct {
		addr, n uint64
		want    string
	}{
		{0x1070, 0x20, "0x20 bytes at address 0x1070 extend past segment a, which ends at 0x1080"},
		{0x1080, 1, "0x1 bytes at address 0x1080 lie outside all segments"},
	} {
		if err := m.Check(tc.addr, tc.n); err == nil || err.Error() != tc.want {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
}

// What is given again is no longer made up: all of a range, and only by as much as covers it.
func TestGivenBytes(t *testing.T) {
	for _, tc := range []struct {
		addr, n uint64
		made    bool
	}{
		{0x1040, 0x40, false}, {0x1000, 0x100, false}, {0x103f, 0x42, false},
		{0x1041, 0x3f, true}, {0x1040, 0x3f, true}, {0x1080, 0x10, true}, {0x1000, 0x40, true},
	} {
		m := memory(t, Segment{"a", 0x1000, 0x100, nil})
		if err := m.MakeUp(0x1040, 0x40); err != nil {
			t.Fatal(err)
		}
		if err := m.Give(tc.addr, tc.n); err != nil {
			t.Fatal(err)
		}
		if got := m.MadeUp(0x1040, 0x40); got != tc.made {
			t.Errorf("%#x bytes given at %#x: made up %v", tc.n, tc.addr, got)
		}
	}
	var ae *AccessError
	if err := memory(t).Give(0x1000, 1); !errors.As(err, &ae) {
		t.Errorf("no segment: %v", err)
	}
}

// Each engine is bound by its own rate, reads by memory's for reads, and all of it by
// memory's for both.
func TestTrafficCycles(t *testing.T) {
	t1 := Traffic{Source1: 1000, Source2: 200, Kernel: 30, Destination: 400}
	if t1.Read() != 1230 || t1.Total() != 1630 {
		t.Errorf("%d bytes read, %d in all", t1.Read(), t1.Total())
	}
	for _, tc := range []struct {
		what string
		p    Params
		rows int
		want Cycles
	}{
		{"nothing bounds it", Params{}, 1000, Cycles{}},
		{"memory's reads", Params{Read: 10}, 1, Cycles{Source: 120, Kernel: 3, Total: 123}},
		{"memory in all", Params{ReadWrite: 10}, 1, Cycles{Destination: 40, Total: 163}},
		{"the tile engine", Params{Tile: 10}, 1, Cycles{Source: 120, Destination: 40, Total: 120}},
		{"a lane", Params{Lane: 0.05}, 1000, Cycles{Kernel: 140, Total: 140}},
		{"a lane of few rows", Params{Lane: 0.05, BusyLane: 0.01}, 64, Cycles{Kernel: 140, Total: 140}},
		{"a lane of many rows", Params{Lane: 0.05, BusyLane: 0.01}, 65, Cycles{Kernel: 700, Total: 700}},
	} {
		if got := tc.p.Cycles(t1, 7, tc.rows); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.what, got, tc.want)
		}
	}
}

// A source that a system cache holds comes at the rate of reads, a larger one at that of the memory.
func TestStreamSource(t *testing.T) {
	p := Params{Read: 100, Stream: 10}
	for bytes, want := range map[uint64]clock.Cycles{cacheBytes: cacheBytes/100 + 1, 10 * cacheBytes: cacheBytes} {
		tr := Traffic{Source1: bytes}
		c := p.Cycles(tr, 0, 1)
		p.StreamSource(&c, tr)
		if c.Source != want || c.Total != want {
			t.Errorf("%d bytes: %+v, want %d cycles", bytes, c, want)
		}
	}
}

func TestLanes(t *testing.T) {
	var g regs.Groups
	g.KernelDMASrc.CoeffBaseAddr[3] = regs.DMAWord{}.WithBytes(0x40)
	g.KernelDMASrc.CoeffBfrSize[3] = regs.DMAWord{}.WithBytes(0x80)
	g.KernelDMASrc.CoeffDMAConfig[3] = g.KernelDMASrc.CoeffDMAConfig[3].WithEn(true)
	for i, l := range Lanes(&g, 0x10000) {
		want := Lane{Addr: 0x10000}
		if i == 3 {
			want = Lane{0x10000 + uint64(regs.DMAWord{}.WithBytes(0x40).Bytes()), g.KernelDMASrc.CoeffBfrSize[3].Bytes(), true}
		}
		if l != want {
			t.Errorf("lane %d: %+v, want %+v", i, l, want)
		}
	}
}
