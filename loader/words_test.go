package loader

import (
	"strings"
	"testing"

	"anesim/hw/regs"
)

// Fields, buffers, ranges and words of a relocation at their limits.
func TestRelocationLimits(t *testing.T) {
	bars := regs.BARs{0: 0x4000, 31: 0x8000}
	field := func(bit, width, shift int, v uint64) Relocation {
		return Relocation{Kind: DataSet, Bit: bit, Width: width, Shift: shift, Value: v}
	}
	address := func(target int) Relocation {
		return Relocation{Kind: DeviceAddress, Width: 32, Target: target, Value: 1}
	}
	live := func(v, step uint64, scale, plus int64) Relocation {
		return Relocation{Kind: LiveIn, Name: "n", Width: 32, Value: v, Range: Range{4, 8, step}, Scale: scale, Plus: plus}
	}
	for _, tc := range []struct {
		name string
		r    Relocation
		want uint64
		err  string // "" for none
	}{
		{"a whole word", field(0, 32, 0, 1<<32-1), 1<<32 - 1, ""},
		{"the last bit", field(31, 1, 0, 1), 1, ""},
		{"one bit more than there is", field(31, 2, 0, 1), 0, "invalid field"},
		{"no bits", field(3, 0, 0, 0), 0, "invalid field"},
		{"a bit below the first", field(-1, 4, 0, 1), 0, "invalid field"},
		{"the widest shift", field(0, 4, 31, 3<<31), 3, ""},
		{"a wider one", field(0, 4, 32, 0), 0, "invalid field"},
		{"one to the left", field(0, 4, -1, 0), 0, "invalid field"},
		{"no multiple", field(0, 4, 4, 0x18), 0, "not a multiple of 16"},
		{"what just fits", field(4, 4, 4, 0xf0), 15, ""},
		{"and what does not", field(4, 4, 4, 0x100), 0, "does not fit in 4 bits"},
		{"the first buffer", address(0), 0x4001, ""},
		{"the last", address(31), 0x8001, ""},
		{"one beyond", address(32), 0, "buffer 32 is not"},
		{"one ahead", address(-2), 0, "buffer -2 is not"},
		{"no buffer", address(noTarget), 1, ""},
		{"counted from its own buffer", Relocation{Kind: DeviceAddress, Width: 32, Target: 31, Within: 32, Value: 0x40}, 0x40, ""},
		{"counted from another", Relocation{Kind: DeviceAddress, Width: 32, Target: 31, Within: 1, Value: 0x40}, 0x4040, ""},
		{"below the buffer", Relocation{Kind: DeviceAddress, Width: 32, Target: noTarget, Within: 1, Value: 0x3fff}, 0, "0x3fff is below 0x4000, the address of buffer 0"},
		{"one that is not there", address(5), 0, "buffer 5 is not"},
		{"the range's start", live(4, 2, 0, 0), 4, ""},
		{"a step into it", live(6, 2, 0, 0), 6, ""},
		{"a step of 3 into it", live(7, 3, 0, 0), 7, ""},
		{"half a step", live(5, 2, 0, 0), 0, "4 to 8 in steps of 2"},
		{"its end", live(8, 2, 0, 0), 8, ""},
		{"behind it", live(10, 2, 0, 0), 0, "4 to 8 in steps of 2"},
		{"ahead of it", live(2, 2, 0, 0), 0, "4 to 8 in steps of 2"},
		{"its start without a step", live(4, 0, 0, 0), 4, ""},
		{"and nothing else", live(5, 0, 0, 0), 0, "4 to 8 in steps of 0"},
		{"scaled", live(4, 2, 3, 2), 14, ""},
		{"down", live(4, 2, -3, 12), 0, ""},
		{"below 0", live(4, 2, -3, 11), 0, "is negative"},
	} {
		got, err := tc.r.Resolve(&bars)
		if tc.err == "" && (err != nil || got != tc.want) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %#x, %v; want %#x, %q", tc.name, got, err, tc.want, tc.err)
		}
	}
	for _, tc := range []struct {
		v           uint64
		scale, plus int64
		want        uint64
		ok          bool
	}{
		{1<<63 - 1, 1, 0, 1<<63 - 1, true}, {1 << 63, 1, 0, 0, false}, {1<<63 - 1, 1, 1, 0, false}, {1<<63 - 1, 0, -1, 1<<63 - 2, true},
		{1 << 62, 2, 0, 0, false}, {1 << 62, 2, -1, 0, false}, {1 << 61, 2, 5, 1<<62 + 5, true}, {1 << 40, 1 << 40, 0, 0, false},
		{5, -1, 5, 0, true}, {5, -1, 4, 0, false}, {0, -7, 0, 0, true},
	} {
		if got, ok := Linear(tc.v, tc.scale, tc.plus); got != tc.want || ok != tc.ok {
			t.Errorf("%d*%d%+d: %d, %v; want %d, %v", tc.scale, tc.v, tc.plus, got, ok, tc.want, tc.ok)
		}
	}
	for _, tc := range []struct {
		off uint32
		ok  bool
	}{{0, true}, {4, true}, {5, false}, {8, false}, {1<<32 - 4, false}} {
		text := make([]byte, 8)
		r := Relocation{Kind: DataSet, Bit: 4, Width: 4, Value: 5, Off: tc.off}
		if err := r.Store(text, &bars); (err == nil) != tc.ok || tc.ok && text[tc.off] != 0x50 {
			t.Errorf("stored at %d of 8: % x, %v", tc.off, text, err)
		}
	}
	for _, tc := range []struct {
		r    Relocation
		want string
	}{
		{Relocation{Register: 0, Bit: 0, Width: 15}, "Common.InDim.Win"},
		{Relocation{Register: 0, Bit: 0, Width: 14}, "Common.InDim bits 0 to 13"},
		{Relocation{Register: 0, Bit: 1, Width: 15}, "Common.InDim bits 1 to 15"},
		{Relocation{Register: 0x40, Bit: 3, Width: 2}, "register 0x40 bits 3 to 4"},
	} {
		if got := tc.r.Field(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	d := &regs.Descriptor{Offset: 0x100, Records: []regs.Record{{Addr: 0x20, Values: []uint32{1, 2}}, {Addr: 0x800, Values: []uint32{3}}}}
	for off, want := range map[uint32]uint32{0x12c: 0x20, 0x130: 0x24, 0x138: 0x800} {
		if got, ok := findRegisterAt(d, off); !ok || got != want {
			t.Errorf("the word at %#x goes to %#x, %v; want %#x", off, got, ok, want)
		}
	}
	for _, off := range []uint32{0x100, 0x128, 0x12d, 0x12e, 0x134, 0x13c} {
		if got, ok := findRegisterAt(d, off); ok {
			t.Errorf("the word at %#x goes to %#x", off, got)
		}
	}
}

// Segments of a program lie apart, in the device's space, and ask for no more than they may.
func TestMemoryMapLimits(t *testing.T) {
	seg := func(addr, size uint64, prot Protection) Segment {
		return Segment{Name: "s", Addr: addr, Size: size, Prot: prot}
	}
	const rw, top = ProtRead | ProtWrite, 1 << regs.AddressBits
	unmade := seg(0, maxZeroFill+0x1000, rw)
	unmade.Unmade = true
	filled := seg(0, maxZeroFill+4, rw)
	filled.Data = make([]byte, 4)
	for _, tc := range []struct {
		name string
		list []Segment
		n    int    // in the map
		err  string // "" for none
	}{
		{"none", nil, 0, ""},
		{"one of no bytes", []Segment{seg(0, 0, rw)}, 0, ""},
		{"side by side", []Segment{seg(0x1000, 0x1000, rw), seg(0, 0x1000, rw)}, 2, ""},
		{"over each other by a byte", []Segment{seg(0xfff, 0x1000, rw), seg(0, 0x1000, rw)}, 0, "s at 0xfff overlaps"},
		{"to the end of the space", []Segment{seg(top-0x1000, 0x1000, rw)}, 1, ""},
		{"beyond it", []Segment{seg(top-0x1000, 0x1001, rw)}, 0, "extends past the 42-bit"},
		{"as much as may be zero", []Segment{seg(0, maxZeroFill, rw)}, 1, ""},
		{"a byte more", []Segment{seg(0, maxZeroFill+1, rw)}, 0, "zero-filled bytes"},
		{"bytes that are given do not count", []Segment{filled}, 1, ""},
		{"nor do those that nobody makes", []Segment{unmade}, 1, ""},
		{"as far apart as may be", []Segment{seg(0x1000, 0x1000, rw), seg(maxAddressRange, 0x1000, rw)}, 2, ""},
		{"further", []Segment{seg(0x1000, 0x1000, rw), seg(maxAddressRange, 0x1001, rw)}, 0, "span more than"},
		{"a guard stands anywhere", []Segment{seg(0, 0x1000, 0), seg(top-0x2000, 0x1000, rw), seg(top-0x1000, 0x1000, 0)}, 3, ""},
	} {
		m, err := newMemoryMap(tc.list)
		if tc.err == "" && (err != nil || len(m) != tc.n) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %d segments, %v; want %d, %q", tc.name, len(m), err, tc.n, tc.err)
		}
	}
}

// The tensor that a surface is a part of, by its strides.
func TestTensorOfASurface(t *testing.T) {
	shape := func(n, c, h, w int) regs.Shape { return regs.Shape{Groups: n, Channels: c, Height: h, Width: w} }
	for _, tc := range []struct {
		name    string
		s       regs.Surface
		shape   [4]int
		strides [4]uint64
	}{
		{"whole", regs.Surface{Shape: shape(1, 3, 5, 7), Row: 64, Plane: 320, DepthStride: 960}, [4]int{1, 3, 5, 7}, [4]uint64{960, 320, 64, 2}},
		{"some of its channels", regs.Surface{Shape: shape(1, 2, 5, 7), Row: 64, Plane: 320, DepthStride: 960}, [4]int{1, 3, 5, 7}, [4]uint64{960, 320, 64, 2}},
		{"some of its rows", regs.Surface{Shape: shape(1, 3, 4, 7), Row: 64, Plane: 320, DepthStride: 960}, [4]int{1, 3, 5, 7}, [4]uint64{960, 320, 64, 2}},
		{"rows behind its base are not all", regs.Surface{Shape: shape(1, 3, 4, 7), Row: 64, Plane: 320, DepthStride: 960, Base: 64}, [4]int{1, 3, 4, 7}, [4]uint64{960, 320, 64, 2}},
		{"a depth that is no whole planes", regs.Surface{Shape: shape(1, 2, 5, 7), Row: 64, Plane: 320, DepthStride: 970}, [4]int{1, 2, 5, 7}, [4]uint64{970, 320, 64, 2}},
		{"a plane that is no whole rows", regs.Surface{Shape: shape(1, 3, 4, 7), Row: 64, Plane: 330, DepthStride: 990}, [4]int{1, 3, 4, 7}, [4]uint64{990, 330, 64, 2}},
		{"no depth", regs.Surface{Shape: shape(1, 3, 5, 7), Row: 64, Plane: 320}, [4]int{1, 3, 5, 7}, [4]uint64{960, 320, 64, 2}},
		{"no strides", regs.Surface{Shape: shape(1, 1, 1, 7)}, [4]int{1, 1, 1, 7}, [4]uint64{0, 0, 0, 2}},
		{"groups inside an element", regs.Surface{Shape: shape(2, 3, 5, 7), Row: 64, Plane: 320, Group: 960, DepthStride: 1920}, [4]int{1, 6, 5, 7}, [4]uint64{1920, 320, 64, 2}},
		{"groups that leave gaps", regs.Surface{Shape: shape(2, 3, 5, 7), Row: 64, Plane: 320, Group: 970, DepthStride: 1950}, [4]int{1, 6, 5, 7}, [4]uint64{1950, 320, 64, 2}},
		{"one group, whatever its stride", regs.Surface{Shape: shape(1, 3, 1, 7), Row: 64, Plane: 64, Group: 32, DepthStride: 192}, [4]int{1, 3, 1, 7}, [4]uint64{192, 64, 64, 2}},
		{"groups that are elements", regs.Surface{Shape: shape(2, 3, 5, 7), Row: 64, Plane: 320, Group: 960, DepthStride: 960}, [4]int{2, 3, 5, 7}, [4]uint64{960, 320, 64, 2}},
		{"transposed", regs.Surface{Shape: shape(1, 32, 5, 7), Row: 448, Plane: 64, DepthStride: 2240, Transposed: true}, [4]int{1, 5, 7, 32}, [4]uint64{2240, 448, 64, 2}},
	} {
		if got, strides := deriveWholeTensor(&tc.s); got != tc.shape || strides != tc.strides {
			t.Errorf("%s: %v in strides %v, want %v in %v", tc.name, got, strides, tc.shape, tc.strides)
		}
	}
}

// Symbols that spell a shape come back, and those that do not are none.
func TestShapeSymbols(t *testing.T) {
	s := Shape{Name: "x:t", Extents: [4]int{1, 2, maxExtent, 4}, Strides: [4]uint64{1<<42 - 1, 64, 8, 2}, Type: 0}
	text := s.formatSymbol(7)
	for _, tc := range []struct {
		name string
		text string
		ok   bool
	}{
		{"as it is spelt", text, true},
		{"a name of one letter", "x:t7=" + strings.TrimPrefix(text, "x:t:t7="), true},
		{"no name", ":t7=" + strings.TrimPrefix(text, "x:t:t7="), false},
		{"a larger extent", strings.Replace(text, "131071", "131072", 1), false},
		{"an extent of 0", strings.Replace(text, "0;131071", "0;0", 1), false},
		{"a type below 0", strings.TrimSuffix(text, "0") + "-1", false},
		{"a stride of 43 bits", strings.Replace(text, "4398046511103", "4398046511104", 1), false},
	} {
		got, ok := (&Symbol{Name: tc.text, Type: symbolShape}).parseShape()
		if ok != tc.ok || ok && (got.Extents != s.Extents || got.Strides != s.Strides || got.Type != 0) {
			t.Errorf("%s: %+v, %v", tc.name, got, ok)
		}
	}
	if want := "x:t:t7=ar1;0;1;8=s4398046511103n:ar1;0;2;9=s64c:ar1;0;131071;10=s8h:ar1;0;4;11=s2w:0"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// The virtual table of a dispatch descriptor may stand anywhere in the file.
func TestDispatchTags(t *testing.T) {
	make := func(root uint32, table int, n int) []byte {
		b := make([]byte, n)
		le.PutUint32(b, root)
		if int(root)+4 <= n {
			le.PutUint32(b[root:], uint32(int32(int(root)-table)))
		}
		if table >= 0 && table < n {
			copy(b[table:], []byte{0x0c, 0, 0x14, 0, 0x04, 0, 0x08, 0})
		}
		return b
	}
	for _, tc := range []struct {
		name string
		file []byte
		want bool
	}{
		{"behind the root's offset", make(12, 4, 16), true},
		{"at the file's end", make(4, 8, 16), true},
		{"cut off there", make(4, 9, 16), false},
		{"behind the file", make(4, 16, 16), false},
		{"ahead of it", make(4, -1, 16), false},
		{"the root at the file's end", make(12, 4, 16), true},
		{"behind it", make(16, 4, 16), false},
		{"a root at no word", make(13, 4, 20), false},
	} {
		if got := isDispatchDescriptor(tc.file); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
